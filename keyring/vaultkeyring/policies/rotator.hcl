# Rotator: stages, promotes and re-encrypts (fieldcrypt rotate, keys add, keys promote).
# It is the one role that seals keysets and writes the document of a keyring that exists.
# On Transit it has update, never create: with create, encrypt would make a missing key.

path "{{.Mount}}/data/{{.Path}}" {
  capabilities = ["read", "update"]
}

path "{{.TransitMount}}/encrypt/{{.Key}}" {
  capabilities = ["update"]
}

path "{{.TransitMount}}/decrypt/{{.Key}}" {
  capabilities = ["update"]
}

# The key's type and settings, which are checked before something is sealed under it. Its bytes cannot be read.
path "{{.TransitMount}}/keys/{{.Key}}" {
  capabilities = ["read"]
}
