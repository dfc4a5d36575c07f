package vaultkeyring

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Sentinels for errors.Is. Each arrives in an *Error that says where. Beside
// them stand [keyring.ErrNotFound] and [keyring.ErrChanged].
var (
	// ErrDenied: the token's policies lack a capability on the path.
	ErrDenied = errors.New("permission denied")
	// ErrToken: Vault does not know the token, or not any more.
	ErrToken = errors.New("the token is not valid or has expired")
	// ErrNoToken: there is no token and no way to get one.
	ErrNoToken = errors.New("no token is configured")
	// ErrLogin: Vault refused the role id or the secret id.
	ErrLogin = errors.New("the login was refused")
	// ErrSealed: Vault is sealed, or was never initialised.
	ErrSealed = errors.New("vault is sealed")
	// ErrUnreachable: no connection to Vault.
	ErrUnreachable = errors.New("vault cannot be reached")
	// ErrTimeout: Vault did not answer in time.
	ErrTimeout = errors.New("vault did not answer in time")
	// ErrRateLimited: a rate limit of Vault's was hit.
	ErrRateLimited = errors.New("vault's rate limit is reached")
	// ErrUnavailable: Vault, or what stands before it, answered with a failure
	// of its own.
	ErrUnavailable = errors.New("vault failed")
	// ErrRefused: Vault refused the request for another reason.
	ErrRefused = errors.New("vault refused the request")
	// ErrNoMount: nothing is mounted there.
	ErrNoMount = errors.New("nothing is mounted there")
	// ErrNotKV2: the mount is no KV mount of version 2.
	ErrNotKV2 = errors.New("not a KV version 2 mount")
	// ErrDeleted: the document was deleted in Vault.
	ErrDeleted = keyring.ErrDeleted
	// ErrExpires: Vault is set to delete the document.
	ErrExpires = errors.New("the document was written, but Vault will delete it")
	// ErrUncertain: the answer to a write was lost, and reading back failed too.
	ErrUncertain = errors.New("it is not known whether the document was written")
	// ErrMalformed: what Vault holds is not what it must be.
	ErrMalformed = errors.New("not what a keyring in vault must be")
	// ErrNotVault: the answer is none of Vault's. It is that of a proxy, or of
	// something else at that address.
	ErrNotVault = errors.New("the answer is not vault's")
	// ErrNoKey: there is no such Transit key.
	ErrNoKey = errors.New("no such transit key")
	// ErrUnsuitableKey: the Transit key must not seal a keyring.
	ErrUnsuitableKey = errors.New("unsuitable transit key")
	// ErrNotAuthentic: the ciphertext, its associated data or the key is not
	// what it was.
	ErrNotAuthentic = errors.New("the transit key does not open it")
	// ErrKeyVersion: the ciphertext's version of the Transit key may not be used
	// any more.
	ErrKeyVersion = errors.New("its version of the transit key is not allowed any more")
)

// Error is what went wrong with one call to Vault.
type Error struct {
	// Address is Vault's, without a user or password.
	Address string
	// Operation is what was asked for: "read", "write", "encrypt", "decrypt",
	// "check key", "check mount" or "log in".
	Operation string
	// Path is the path of Vault's API, without /v1/.
	Path string
	// Problem is one of the sentinels.
	Problem error
	// Capability is what the token lacks on Path, for [ErrDenied].
	Capability string
	// Status is the HTTP status; 0 if there was no answer.
	Status int
	// Detail says more; it is Vault's own text only where that is known to
	// repeat nothing of the request.
	Detail string
	// Err is the error behind this one; may be nil.
	Err error

	location Location
	timeout  time.Duration
	login    login // nil where there is none
	// deleted is the version that KV remembers, for [ErrDeleted].
	deleted uint64
}

func (e *Error) Error() string {
	text := fmt.Sprintf("vault %s: %s %s: %s", e.Address, e.Operation, e.Path, e.problem())
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if inner, ok := e.Err.(*Error); ok {
		// One path and address are enough.
		text += ": " + inner.problem()
	}
	return text
}

func (e *Error) problem() string {
	switch {
	case e.Problem == keyring.ErrNotFound:
		return "no keyring is stored there"
	case e.Problem == ErrDenied && e.Capability != "":
		return fmt.Sprintf("%v: the token lacks the capability %s", e.Problem, e.Capability)
	case e.Problem == ErrTimeout:
		return fmt.Sprintf("%v (%s)", e.Problem, e.timeout)
	case e.Problem == ErrUnavailable || e.Problem == ErrRefused || e.Problem == ErrNotVault && e.Status != 0:
		return fmt.Sprintf("%v (HTTP status %d)", e.Problem, e.Status)
	default:
		return e.Problem.Error()
	}
}

// Unwrap returns the sentinel and what says more.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Problem}
	}
	return []error{e.Problem, e.Err}
}

// Retryable says whether the same call may succeed later without any change of
// configuration.
func (e *Error) Retryable() bool {
	switch e.Problem {
	case ErrSealed, ErrUnreachable, ErrTimeout, ErrRateLimited, ErrUnavailable, ErrNotVault:
		return true
	default:
		return false
	}
}

// Hint says what to do.
func (e *Error) Hint() string {
	switch e.Problem {
	case keyring.ErrNotFound:
		return "make it with fieldcrypt keys create, or correct the path in the keyring's URL (without data/)"
	case ErrDenied:
		return fmt.Sprintf("add to a policy of the token: path %q { capabilities = [%q] }", e.Path, e.Capability)
	case ErrToken:
		return "get a new token (vault login, or the variables of an AppRole or of Kubernetes) and set VAULT_TOKEN"
	case ErrNoToken:
		return "set VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID (or each with _FILE), or VAULT_K8S_ROLE, or run vault login"
	case ErrLogin:
		if e.login == nil {
			return "check the login's variables"
		}
		return e.login.hint(strings.TrimSuffix(e.Path, "/login"))
	case ErrSealed:
		return "look at vault status and unseal it (vault operator unseal), then run the command again"
	case ErrUnreachable:
		return "check VAULT_ADDR, VAULT_CACERT and the network, and whether Vault runs (vault status)"
	case ErrTimeout:
		return "look at Vault's load and the network (vault status), then run the command again"
	case ErrRateLimited:
		return "run the command again later, or raise the quota (vault read sys/quotas/rate-limit/NAME)"
	case ErrUnavailable:
		return "look at Vault's log and at what stands before it (vault status), then run the command again"
	case ErrNoMount:
		return "correct the mount in the keyring's URL, or mount it (vault secrets enable)"
	case ErrNotKV2:
		return fmt.Sprintf("only version 2 has check-and-set: vault kv enable-versioning %s, or give another mount", e.location.Mount)
	case ErrDeleted:
		return fmt.Sprintf("bring it back with vault kv undelete -mount=%s -versions=N %s, or vault kv rollback; if that cannot be, write a backup over it with fieldcrypt keys restore; if the keyring is truly to be given up, vault kv metadata delete", e.location.Mount, e.location.Path)
	case ErrExpires:
		return fmt.Sprintf("vault kv metadata put -mount=%s -delete-version-after=0s %s, and the same for the mount's config, then run the command again", e.location.Mount, e.location.Path)
	case ErrUncertain:
		return "run fieldcrypt keys list when Vault answers again; it shows whether the change was made"
	case ErrMalformed:
		return "check the keyring's URL; if something else wrote there, go back to an earlier version with vault kv rollback"
	case ErrNotVault:
		return "check VAULT_ADDR, and what answers there in vault's place: a proxy, a load balancer, a login page (vault status)"
	case ErrNoKey:
		return fmt.Sprintf("make it with vault write -f %s type=%s, or correct transit= in the keyring's URL", e.location.keyPath(), keyType)
	case ErrUnsuitableKey:
		return fmt.Sprintf("make a key of its own for the keyring: vault write -f %s/keys/NAME type=%s", e.location.TransitMount, keyType)
	case ErrNotAuthentic:
		return "the document or the transit key is not the one that belongs here; check the keyring's URL, or go back to an earlier version with vault kv rollback"
	case ErrKeyVersion:
		return "the document is older than the transit key's min_decryption_version; bring the newest document back"
	default:
		return ""
	}
}

// SettingsError: the client cannot be made from Vault's variables.
type SettingsError struct {
	Detail string
	Err    error
}

func (e *SettingsError) Error() string {
	if e.Err == nil {
		return "vault: " + e.Detail
	}
	return fmt.Sprintf("vault: %s: %v", e.Detail, e.Err)
}

// Unwrap returns the error behind this one.
func (e *SettingsError) Unwrap() error { return e.Err }

// Hint names the variables.
func (e *SettingsError) Hint() string {
	return "check VAULT_ADDR, VAULT_CACERT, VAULT_CAPATH, VAULT_CLIENT_CERT, VAULT_CLIENT_KEY and VAULT_CLIENT_TIMEOUT"
}
