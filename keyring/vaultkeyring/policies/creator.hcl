# Creator: makes the keyring, once (fieldcrypt keys create). Take it away afterwards.
# It can write the document as long as there is none, and cannot change it later.
# The Transit key is made by Vault's operators: vault write -f {{.TransitMount}}/keys/{{.Key}} type=aes256-gcm96

path "{{.Mount}}/data/{{.Path}}" {
  capabilities = ["create", "read"]
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
