package vaultkeyring

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Options for New. The zero value takes everything from Vault's own variables.
type Options struct {
	// AppRole logs in when there is no token. Defaults to that of VAULT_ROLE_ID
	// and VAULT_SECRET_ID (or each with _FILE) if Client is nil, else to none.
	AppRole *AppRole
	// Kubernetes logs in when there is neither a token nor an AppRole. Defaults
	// to that of VAULT_K8S_ROLE if Client is nil, else to none.
	Kubernetes *Kubernetes
	// Client is copied; its token is asked for with each call, and is its owner's
	// to renew or replace. Defaults to one from VAULT_ADDR, VAULT_TOKEN,
	// VAULT_NAMESPACE, VAULT_CACERT and so on.
	Client *api.Client
	// Timeout bounds each call: a load, a save, one encrypt or decrypt, with its
	// retries, checks and logins. Defaults to VAULT_CLIENT_TIMEOUT if that is
	// set and Client is nil, else to 10 seconds.
	Timeout time.Duration
}

const defaultTimeout = 10 * time.Second

// Vault is one keyring in Vault: the store of its document, and the
// key-encryption key that seals it. Safe for concurrent use.
type Vault struct {
	location Location
	uri      string
	session  *session

	mu sync.Mutex
	// keyChecked and mountChecked: the Transit key is suitable, the mount is KV
	// version 2. Either is asked once, before the first write.
	keyChecked   bool
	mountChecked bool
}

var (
	_ keyring.Store = (*Vault)(nil)
	_ keyring.KEK   = (*Vault)(nil)
)

// New names a keyring in Vault. It makes no call.
func New(location Location, opts Options) (*Vault, error) {
	if err := location.check(); err != nil {
		return nil, &URLError{URL: location.String(), Detail: err.Error()}
	}
	s, err := newSession(location, opts)
	if err != nil {
		return nil, err
	}
	return newVault(s), nil
}

func newVault(s *session) *Vault {
	return &Vault{location: s.location, uri: kekURI(s.namespace, s.location), session: s}
}

// At names another keyring in the same Vault. Both use one client, one login and
// one token, which is renewed until both are closed: a secret id may be good for
// one login alone. It makes no call. v must not be closed.
func (v *Vault) At(location Location) (*Vault, error) {
	if err := location.check(); err != nil {
		return nil, &URLError{URL: location.String(), Detail: err.Error()}
	}
	return newVault(v.session.at(location)), nil
}

// kekURI names the Transit key: not the address, which may change, but the
// namespace, which is a part of every path.
func kekURI(namespace string, l Location) string {
	uri := "vault-transit:"
	if namespace != "" {
		uri += namespace + "/"
	}
	return uri + l.TransitMount + "/" + l.Key
}

// Location returns where the keyring is.
func (v *Vault) Location() Location { return v.location }

// URI names the Transit key without address or token.
func (v *Vault) URI() string { return v.uri }

// String names the keyring's place, without a token.
func (v *Vault) String() string { return "keyring " + v.location.String() }

// Format prints what String returns, whatever the verb, so that no verb walks
// into the client's token.
func (v *Vault) Format(f fmt.State, _ rune) { fmt.Fprint(f, v.String()) }

// LogValue logs the keyring's place alone.
func (v *Vault) LogValue() slog.Value { return slog.StringValue(v.location.String()) }
