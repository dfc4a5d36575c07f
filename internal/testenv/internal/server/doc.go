// Package server starts and ends the real servers that tests use: Postgres, and
// Vault from the nested module vaultserver. It knows nothing of sharing them.
package server
