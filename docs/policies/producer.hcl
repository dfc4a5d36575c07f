# Producer: a service that seals and writes events.
# It loads the keyring: it reads the document and opens its keysets. It can neither seal a keyset nor write a document.
# Sealing and opening an event take the same keys, so this is what a consumer needs, too: give a keyring of its own to what not every consumer may read.

path "secret/data/fieldcrypt/default" {
  capabilities = ["read"]
}

path "transit/decrypt/fieldcrypt-default" {
  capabilities = ["update"]
}
