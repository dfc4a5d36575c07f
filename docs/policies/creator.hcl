# Creator: makes the keyring, once (fieldcrypt keys create). Take it away afterwards.
# It can write the document as long as there is none, and cannot change it later.
# The Transit key is made by Vault's operators: vault write -f transit/keys/fieldcrypt-default type=aes256-gcm96

path "secret/data/fieldcrypt/default" {
  capabilities = ["create", "read"]
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
