package connect

import (
	"fmt"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// place is where a keyring is stored, and what seals it there.
type place interface {
	keyring.Store
	keyring.KEK
}

// keyringPlace opens what a keyring's URL names. pass is asked for a file's passphrase, and only when one is needed.
func keyringPlace(s *cli.Session, configured settings.Keyring, pass filekeyring.PassphraseFunc) (place, error) {
	switch scheme := schemeOf(configured.URL); scheme {
	case "file":
		return filekeyring.New(configured.URL[len("file:"):], filekeyring.Options{Passphrase: pass})
	case "vault":
		// One for the whole run, so that an AppRole, whose secret id may serve for one login alone, logs in once.
		if v := s.Vaults[configured.URL]; v != nil {
			return v, nil
		}
		v, err := sharedVault(s, configured)
		if err != nil {
			return nil, err // not v: a nil *Vault is no nil place
		}
		s.Vaults[configured.URL] = v
		s.AtEnd(v.Close)
		return v, nil
	default:
		return nil, noScheme("keyring "+configured.Name, scheme, false, keyringForms)
	}
}

// sharedVault names a keyring in Vault, by the login of one that is there.
func sharedVault(s *cli.Session, configured settings.Keyring) (*vaultkeyring.Vault, error) {
	for _, other := range s.Vaults {
		where, err := vaultkeyring.ParseURL(configured.URL)
		if err != nil {
			return nil, inKeyring(configured.Name, err)
		}
		v, err := other.At(where)
		if err != nil {
			return nil, inKeyring(configured.Name, err)
		}
		return v, nil
	}
	return vaultPlace(configured, 0)
}

// vaultPlace takes address, login and TLS from Vault's own variables. It makes no call. A timeout of 0 is the library's.
func vaultPlace(configured settings.Keyring, timeout time.Duration) (*vaultkeyring.Vault, error) {
	where, err := vaultkeyring.ParseURL(configured.URL)
	if err != nil {
		return nil, inKeyring(configured.Name, err)
	}
	v, err := vaultkeyring.New(where, vaultkeyring.Options{Timeout: timeout})
	if err != nil {
		return nil, inKeyring(configured.Name, err)
	}
	return v, nil
}

// inKeyring says which keyring an error is about, where the library was not told.
func inKeyring(name string, err error) error { return fmt.Errorf("keyring %s: %w", name, err) }

// kekOf is the Transit key that a URL names, "" for any other keyring.
func kekOf(s *cli.Session, configured settings.Keyring) (string, error) {
	if schemeOf(configured.URL) != "vault" {
		return "", nil
	}
	p, err := keyringPlace(s, configured, nil)
	if err != nil {
		return "", err
	}
	return p.URI(), nil
}

// checkKEKs refuses two configured keyrings under one Transit key, whether they are created yet or not: destroying a key of one must never touch the other.
func checkKEKs(s *cli.Session, name string) error {
	url, _ := s.Settings.KeyringURL(name)
	own, err := kekOf(s, settings.Keyring{Name: name, URL: url})
	if err != nil || own == "" {
		return err
	}
	for _, other := range s.Settings.Keyrings {
		if other.Name == name {
			continue
		}
		kek, err := kekOf(s, other)
		if err != nil {
			return err
		}
		if kek == own {
			return failure.New(failure.Broken, "give each keyring a transit key of its own, so that destroying a key of one never touches the other",
				"keyring %s: keyring %s is configured under the same key-encryption key, %s", name, other.Name, own)
		}
	}
	return nil
}
