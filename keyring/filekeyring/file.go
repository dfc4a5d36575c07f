package filekeyring

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Options for New. The zero value reads clear parts only.
type Options struct {
	// Argon2id are the parameters of a file that is created; an existing file
	// has its own. Defaults to those of each field.
	Argon2id Argon2id
	// LockWait is how long a writer waits for another one. Defaults to 10
	// seconds.
	LockWait time.Duration
	// Passphrase gives the passphrase. Without it documents can be loaded, and
	// their clear part inspected, but no key be used. Defaults to none.
	Passphrase PassphraseFunc
}

const defaultLockWait = 10 * time.Second

// File is a keyring file: the store of one keyring's document, and the
// key-encryption key that seals it. Safe for concurrent use.
type File struct {
	path       string
	params     Argon2id
	lockWait   time.Duration
	passphrase PassphraseFunc

	mu sync.Mutex
	// header is that of the file as last read; of a file that does not exist
	// yet, what it will have.
	header header
	// kek is the key that was derived for header, nil if none was; kekErr says
	// why none could be. The next Load tries again.
	kek    *derivedKey
	kekErr error
}

var (
	_ keyring.Store = (*File)(nil)
	_ keyring.KEK   = (*File)(nil)

	_ keyring.KEKFounder = (*File)(nil)
)

// New names a keyring file. It touches neither the file nor the passphrase.
func New(path string, opts Options) (*File, error) {
	params := opts.Argon2id.withDefaults()
	if err := params.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if opts.LockWait <= 0 {
		opts.LockWait = defaultLockWait
	}
	return &File{path: path, params: params, lockWait: opts.LockWait, passphrase: opts.Passphrase}, nil
}

// Path returns the path that New got.
func (f *File) Path() string { return f.path }

// Load reads the file. The version is the digest of its bytes.
func (f *File) Load(ctx context.Context) (document []byte, version string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", context.Cause(ctx)
	}
	// Reading under the lock keeps the header as new as the newest read.
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kekErr = nil
	raw, _, err := readRegular(f.path)
	if err != nil {
		return nil, "", err
	}
	h, document, err := parseFile(raw)
	if err != nil {
		return nil, "", f.fail(ErrMalformed, err)
	}
	f.use(h)
	return document, digestOf(raw), nil
}

// Save replaces the file if its bytes still have the version's digest.
func (f *File) Save(ctx context.Context, document []byte, version string) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	own, err := f.checkUnchanged(version)
	if err != nil {
		return err
	}
	if kek := sealedUnder(document); kek != "" && kek != f.current().uri() {
		return f.fail(keyring.ErrChanged, nil)
	}
	raw, err := formatFile(f.current(), document)
	if err != nil {
		return f.fail(ErrUnwritable, err)
	}
	if len(raw) > maxFileBytes {
		return f.fail(ErrUnwritable, fmt.Errorf("the file would have more than %d bytes", maxFileBytes))
	}
	if err := replaceFile(f.path, raw, own); err != nil {
		return f.fail(ErrUnwritable, err)
	}
	// The lock is as much the owner's; if it cannot be given, the next writer
	// is told.
	_ = own.give(f.path + lockSuffix)
	return nil
}

// checkUnchanged compares the file with what the writer read, under the lock.
// The key-encryption key must be that of the file, too: a document sealed under
// one salt and stored beside another would never open again.
func (f *File) checkUnchanged(version string) (owner, error) {
	raw, own, err := readRegular(f.path)
	if isNotFound(err) {
		if version != "" {
			return own, f.fail(keyring.ErrChanged, err)
		}
		return own, nil
	}
	if err != nil {
		return own, err
	}
	if version == "" || digestOf(raw) != version {
		return own, f.fail(keyring.ErrChanged, nil)
	}
	h, _, err := parseFile(raw)
	if err != nil {
		return own, f.fail(ErrMalformed, err)
	}
	if h != f.header {
		return own, f.fail(keyring.ErrChanged, nil)
	}
	return own, nil
}

// URI names the key-encryption key by the file's salt.
func (f *File) URI() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current().uri()
}

// current returns the header in use; a new file gets a random salt.
func (f *File) current() header {
	if f.header.salt == "" {
		salt := make([]byte, newSaltBytes)
		rand.Read(salt)
		f.header = header{params: f.params, salt: string(salt)}
	}
	return f.header
}

// Found implements [keyring.KEKFounder]: the salt of a file that is not there yet
// follows from the seed and the file's path.
func (f *File) Found(seed []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := filepath.Abs(f.path)
	if err != nil {
		path = f.path
	}
	if _, _, err := readRegular(f.path); isNotFound(err) {
		salt := sha256.Sum256(append(bytes.Clone(seed), path...)) // the seed has one length
		f.use(header{params: f.params, salt: string(salt[:newSaltBytes])})
	}
}

// use takes the header of the file as read. A derived key that has opened
// nothing yet is dropped: the passphrase may be another one by now.
func (f *File) use(h header) {
	if f.header != h || f.kek != nil && !f.kek.proven {
		f.kek = nil
	}
	f.header = h
}

// Close forgets the derived key. It is derived anew if it is used again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kek, f.kekErr = nil, nil
	return nil
}

func (f *File) fail(problem, err error) error {
	return &FileError{Path: f.path, Problem: problem, Err: err}
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// String names the file.
func (f *File) String() string { return "keyring file " + f.path }

// Format prints what String returns, whatever the verb.
func (f *File) Format(s fmt.State, _ rune) { fmt.Fprint(s, f.String()) }

// LogValue logs the file's path alone.
func (f *File) LogValue() slog.Value { return slog.StringValue(f.path) }
