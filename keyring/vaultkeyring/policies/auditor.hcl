# Auditor: lists keys and their states (fieldcrypt keys list --keyless), and checks stored events without keys (fieldcrypt verify --keyless).
# It reads the document's clear part, the versions that Vault keeps of it, and the Transit key's settings. It can open nothing.

path "{{.Mount}}/data/{{.Path}}" {
  capabilities = ["read"]
}

path "{{.Mount}}/metadata/{{.Path}}" {
  capabilities = ["read"]
}

path "{{.TransitMount}}/keys/{{.Key}}" {
  capabilities = ["read"]
}
