// Package initialize is the command `fieldcrypt init`.
package initialize

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/actor"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

//go:embed example
var example embed.FS

// The files that init writes, in the order in which they are named.
const (
	schemaFile     = "schemas/invoice.issued.v1.json"
	eventsFile     = "events.ndjson"
	passphraseFile = "passphrase"
	keyringFile    = "keyring.json"
	ignoreFile     = ".gitignore"
	// outboxFile is what the settings name; fieldcrypt migrate makes it.
	outboxFile = "outbox.db"
)

var files = []string{settings.FileName, schemaFile, eventsFile, passphraseFile, keyringFile, ignoreFile}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a first project: settings, an example schema and events, a file keyring",
		Long: `Writes fieldcrypt.yaml, an example schema and events, a file keyring and its passphrase file
(mode 0600), and a .gitignore that keeps keys and data out of git, into DIR or the working
directory; then says the next three commands. Nothing that exists is overwritten: if one of
the files is there, nothing is written.`,
		Example: `  fieldcrypt init demo
  fieldcrypt init`,
		Args: cli.MaxArgs(1),
		RunE: app.RunE(cli.Command{Run: run, NoFile: true}),
	}
}

func run(ctx context.Context, s *cli.Session, args []string) error {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	if err := refuseExisting(dir); err != nil {
		return err
	}
	p := &project{dir: dir}
	if err := p.write(ctx, s); err != nil {
		p.undo()
		return err
	}
	return say(s, dir)
}

func refuseExisting(dir string) error {
	var there []string
	for _, name := range files {
		switch _, err := os.Lstat(filepath.Join(dir, name)); {
		case err == nil:
			there = append(there, filepath.Join(dir, name))
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if len(there) > 0 {
		return failure.New(failure.Broken, "choose another directory", "nothing was written, since these exist: %s", strings.Join(there, ", "))
	}
	return nil
}

// project is what is being written. Files are only ever made, never replaced, even if another process makes one after the check.
type project struct {
	dir   string
	wrote []string
}

func (p *project) write(ctx context.Context, s *cli.Session) error {
	if err := os.MkdirAll(filepath.Join(p.dir, filepath.Dir(schemaFile)), 0o755); err != nil {
		return err
	}
	for _, name := range []string{settings.FileName, schemaFile, eventsFile, ignoreFile} {
		// Embedded without the dot, so that the example's .gitignore works on nothing here.
		text, err := example.ReadFile("example/" + strings.TrimPrefix(name, "."))
		if err != nil {
			return err
		}
		if err := p.file(name, text, 0o644); err != nil {
			return err
		}
	}
	passphrase := rand.Text()
	if err := p.file(passphraseFile, []byte(passphrase+"\n"), 0o600); err != nil {
		return err
	}
	return p.keyring(ctx, s, passphrase)
}

func (p *project) file(name string, text []byte, mode os.FileMode) error {
	path := filepath.Join(p.dir, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	p.wrote = append(p.wrote, path)
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func (p *project) keyring(ctx context.Context, s *cli.Session, passphrase string) error {
	path := filepath.Join(p.dir, keyringFile)
	p.wrote = append(p.wrote, path+".lock") // made by its writer; the keyring itself is made last, so that no failure leaves one
	file, err := filekeyring.New(path, filekeyring.Options{Passphrase: filekeyring.Passphrase([]byte(passphrase))})
	if err != nil {
		return err
	}
	manager, err := keyring.NewManager(settings.DefaultKeyring, file, file, keyring.ManagerOptions{Actor: actor.Name(), Logger: s.Log, Now: s.Now})
	if err != nil {
		return err
	}
	if _, err = manager.Create(ctx, keyring.CreateOptions{}); err != nil {
		return err
	}
	outbox, err := connect.DataStore("sqlite:"+filepath.Join(p.dir, outboxFile), "")
	if err != nil {
		return err
	}
	_, err = manager.AddStore(ctx, outbox)
	return err
}

// undo takes away what a failed init has written, so that it can be run again.
func (p *project) undo() {
	for _, path := range p.wrote {
		_ = os.Remove(path)
	}
}

func say(s *cli.Session, dir string) error {
	commands := []string{"fieldcrypt migrate", "fieldcrypt write " + eventsFile, "echo 1234567890 | fieldcrypt find --index tax_id --open -"}
	if dir != "." {
		commands[0] = "cd " + quote(dir) + " && " + commands[0]
	}
	if s.JSON() {
		var paths []string
		for _, name := range files {
			paths = append(paths, filepath.Join(dir, name))
		}
		return s.Terminal.JSON(struct {
			Files []string `json:"files"`
			Next  []string `json:"next"`
		}{paths, commands})
	}
	for _, name := range files {
		if err := s.Terminal.Printf("wrote %s", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return s.Terminal.Printf("\nKeep %s and %s, and apart: without both, what is sealed is lost.\nNext:\n\n  %s\n", keyringFile, passphraseFile, strings.Join(commands, "\n  "))
}

// quote writes a path so that a shell takes it as one word.
func quote(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == "" && !strings.HasPrefix(path, "-") {
		return path
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(path, "'", `'\''`))
}
