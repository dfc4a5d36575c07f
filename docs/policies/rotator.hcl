# Rotator: stages, promotes and re-encrypts (fieldcrypt rotate, keys add, keys promote).
# It is the one role that seals keysets and writes the document of a keyring that exists.
# On Transit it has update, never create: with create, encrypt would make a missing key.

path "secret/data/fieldcrypt/default" {
  capabilities = ["read", "update"]
}

path "transit/encrypt/fieldcrypt-default" {
  capabilities = ["update"]
}

path "transit/decrypt/fieldcrypt-default" {
  capabilities = ["update"]
}

# The key's type and settings, which are checked before something is sealed under it. Its bytes cannot be read.
path "transit/keys/fieldcrypt-default" {
  capabilities = ["read"]
}
