package connect

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"sync"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

// passphrase finds the passphrase of file keyrings: the variable, else the file, else a prompt, whose answer serves for all keyrings of the run.
type passphrase struct {
	session *cli.Session

	mu       sync.Mutex
	answered []byte
}

func newPassphrase(s *cli.Session) *passphrase { return &passphrase{session: s} }

// ask is a filekeyring.PassphraseFunc.
func (p *passphrase) ask(ctx context.Context) ([]byte, error) { return p.find(ctx, false) }

// askTwice is ask for a passphrase that is new: a slip of the finger in it would lose everything.
func (p *passphrase) askTwice(ctx context.Context) ([]byte, error) { return p.find(ctx, true) }

func (p *passphrase) find(ctx context.Context, twice bool) ([]byte, error) {
	if text, _ := p.session.LookupEnv(settings.EnvPassphrase); text != "" {
		return []byte(text), nil
	}
	if path := p.session.Settings.PassphraseFile; path != "" {
		if err := checkPrivate(path); err != nil {
			return nil, err
		}
		return filekeyring.PassphraseFile(path)(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answered == nil {
		answer, err := p.prompt(ctx, twice)
		if err != nil {
			return nil, err
		}
		p.answered = answer
	}
	return bytes.Clone(p.answered), nil
}

func (p *passphrase) prompt(ctx context.Context, twice bool) ([]byte, error) {
	answer, err := terminal.Secret(ctx, p.session.Stdin, p.session.Stderr, "passphrase of the keyring: ")
	if errors.Is(err, terminal.ErrNoTerminal) {
		return nil, failure.New(failure.Broken, "set "+settings.EnvPassphraseFile+" to a file that holds it, or "+settings.EnvPassphrase,
			"the keyring needs a passphrase, and there is no terminal to ask on")
	}
	if err != nil || !twice {
		return answer, err
	}
	again, err := terminal.Secret(ctx, p.session.Stdin, p.session.Stderr, "once more: ")
	if err == nil && !bytes.Equal(answer, again) {
		err = failure.New(failure.Broken, "run the command again", "the two passphrases differ")
	}
	return answer, err
}

// checkPrivate refuses a passphrase file that is open to others than its owner.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // reading it says what is wrong
	}
	const others = 0o077
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&others != 0 {
		return failure.New(failure.Broken, "chmod 600 "+path, "the passphrase file %s is open to others than its owner (mode %04o)", path, info.Mode().Perm())
	}
	return nil
}
