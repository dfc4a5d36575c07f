// Command vaultserver is a real Vault server for fieldcrypt's tests, built from
// Vault's own modules, so that a machine which reaches the Go module proxy
// alone can test against Vault.
//
//	vaultserver -data DIR [-listen 127.0.0.1:0] [-sealed]
//
// It keeps its storage in DIR, so that it can be ended, killed and started
// again. The first start initialises it; root token and unseal key are kept in
// DIR/init.json (mode 0600). Then it unseals itself (but for -sealed), serves
// plain HTTP, and prints one JSON line:
//
//	{"address":"http://127.0.0.1:41234","root_token":"…","unseal_key":"…"}
//
// It ends at SIGTERM, at SIGINT, and when its standard input ends: that of the
// process that started it, so that no kill leaves one behind.
//
// It knows the engines kv and transit and the login approle. Vault is licensed
// under the BUSL: this is a module of its own, for tests alone, and nothing of
// it is linked into fieldcrypt.
package main
