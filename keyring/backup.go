package keyring

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"

	"github.com/fieldcrypt/fieldcrypt/keyring/internal/strictjson"
)

const backupFormat = "fieldcrypt-keyring-backup/1"

// Encrypter wraps a writer so that what is written to it arrives at w encrypted;
// closing it ends the encryption, not w. Package agebackup has one.
type Encrypter func(w io.Writer) (io.WriteCloser, error)

// Backup is what a backup holds: the clear part of a keyring document, and the
// bytes of its keys.
//
// A backup is secret and not authentic: who knows the recipient can make one
// with keys of their own. Before it is restored, its ids and fingerprints are to
// be compared with what was noted when it was made.
type Backup struct {
	doc     *document
	secrets secrets
	digest  [sha256.Size]byte
}

// Backup writes the keys of the stored keyring through encrypt to w. It changes
// nothing in the store.
//
// What is encrypted is
//
//	{"format":"fieldcrypt-keyring-backup/1","clear":"<JSON text>","keysets":{"seal":"…","index":"…"}}
//
// with the clear part of the document as it stands, and each keyset a serialised
// tink.Keyset in standard base64.
func (m *Manager) Backup(ctx context.Context, w io.Writer, encrypt Encrypter) (*Backup, error) {
	d, sec, _, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	b, err := writeBackup(w, encrypt, d, sec)
	if err != nil {
		sec.wipe()
		return nil, fmt.Errorf("keyring %s: writing the backup: %w", m.name, err)
	}
	m.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "keyring backed up",
		slog.String("keyring", d.name), slog.Uint64("revision", d.revision), slog.String("author", m.opts.Actor))
	return b, nil
}

func writeBackup(w io.Writer, encrypt Encrypter, d *document, sec secrets) (*Backup, error) {
	text, err := backupText(d, sec)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	sealing, err := encrypt(w)
	if err != nil {
		return nil, err
	}
	if _, err := sealing.Write(text); err != nil {
		return nil, err
	}
	if err := sealing.Close(); err != nil {
		return nil, err
	}
	return &Backup{doc: d, secrets: sec, digest: sha256.Sum256(text)}, nil
}

// backupText may leave copies behind that it cannot wipe: base64's and JSON's.
func backupText(d *document, sec secrets) ([]byte, error) {
	keysets := map[Purpose]string{}
	for _, p := range Purposes() {
		plain, err := marshalKeyset(d.keys, p, sec)
		if err != nil {
			return nil, err
		}
		keysets[p] = base64.StdEncoding.EncodeToString(plain)
		clear(plain)
	}
	return strictjson.Marshal(outerDocument{Format: backupFormat, Clear: d.clearText, Keysets: outerKeysets{Seal: keysets[Seal], Index: keysets[Index]}})
}

// ReadBackup reads a decrypted backup, checks it as a document is checked, and
// keeps its keys until [Backup.Close].
func ReadBackup(r io.Reader) (*Backup, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocumentBytes+1))
	defer clear(text)
	if err != nil {
		return nil, fmt.Errorf("reading the backup: %w", err)
	}
	d, fault := parseOuter(text, backupFormat)
	if fault != nil {
		return nil, &BackupError{fault}
	}
	b := &Backup{doc: d, secrets: secrets{}, digest: sha256.Sum256(text)}
	for _, p := range Purposes() {
		sec, fault := parseKeyset(d.sealed[p], d.keys, p)
		clear(d.sealed[p])
		if fault != nil {
			b.Close()
			return nil, &BackupError{fault}
		}
		for id, key := range sec {
			b.secrets[id] = key
		}
	}
	return b, nil
}

// Description returns the clear part of the document that was backed up. Its
// digest is not that document's.
func (b *Backup) Description() *Description { return &Description{doc: b.doc} }

// Digest returns SHA-256 of what the backup holds, in hex: the same when it is
// read as when it was made.
func (b *Backup) Digest() string { return hex.EncodeToString(b.digest[:]) }

// Fingerprint tells a key from another with the same id, without its bytes:
// the first 8 bytes of HKDF-SHA256(the key, "", LP("fieldcrypt/v1/fingerprint")),
// in hex. A destroyed key has none: "".
func (b *Backup) Fingerprint(id KeyID) string { return b.secrets.fingerprint(id) }

// Close wipes the key bytes.
func (b *Backup) Close() { b.secrets.wipe() }

// String names the backup without its keys' bytes.
func (b *Backup) String() string {
	return fmt.Sprintf("backup of keyring %s (revision %d)", b.doc.name, b.doc.revision)
}

// Format prints what String returns, whatever the verb.
func (b *Backup) Format(f fmt.State, _ rune) { fmt.Fprint(f, b.String()) }

// LogValue logs the backup without its keys' bytes.
func (b *Backup) LogValue() slog.Value {
	return slog.GroupValue(slog.String("keyring", b.doc.name), slog.Uint64("revision", b.doc.revision))
}

// fingerprintLabel separates fingerprints from everything else that is derived
// from a key.
const fingerprintLabel = "fieldcrypt/v1/fingerprint"

func (s secrets) fingerprint(id KeyID) string {
	key, ok := s[id]
	if !ok {
		return ""
	}
	m, err := newMaterial(key)
	if err != nil {
		return ""
	}
	defer m.wipe(ErrClosed)
	out, err := m.derive(appendPrefixed(nil, []byte(fingerprintLabel)))
	if err != nil {
		return ""
	}
	defer clear(out[:])
	return hex.EncodeToString(out[:8])
}

// BackupError says what is wrong with a backup that was decrypted.
type BackupError struct{ Fault *DocumentError }

func (e *BackupError) Error() string {
	return fmt.Sprintf("not a keyring's backup: %s: %s (%s)", placeText(e.Fault.Place), e.Fault.Detail, e.Fault.Rule)
}

func (e *BackupError) Unwrap() error { return e.Fault }

// Hint says what to do next.
func (e *BackupError) Hint() string {
	return "give a file that fieldcrypt keys backup wrote; if this is one, it is damaged, or of a newer fieldcrypt"
}
