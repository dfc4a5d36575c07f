# Auditor: lists keys and their states (fieldcrypt keys list --keyless), and checks stored events without keys (fieldcrypt verify --keyless).
# It reads the document's clear part, the versions that Vault keeps of it, and the Transit key's settings. It can open nothing.

path "secret/data/fieldcrypt/default" {
  capabilities = ["read"]
}

path "secret/metadata/fieldcrypt/default" {
  capabilities = ["read"]
}

path "transit/keys/fieldcrypt-default" {
  capabilities = ["read"]
}
