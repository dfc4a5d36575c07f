package keyring

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Key is one usable key of a keyring, as it stood when it was asked for. Its
// bytes never leave the package.
type Key struct {
	id       KeyID
	purpose  Purpose
	state    State
	material *material
}

// ID returns the key's id.
func (k *Key) ID() KeyID { return k.id }

// Purpose returns what the key is for.
func (k *Key) Purpose() Purpose { return k.purpose }

// State returns the key's state as it was when the keyring gave this key.
func (k *Key) State() State { return k.state }

// Derive returns HKDF-SHA256(ikm = the key, salt = "", info, 32 bytes), RFC
// 5869: the same bytes as Tink's PRF over the keyring's keyset.
//
// It fails once the keyring was closed, or was refreshed and the key is
// disabled or destroyed by then.
func (k *Key) Derive(info []byte) ([32]byte, error) {
	return k.material.derive(info)
}

// AppendMAC appends HMAC-SHA256(IK, message), 32 bytes, to dst, where IK is
// what Derive gives for info. It is what Derive and crypto/hmac compute
// together, at a fraction of the cost: the key keeps the HMAC's state for each
// info (FIPS 198-1, section 6), up to 256 of them, so info must not come from a
// payload. dst and message must not overlap.
//
// It fails where Derive does; the states end with the key.
func (k *Key) AppendMAC(dst, info, message []byte) ([]byte, error) {
	return k.material.appendMAC(dst, info, message)
}

// String names the key without its bytes.
func (k Key) String() string {
	return fmt.Sprintf("%s key %s (%s)", k.purpose, k.id, k.state)
}

// Format prints what String returns, whatever the verb, so that no verb walks
// into the key's bytes.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, k.String()) }

// LogValue logs the key without its bytes.
func (k Key) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", k.id.String()), slog.String("purpose", string(k.purpose)), slog.String("state", string(k.state)))
}

// KeyInfo describes a key without its bytes.
type KeyInfo struct {
	Keyring string
	ID      KeyID
	Purpose Purpose
	State   State
	// Since is when the key entered State, Author who brought it there.
	Since  time.Time
	Author string
	// Ceased is when the key ceased to be primary; zero if it never was, or is. For
	// one that was restored from a backup in which it was staged it is the time of
	// the restore, before which it may have been.
	Ceased time.Time
	// Hold keeps the key from being disabled; nil where nobody holds it.
	Hold *Hold
	// Everywhere is when the last backup of a destroyed key was gone too: only
	// then is it destroyed for good. Zero before.
	Everywhere time.Time
}

// material is the extracted pseudo-random key of one key. Every snapshot of a
// keyring that holds the key shares it, so that wiping it once wipes it all.
type material struct {
	mu sync.RWMutex
	// prk is nil once wiped; gone says why.
	prk  []byte
	gone error
	// kept is nil once wiped, and then nothing computes any more. Readers take no
	// lock where a state is at hand.
	kept atomic.Pointer[keptMACs]
}

// newMaterial does HKDF's extract step, which is the same for every info; the
// key itself is not kept.
func newMaterial(key []byte) (*material, error) {
	prk, err := hkdf.Extract(sha256.New, key, nil)
	if err != nil {
		return nil, err
	}
	m := &material{prk: prk}
	m.kept.Store(&keptMACs{})
	return m, nil
}

// why says what ended the key.
func (m *material) why() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.gone
}

// wipe zeroes the bytes; later use fails with why.
func (m *material) wipe(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prk == nil {
		return
	}
	clear(m.prk)
	m.prk, m.gone = nil, why
	// crypto/hmac gives no way to zero a state: they are let go of, all at once.
	m.kept.Store(nil)
}

// same says whether both hold the same bytes.
func (m *material) same(other *material) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.prk != nil && subtle.ConstantTimeCompare(m.prk, other.prk) == 1
}
