package agebackup_test

import (
	"bytes"
	"errors"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/agebackup"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func identity(t testing.TB) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestABackupOpensWithEachRecipientsIdentityAndWithNoOther(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	first, second, other := identity(t), identity(t), identity(t)
	var file bytes.Buffer
	made, err := agebackup.Write(t.Context(), ring.Manager, &file, first.Recipient(), second.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	for _, id := range []*age.X25519Identity{first, second} {
		b, err := agebackup.Read(bytes.NewReader(file.Bytes()), other, id)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if b.Digest() != made.Digest() || b.Description().Revision() != 1 {
			t.Errorf("read %s, made %s", b.Digest(), made.Digest())
		}
	}
	var failed *agebackup.OpenError
	if _, err := agebackup.Read(bytes.NewReader(file.Bytes()), other); !errors.As(err, &failed) || failed.Hint() == "" {
		t.Errorf("a stranger's identity: %v", err)
	}
}

func TestABackupThatWasCutOrChangedDoesNotOpen(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	id := identity(t)
	var file bytes.Buffer
	made, err := agebackup.Write(t.Context(), ring.Manager, &file, id.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	for n := range file.Len() {
		if n%7 != 0 && n < file.Len()-1 {
			continue
		}
		if b, err := agebackup.Read(bytes.NewReader(file.Bytes()[:n]), id); err == nil {
			b.Close()
			// The armor's last line break is no part of what is said.
			if n != file.Len()-1 {
				t.Fatalf("cut to %d of %d bytes, it opens", n, file.Len())
			}
		}
		changed := bytes.Clone(file.Bytes())
		changed[n] ^= 1
		if b, err := agebackup.Read(bytes.NewReader(changed), id); err == nil {
			b.Close()
			if b.Digest() != made.Digest() {
				t.Fatalf("with byte %d changed, it opens to something else", n)
			}
		}
	}
}

func TestABackupNeedsARecipientAndAnIdentity(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	var file bytes.Buffer
	if _, err := agebackup.Write(t.Context(), ring.Manager, &file); !errors.Is(err, agebackup.ErrNoRecipient) || file.Len() != 0 {
		t.Errorf("%v, %d bytes", err, file.Len())
	}
	if _, err := agebackup.Read(&file); !errors.Is(err, agebackup.ErrNoIdentity) {
		t.Error(err)
	}
}

func TestAnAgeFileThatIsNoBackupIsRefused(t *testing.T) {
	t.Parallel()
	id := identity(t)
	var file bytes.Buffer
	text := armor.NewWriter(&file)
	sealing, err := age.Encrypt(text, id.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	sealing.Write([]byte(`{"format":"fieldcrypt-keyring/1","clear":"x","keysets":{"seal":"","index":""}}`))
	if err := errors.Join(sealing.Close(), text.Close()); err != nil {
		t.Fatal(err)
	}
	var bad *keyring.BackupError
	if _, err := agebackup.Read(&file, id); !errors.As(err, &bad) || bad.Hint() == "" {
		t.Error(err)
	}
}
