// Package agebackup encrypts the backup of a keyring to age recipients
// (filippo.io/age), and opens one with an age identity.
//
//	made, err := agebackup.Write(ctx, manager, file, recipient)
//	fmt.Println(made.Digest())   // note it, away from the file
//	…
//	b, err := agebackup.Read(file, identity)
//	defer b.Close()
//	plan, err := manager.PlanRestore(ctx, b, keyring.RestoreOptions{})
//
// An age file is secret and not authentic: who knows the recipient can make one.
// Whoever restores compares the digest, or the keys' fingerprints, with what was
// noted when the backup was made.
package agebackup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Write backs up the manager's keyring to w as an armored age file for the
// recipients. The caller closes what it returns. On an error, what was written
// to w is no backup.
func Write(ctx context.Context, m *keyring.Manager, w io.Writer, recipients ...age.Recipient) (*keyring.Backup, error) {
	if len(recipients) == 0 {
		return nil, ErrNoRecipient
	}
	return m.Backup(ctx, w, func(w io.Writer) (io.WriteCloser, error) {
		text := armor.NewWriter(w)
		sealing, err := age.Encrypt(text, recipients...)
		if err != nil {
			return nil, err
		}
		return &nested{sealing, text}, nil
	})
}

// nested closes the encryption first, then the armor around it.
type nested struct {
	io.WriteCloser
	outer io.Closer
}

func (n *nested) Close() error {
	return errors.Join(n.WriteCloser.Close(), n.outer.Close())
}

// Errors of Write and Read.
var (
	// ErrNoRecipient: a backup to nobody could never be opened.
	ErrNoRecipient = errors.New("no age recipient was given")
	// ErrNoIdentity: there is nothing to open a backup with.
	ErrNoIdentity = errors.New("no age identity was given")
)

// OpenError says that a file is not encrypted to any of the identities, or no
// age file at all. It holds nothing of what was decrypted.
type OpenError struct{ Err error }

func (e *OpenError) Error() string { return fmt.Sprintf("the backup does not open: %v", e.Err) }

func (e *OpenError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *OpenError) Hint() string {
	return "give the identity that belongs to a recipient of fieldcrypt keys backup, and the whole file as it was written"
}

// Read opens a backup, armored or not. Errors: *[OpenError], and those of
// [keyring.ReadBackup].
func Read(r io.Reader, identities ...age.Identity) (*keyring.Backup, error) {
	if len(identities) == 0 {
		return nil, ErrNoIdentity
	}
	in := bufio.NewReader(r)
	var file io.Reader = in
	if start, _ := in.Peek(len(armor.Header)); string(start) == armor.Header {
		file = armor.NewReader(in)
	}
	opened, err := age.Decrypt(file, identities...)
	if err != nil {
		return nil, &OpenError{err}
	}
	return keyring.ReadBackup(opened)
}
