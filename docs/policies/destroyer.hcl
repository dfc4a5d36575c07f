# Destroyer: destroys keys for good (fieldcrypt keys destroy), which nothing can undo. A role of its own, for the few days a year that it is needed.
# It writes the document without the key, destroys the versions that Vault keeps, rotates the Transit key, seals anew, and retires its older versions.

path "secret/data/fieldcrypt/default" {
  capabilities = ["read", "update"]
}

path "secret/metadata/fieldcrypt/default" {
  capabilities = ["read"]
}

path "secret/destroy/fieldcrypt/default" {
  capabilities = ["update"]
}

path "transit/encrypt/fieldcrypt-default" {
  capabilities = ["update"]
}

path "transit/decrypt/fieldcrypt-default" {
  capabilities = ["update"]
}

path "transit/keys/fieldcrypt-default" {
  capabilities = ["read"]
}

path "transit/keys/fieldcrypt-default/rotate" {
  capabilities = ["update"]
}

# Of the settings only this one: it cannot make the key exportable.
path "transit/keys/fieldcrypt-default/config" {
  capabilities = ["update"]
  allowed_parameters = {
    "min_decryption_version" = []
  }
}
