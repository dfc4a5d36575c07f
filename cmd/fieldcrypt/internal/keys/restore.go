package keys

import (
	"context"
	"io"
	"os"

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

type restore struct {
	name              string
	identityFile      string
	aboveRevision     uint64
	replaceUnreadable bool
	yes               bool
}

func (f *restore) bind(set *pflag.FlagSet) {
	set.Uint64Var(&f.aboveRevision, "above-revision", 0, "write a revision above `N`, the highest that any process has seen; what the outbox remembers is known already")
	set.StringVar(&f.identityFile, "identity-file", "", "open the backup with the age identities in this `FILE`")
	set.StringVar(&f.name, "name", settings.DefaultKeyring, "restore the keyring of this `NAME`")
	set.BoolVar(&f.replaceUnreadable, "replace-unreadable", false, "replace a keyring that does not open, such as one whose Transit key is lost")
	set.BoolVar(&f.yes, "yes", false, "do not ask")
}

func newRestore(app *cli.App) *cobra.Command {
	var f restore
	cmd := &cobra.Command{
		Use:   "restore --identity-file FILE BACKUP",
		Short: "Restore a keyring, or keys that it lacks, from a backup",
		Long: `Reads a backup (a file, or - for standard input), shows each key and what would be done with
it, and asks. Compare the digest, or the keys' fingerprints, with what was noted when the
backup was made: who knows the recipient can make a backup.

Where no keyring is stored, the backup's whole keyring is written. Where there is one, keys that
it lacks are added as active: its primary keys never change, a destroyed key is not brought
back, and an id that exists with other bytes is refused. What is written has a revision above all
that was seen, so that running processes take it; a keyring that went back to an older revision is
written anew for that, although it may lack no key.

A keyring that is restored under another key than the one that sealed it when it was backed up,
as each new file has, takes that one's place: processes refuse the old one from then on. So
rehearse a restore with a copy of the database, or without an outbox.`,
		Example: `  fieldcrypt keys restore --identity-file identity.txt keyring-2026-11-30.age`,
		Args:    cli.ExactArgs(1),
		RunE:    app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *restore) run(ctx context.Context, s *cli.Session, args []string) error {
	if err := connect.NeedTrail(ctx, s, f.name); err != nil {
		return err
	}
	backup, err := f.read(s, args[0])
	if err != nil {
		return err
	}
	defer backup.Close()
	manager, err := connect.NewManager(ctx, s, f.name)
	if err != nil {
		return err
	}
	others, err := connect.Others(ctx, s, f.name)
	if err != nil {
		return err
	}
	plan, err := manager.PlanRestore(ctx, backup, keyring.RestoreOptions{AboveRevision: f.aboveRevision, ReplaceUnreadable: f.replaceUnreadable, Others: others})
	if err != nil {
		return err
	}
	defer plan.Close()
	if err := f.show(s, backup, plan); err != nil {
		return err
	}
	f.warn(s, backup, plan)
	if plan.Revision == 0 {
		s.Terminal.Note("nothing was to be done")
		return nil
	}
	if err := confirm(ctx, s, f.yes, "restore keyring %s as revision %d?", f.name, plan.Revision); err != nil {
		return err
	}
	var d *keyring.Description
	begin := audittrail.Entry{Operation: "keys.restore", Keyring: f.name, Detail: audittrail.Fit("backup " + backup.Digest())}
	err = connect.Audited(ctx, s, begin, func(ctx context.Context, out *audittrail.Outcome) (err error) {
		if d, err = manager.Restore(ctx, plan); err == nil {
			out.KeyIDs = connect.KeyIDsOf(d.Keys())
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := sayKeyring(s, "restored", d); err != nil {
		return err
	}
	s.Terminal.Note("next: `fieldcrypt verify`, which names what needs a key that the keyring does not have")
	if plan.Present == nil {
		s.Terminal.Note("next: `fieldcrypt keys stores`: the list is the backup's, and a store that came later is not asked before a key goes")
	}
	return nil
}

// warn says what is lost by the restore, before it is asked for.
func (f *restore) warn(s *cli.Session, backup *keyring.Backup, plan *keyring.RestorePlan) {
	if plan.Replaced != nil {
		s.Terminal.Warn("a keyring is stored that does not open, and is replaced; keys that only it holds are lost: %s", plan.Replaced)
	}
	if plan.Newer != 0 {
		s.Terminal.Warn("keyring %s went up to revision %d, and the backup is of revision %d: keys that were made in between are not in it, and what was sealed under them does not open", f.name, plan.Newer, backup.Description().Revision())
	}
	if plan.Formerly != "" {
		s.Terminal.Note("it takes the place of the keyring that is sealed by %s: whatever uses this outbox refuses that one afterwards; rehearse with a copy of the database", plan.Formerly)
	}
}

func (f *restore) read(s *cli.Session, path string) (*keyring.Backup, error) {
	if f.identityFile == "" {
		return nil, failure.New(failure.Usage, "it is what age-keygen wrote", "--identity-file is missing")
	}
	file, err := os.Open(f.identityFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	identities, err := age.ParseIdentities(file)
	if err != nil {
		// The library's error could quote a line, which may be the secret one.
		return nil, failure.New(failure.Broken, "it is what age-keygen wrote; one that is encrypted must be decrypted first (age -d)", "%s: not a file of age identities", f.identityFile)
	}
	var in io.Reader = s.Stdin
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		in = opened
	}
	return agebackup.Read(in, identities...)
}

func (f *restore) show(s *cli.Session, backup *keyring.Backup, plan *keyring.RestorePlan) error {
	if !s.JSON() {
		if err := s.Terminal.Printf("%s\ndigest %s", backup, backup.Digest()); err != nil {
			return err
		}
	}
	for _, k := range plan.Keys {
		if err := sayFingerprint(s, k.KeyInfo, k.Fingerprint, string(k.Action)); err != nil {
			return err
		}
	}
	return s.Terminal.Flush()
}
