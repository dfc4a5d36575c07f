package connect

import (
	"context"
	"errors"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/actor"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// trailSuffix is that of the trail beside a file keyring.
const trailSuffix = ".audit"

// Trail finds the audit trail: the file that is configured, else the database of the first outbox, else a file beside the first of the named keyrings that is a file;
// no name stands for all.
func Trail(ctx context.Context, s *cli.Session, names ...string) (audittrail.Log, error) {
	if path := s.Settings.AuditLog; path != "" {
		return audittrail.OpenFile(path, audittrail.FileOptions{Now: s.Now}), nil
	}
	if len(s.Settings.Outboxes) > 0 {
		store, err := openOutbox(ctx, s.Settings.Outboxes[0], sqlite.Options{})
		if err != nil {
			return nil, err
		}
		s.AtEnd(store.Close)
		return store.AuditTrail(), nil
	}
	for _, configured := range named(s, names) {
		if schemeOf(configured.URL) == "file" {
			return audittrail.OpenFile(configured.URL[len("file:"):]+trailSuffix, audittrail.FileOptions{Now: s.Now}), nil
		}
	}
	return nil, failure.New(failure.Broken, "give --outbox URL or --audit-log FILE, set "+settings.EnvAuditLog+", or write audit_log: into "+settings.FileName+"; --no-audit does without",
		"this is to be written into the audit trail, and neither an outbox nor a file is configured for it")
}

func named(s *cli.Session, names []string) []settings.Keyring {
	var all []settings.Keyring
	for _, configured := range s.Settings.Keyrings {
		if len(names) == 0 || slices.Contains(names, configured.Name) {
			all = append(all, configured)
		}
	}
	return all
}

// NeedTrail refuses a command that must be audited and cannot be, before it does anything. names are the keyrings that it is about.
func NeedTrail(ctx context.Context, s *cli.Session, names ...string) error {
	if s.Settings.NoAudit {
		if !s.Unaudited {
			s.Unaudited = true
			s.Terminal.Warn("--no-audit: this leaves no trace in the audit trail")
		}
		return nil
	}
	if s.Recorder != nil {
		return nil
	}
	log, err := Trail(ctx, s, names...)
	if err != nil {
		return err
	}
	s.Recorder = &audittrail.Recorder{Actor: auditActor(ctx, s, names), Log: log, Logger: s.Log, Now: s.Now, Refuses: refuses}
	return nil
}

// NeedTrailFor is NeedTrail for what works with the schemas' keyrings.
func NeedTrailFor(ctx context.Context, s *cli.Session, reg *schema.Registry) error {
	var names []string
	for _, event := range reg.Events() {
		names = append(names, event.Plan().Keyrings()...)
	}
	return NeedTrail(ctx, s, names...)
}

// auditActor is the operating system's user and host, and before it the name by which Vault knows who holds the token.
func auditActor(ctx context.Context, s *cli.Session, names []string) string {
	user := actor.Name()
	for _, configured := range named(s, names) {
		if schemeOf(configured.URL) != "vault" {
			continue
		}
		p, err := keyringPlace(s, configured, nil)
		if err != nil {
			break // whatever the command does with it says so
		}
		v, ok := p.(*vaultkeyring.Vault)
		if !ok {
			break
		}
		name, err := v.DisplayName(ctx)
		if err != nil {
			s.Log.Debug("vault does not say whose token it is", "error", err.Error())
			return user + " (vault does not name the token)"
		}
		return name + " (" + user + ")"
	}
	return user
}

// ErrDeclined says that a person was asked and said no.
var ErrDeclined = errors.New("declined")

// refuses tells what was refused, by a guard, by a person or for its input, from what failed.
func refuses(err error) bool {
	if code := failure.Explain(err).Code; code == failure.Refused || code == failure.Usage || errors.Is(err, ErrDeclined) {
		return true
	}
	return errors.As(err, new(*keyring.KeyInUseError)) || errors.As(err, new(*keyring.HeldError)) || errors.As(err, new(*keyring.TooEarlyError))
}

// Audited carries an operation out between two entries of the audit trail, one that it begins and one of what came of it.
func Audited(ctx context.Context, s *cli.Session, begin audittrail.Entry, operate func(context.Context, *audittrail.Outcome) error) error {
	var names []string
	if begin.Keyring != "" {
		names = []string{begin.Keyring}
	}
	if err := NeedTrail(ctx, s, names...); err != nil {
		return err
	}
	if s.Recorder == nil {
		return operate(ctx, &audittrail.Outcome{})
	}
	err := s.Recorder.Do(ctx, begin, operate)
	unrecorded, ok := errors.AsType[*audittrail.UnrecordedError](err)
	if !ok {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, own := range joined.Unwrap()[1:] {
			if e := failure.Explain(own); e.Message != "" {
				s.Terminal.Report(e.Message, e.Hint)
			}
		}
	}
	return failure.New(failure.Broken, "note it where the trail is kept; what was done stays done", "%w", unrecorded)
}

// KeyID is how the trail names a key.
func KeyID(k keyring.KeyInfo) string { return string(k.Purpose) + ":" + k.ID.String() }

// KeyIDsOf names several keys.
func KeyIDsOf(keys []keyring.KeyInfo) []string {
	var all []string
	for _, k := range keys {
		all = append(all, KeyID(k))
	}
	return all
}
