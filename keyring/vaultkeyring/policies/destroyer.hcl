# Destroyer: destroys keys for good (fieldcrypt keys destroy), which nothing can undo. A role of its own, for the few days a year that it is needed.
# It writes the document without the key, destroys the versions that Vault keeps, rotates the Transit key, seals anew, and retires its older versions.

path "{{.Mount}}/data/{{.Path}}" {
  capabilities = ["read", "update"]
}

path "{{.Mount}}/metadata/{{.Path}}" {
  capabilities = ["read"]
}

path "{{.Mount}}/destroy/{{.Path}}" {
  capabilities = ["update"]
}

path "{{.TransitMount}}/encrypt/{{.Key}}" {
  capabilities = ["update"]
}

path "{{.TransitMount}}/decrypt/{{.Key}}" {
  capabilities = ["update"]
}

path "{{.TransitMount}}/keys/{{.Key}}" {
  capabilities = ["read"]
}

path "{{.TransitMount}}/keys/{{.Key}}/rotate" {
  capabilities = ["update"]
}

# Of the settings only this one: it cannot make the key exportable.
path "{{.TransitMount}}/keys/{{.Key}}/config" {
  capabilities = ["update"]
  allowed_parameters = {
    "min_decryption_version" = []
  }
}
