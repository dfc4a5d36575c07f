package keys

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/agebackup"
)

type backup struct {
	name           string
	recipients     []string
	recipientsFile string
	to             string
}

func (f *backup) bind(set *pflag.FlagSet) {
	set.StringVar(&f.name, "name", settings.DefaultKeyring, "back up the keyring of this `NAME`")
	set.StringArrayVar(&f.recipients, "recipient", nil, "encrypt to this age `RECIPIENT` (age1…); repeatable")
	set.StringVar(&f.recipientsFile, "recipients-file", "", "encrypt to the age recipients in this `FILE`, one a line")
	set.StringVar(&f.to, "to", "", "write the backup to this `FILE`, which must not exist, or to - (standard output)")
}

func newBackup(app *cli.App) *cobra.Command {
	var f backup
	cmd := &cobra.Command{
		Use:   "backup --recipient RECIPIENT --to FILE",
		Short: "Back the keyring up, encrypted to an age recipient",
		Long: `Writes all keys of the keyring, encrypted to age recipients (age-keygen makes one). Without the
keyring everything that was sealed is lost: make a backup after each rotation, and keep it, the
age identity and the database apart.

A backup is secret, but not authentic: who knows the recipient can make one. Note the digest
that is printed, away from the file, and compare it before you restore.`,
		Example: `  age-keygen -o identity.txt
  fieldcrypt keys backup --recipient age1… --to keyring-2026-11-30.age`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *backup) run(ctx context.Context, s *cli.Session, _ []string) error {
	recipients, err := f.parseRecipients()
	if err != nil {
		return err
	}
	if f.to == "" {
		return failure.New(failure.Usage, "give --to FILE, or --to - for standard output", "--to is missing")
	}
	if err := connect.NeedTrail(ctx, s, f.name); err != nil {
		return err
	}
	manager, err := connect.Manager(ctx, s, f.name)
	if err != nil {
		return err
	}
	return connect.Audited(ctx, s, audittrail.Entry{Operation: "keys.backup", Keyring: f.name}, func(ctx context.Context, out *audittrail.Outcome) error {
		return f.make(ctx, s, manager, recipients, out)
	})
}

// make writes every key out, so it is an operation that is audited before anything leaves.
func (f *backup) make(ctx context.Context, s *cli.Session, manager *keyring.Manager, recipients []age.Recipient, out *audittrail.Outcome) error {
	told := func(made *keyring.Backup) {
		out.KeyIDs, out.Detail = connect.KeyIDsOf(made.Description().Keys()), "backup "+made.Digest()
	}
	if f.to == "-" {
		made, err := agebackup.Write(ctx, manager, s.Terminal, recipients...)
		if err != nil {
			return err
		}
		defer made.Close()
		if err := s.Terminal.Flush(); err != nil { // before anybody is told that it was made
			return err
		}
		told(made)
		s.Terminal.Note("backed up keyring %s, revision %d, digest %s", f.name, made.Description().Revision(), made.Digest())
		return nil
	}
	made, err := writeNew(f.to, func(w io.Writer) (*keyring.Backup, error) { return agebackup.Write(ctx, manager, w, recipients...) })
	if err != nil {
		return err
	}
	defer made.Close()
	told(made)
	return f.say(s, made)
}

func (f *backup) parseRecipients() ([]age.Recipient, error) {
	var all []age.Recipient
	for _, text := range f.recipients {
		parsed, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, failure.New(failure.Usage, "an age recipient starts with age1; age-keygen -y prints that of an identity", "--recipient: not an age recipient")
		}
		all = append(all, parsed...)
	}
	if f.recipientsFile != "" {
		file, err := os.Open(f.recipientsFile)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		more, err := age.ParseRecipients(file)
		if err != nil {
			return nil, failure.New(failure.Broken, "it has one age recipient a line, and comments that start with #", "%s: not a file of age recipients", f.recipientsFile)
		}
		all = append(all, more...)
	}
	if len(all) == 0 {
		return nil, failure.New(failure.Usage, "age-keygen -o identity.txt makes an identity and prints its recipient", "--recipient is missing")
	}
	return all, nil
}

// writeNew writes a file that was not there, whole or not at all.
func writeNew(path string, write func(io.Writer) (*keyring.Backup, error)) (made *keyring.Backup, err error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, failure.New(failure.Broken, "choose another name: a backup is never overwritten", "%s exists", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".fieldcrypt-backup-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = os.Remove(file.Name())
		if err != nil && made != nil {
			made.Close()
			made = nil
		}
	}()
	if made, err = write(file); err != nil {
		return made, errors.Join(err, file.Close())
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return made, err
	}
	return made, putInPlace(file.Name(), path, os.Link)
}

// putInPlace gives a whole file its name, unless somebody has made one of that name in between. Where there are no links, as on a memory stick, the name is taken
// by an empty file first.
func putInPlace(whole, path string, link func(oldname, newname string) error) error {
	if err := link(whole, path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	taken, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(taken.Close(), os.Rename(whole, path))
}

func (f *backup) say(s *cli.Session, made *keyring.Backup) error {
	d := made.Description()
	if s.JSON() {
		err := s.Terminal.JSON(struct {
			Step     string `json:"step"`
			Keyring  string `json:"keyring"`
			Revision uint64 `json:"revision"`
			File     string `json:"file"`
			Digest   string `json:"digest"`
		}{"backed-up", d.Name(), d.Revision(), f.to, made.Digest()})
		if err != nil {
			return err
		}
	} else if err := s.Terminal.Printf("backed up keyring %s, revision %d, to %s\ndigest %s", d.Name(), d.Revision(), f.to, made.Digest()); err != nil {
		return err
	}
	for _, k := range d.Keys() {
		if err := sayFingerprint(s, k, made.Fingerprint(k.ID), ""); err != nil {
			return err
		}
	}
	return nil
}

// sayFingerprint writes a key of a backup; action is what a restore does with it.
func sayFingerprint(s *cli.Session, k keyring.KeyInfo, fingerprint, action string) error {
	if s.JSON() {
		return s.Terminal.JSON(struct {
			Keyring     string `json:"keyring"`
			ID          string `json:"id"`
			Purpose     string `json:"purpose"`
			State       string `json:"state"`
			Fingerprint string `json:"fingerprint,omitempty"`
			Action      string `json:"action,omitempty"`
		}{k.Keyring, k.ID.String(), string(k.Purpose), string(k.State), fingerprint, action})
	}
	if fingerprint == "" {
		fingerprint = "-"
	}
	if action != "" {
		action = "  " + action
	}
	return s.Terminal.Printf("%s  %-5s  %-9s  fingerprint %-16s%s", k.ID, k.Purpose, k.State, fingerprint, action)
}
