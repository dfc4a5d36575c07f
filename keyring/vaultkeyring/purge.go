package vaultkeyring

import (
	"context"
	"slices"
	"strconv"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

var (
	_ keyring.Purger     = (*Vault)(nil)
	_ keyring.KEKRotator = (*Vault)(nil)
)

// Purge destroys every version of the document that KV keeps but the current
// one: beyond undelete, which deleting would leave open.
func (v *Vault) Purge(ctx context.Context) error {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	r := request{operation: "read", path: v.location.metadataPath(), capability: "read", absent: keyring.ErrNotFound}
	var kept struct {
		CurrentVersion uint64 `json:"current_version"`
		Versions       map[string]struct {
			Destroyed bool `json:"destroyed"`
		} `json:"versions"`
	}
	if err := v.session.do(ctx, r, &kept); err != nil {
		return err
	}
	var old []uint64
	for text, version := range kept.Versions {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || kept.CurrentVersion == 0 {
			return v.session.notVault(r, "it names no versions")
		}
		if n != kept.CurrentVersion && !version.Destroyed {
			old = append(old, n)
		}
	}
	if len(old) == 0 {
		return nil
	}
	slices.Sort(old)
	r = request{operation: "destroy", path: v.location.destroyPath(), capability: "update", absent: keyring.ErrNotFound, body: map[string]any{"versions": old}}
	return v.session.do(ctx, r, nil)
}

// transitVersions is what Transit says of a key's versions.
type transitVersions struct {
	Latest  int `json:"latest_version"`
	Minimum int `json:"min_decryption_version"`
}

func (v *Vault) versions(ctx context.Context) (transitVersions, error) {
	r := request{operation: "check key", path: v.location.keyPath(), capability: "read", absent: ErrNoKey}
	var found transitVersions
	if err := v.session.do(ctx, r, &found); err != nil {
		return found, err
	}
	if found.Latest < 1 {
		return found, v.session.notVault(r, "it names no version of the key")
	}
	return found, nil
}

// Rotate makes a new version of the Transit key, which seals from now on.
func (v *Vault) Rotate(ctx context.Context) (version int, err error) {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	r := request{operation: "rotate key", path: v.location.keyPath() + "/rotate", capability: "update", once: true, absent: ErrNoKey, body: map[string]any{}}
	if err := v.session.do(ctx, r, nil); err != nil {
		return 0, err
	}
	found, err := v.versions(ctx)
	return found.Latest, err
}

// RaiseMinimum makes the versions of the Transit key below this one unusable for
// decrypting. It never lowers the minimum.
func (v *Vault) RaiseMinimum(ctx context.Context, version int) error {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	found, err := v.versions(ctx)
	if err != nil || found.Minimum >= version {
		return err
	}
	r := request{operation: "configure key", path: v.location.keyPath() + "/config", capability: "update", absent: ErrNoKey, body: map[string]any{"min_decryption_version": version}}
	return v.session.do(ctx, r, nil)
}
