# Consumer: a service that opens events.
# It loads the keyring: it reads the document and opens its keysets. It can neither seal a keyset nor write a document.

path "secret/data/fieldcrypt/default" {
  capabilities = ["read"]
}

path "transit/decrypt/fieldcrypt-default" {
  capabilities = ["update"]
}
