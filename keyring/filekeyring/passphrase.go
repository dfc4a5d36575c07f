package filekeyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxPassphraseBytes tells a passphrase file from a file given by mistake.
const maxPassphraseBytes = 64 << 10

// PassphraseFunc gives the passphrase when it is needed: when a file's keys are
// first used, and again if its salt or parameters have changed. The bytes are
// the caller's to give: they are wiped after use, so a func that keeps them
// returns a copy.
type PassphraseFunc func(ctx context.Context) ([]byte, error)

// Passphrase gives a passphrase that the program holds already.
func Passphrase(passphrase []byte) PassphraseFunc {
	held := bytes.Clone(passphrase)
	return func(context.Context) ([]byte, error) { return bytes.Clone(held), nil }
}

// PassphraseFile reads the passphrase from a file each time it is needed. One
// line end at the file's end does not count, so that `echo` and editors work.
func PassphraseFile(path string) PassphraseFunc {
	return func(context.Context) ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, passphraseFileError(path, ErrUnreadable, err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxPassphraseBytes+1))
		switch {
		case err != nil:
			return nil, passphraseFileError(path, ErrUnreadable, err)
		case len(b) > maxPassphraseBytes:
			clear(b)
			return nil, passphraseFileError(path, ErrUnreadable, fmt.Errorf("more than %d bytes", maxPassphraseBytes))
		}
		trimmed := bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
		if len(trimmed) == 0 {
			return nil, passphraseFileError(path, ErrEmptyPassphrase, nil)
		}
		return trimmed, nil
	}
}

func passphraseFileError(path string, problem, err error) error {
	// The path is named by FileError already.
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		err = pathErr.Err
	}
	return &FileError{Path: path, Problem: problem, Err: err, hint: "FIELDCRYPT_PASSPHRASE_FILE (passphrase_file in fieldcrypt.yaml) names the file that holds the passphrase"}
}
