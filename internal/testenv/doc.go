// Package testenv gives tests real servers: a Postgres database and a Vault of
// their own.
//
//	url := testenv.Postgres(t)   // a fresh database, dropped with the test
//	vault := testenv.Vault(t)    // own KV v2 and Transit mounts, and a Transit key
//
// All test processes of a checkout share one Postgres cluster and one Vault
// server. The first test that needs one starts it; it ends when no process has
// used it for a minute, or with
//
//	go run ./internal/testenv/testservers stop
//
// A test that stops, seals, kills or pauses a server takes one of its own:
// [PrivatePostgres], [PrivateVault]. A [Proxy] in front of a server makes it
// slow or cuts it off.
//
// FIELDCRYPT_TEST_POSTGRES_URL (of a user who may create databases and roles),
// or FIELDCRYPT_TEST_VAULT_ADDR with FIELDCRYPT_TEST_VAULT_TOKEN (a root token),
// names a server to use instead of a shared one. Private ones are started all
// the same.
//
// [Module] and [NodeModules] give tests published data: JSON-Schema-Test-Suite,
// Wycheproof, schemas and events of others, pinned in published/.
//
// A program that is not there fails the test with the command that installs it:
// `apt-get install postgresql`, or `make deps` for the Vault server, which is
// built from Vault's own modules (see vaultserver).
package testenv
