// Package vaultkeyring keeps a keyring in HashiCorp Vault: the document in KV
// v2, its keysets sealed by a Transit key that never leaves Vault.
//
//	where, err := vaultkeyring.ParseURL("vault://secret/fieldcrypt/default?transit=transit/fieldcrypt-default")
//	vault, err := vaultkeyring.New(where, vaultkeyring.Options{}) // VAULT_ADDR, VAULT_TOKEN … as Vault's own tools
//	ring, err := keyring.Open(ctx, "default", vault, vault, keyring.Options{})
//
// A [Vault] is both the store and the key-encryption key, like filekeyring's
// File.
//
// # What is in Vault
//
//   - KV v2, MOUNT/data/PATH: one field, document, a string, so that Vault does
//     not re-encode it. Every write says which version it replaces
//     (check-and-set): of two writers one wins, the other gets
//     [keyring.ErrChanged].
//   - Transit, MOUNT/keys/KEY: an aes256-gcm96 key, not derived, not exportable,
//     without plaintext backup. That is checked before the first encrypt of a
//     process, so that Vault never makes a missing key on the way, as it does
//     for a token with the capability create. The associated data goes with
//     each call; Vault before 1.13 ignores it, which [keyring.Manager.Create]
//     finds out by a decrypt that must fail. transit/rewrap takes no associated
//     data and is never used.
//
// # Logins
//
// Without [Options.Client] the address, the TLS settings, the namespace and the
// token come from Vault's own variables; without VAULT_TOKEN an AppRole login
// (VAULT_ROLE_ID and VAULT_SECRET_ID, or each with _FILE), or one by Kubernetes
// (VAULT_K8S_ROLE; VAULT_K8S_MOUNT and VAULT_K8S_TOKEN_FILE where they are not the
// usual ones), else the token that `vault login` has left in ~/.vault-token.
//
// A token that can be renewed is, until [Vault.Close] or for as long as Vault lets
// it; then, or when it has expired, a login gets a new one. A token that was given
// is used until it ends, one of [Options.Client] is its owner's to renew.
//
// Several keyrings in one Vault share a login by [Vault.At].
//
// What each role needs in Vault is in [Policy].
//
// # Errors and time
//
// Every error of a call is an *[Error]: which operation on which path, what the
// problem is (a sentinel for errors.Is), and for [ErrDenied] which capability is
// missing. None holds a token, a secret id, a key or a document.
//
// Each call ends within [Options.Timeout], with its retries and logins. A write
// is never repeated blindly: if its answer is lost, the document is read back,
// and the error is [ErrUncertain] only if even that fails.
package vaultkeyring
