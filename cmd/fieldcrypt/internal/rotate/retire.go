package rotate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// defaultRetireAfter is how long a key that ceased to be primary is kept in use, although no store needs it: for what no store knows of.
const defaultRetireAfter = 30 * 24 * time.Hour

// retired is one line of machine output: a key that was disabled, or that something holds back.
type retired struct {
	Step    string `json:"step"`
	Keyring string `json:"keyring"`
	Purpose string `json:"purpose"`
	ID      string `json:"id"`
	// Held says what holds the key back: "age", "hold", "store".
	Held   string `json:"held_by,omitempty"`
	Until  string `json:"until,omitempty"`
	Reason string `json:"reason,omitempty"`
	Store  string `json:"store,omitempty"`
	Rows   int64  `json:"rows,omitempty"`
	Oldest string `json:"oldest,omitempty"`
}

// retire disables the keys that were primary once and that nothing needs any more. A store that cannot be asked ends it: nothing is known then.
func (f *flags) retire(ctx context.Context, s *cli.Session) error {
	manager, err := connect.Manager(ctx, s, f.name)
	if err != nil {
		return err
	}
	described, err := manager.Describe(ctx)
	if err != nil {
		return err
	}
	purposes, err := f.purposes()
	if err != nil {
		return err
	}
	after := defaultRetireAfter
	if f.retireAfter.IsSet {
		after = f.retireAfter.Duration
	}
	none := true
	for _, key := range described.Keys() {
		if key.State != keyring.Active || !slices.Contains(purposes, key.Purpose) {
			continue
		}
		none = false
		opts := keyring.DisableOptions{Ask: connect.Ask(s), NotPrimaryFor: after}
		var err error
		// A key that is held back every night is no operation for the audit trail.
		if err = manager.CheckDisable(ctx, key.Purpose, key.ID, opts); err == nil && !f.dryRun {
			begin := audittrail.Entry{Operation: "rotate.retire", Keyring: f.name, KeyIDs: []string{connect.KeyID(key)}}
			err = connect.Audited(ctx, s, begin, func(ctx context.Context, _ *audittrail.Outcome) error {
				_, err := manager.Disable(ctx, key.Purpose, key.ID, opts)
				return err
			})
		}
		if err := f.sayRetired(s, key, err); err != nil {
			return err
		}
	}
	if none && !s.JSON() {
		return s.Terminal.Printf("no key has ceased to be primary")
	}
	return nil
}

// sayRetired says what became of one key. What holds it back is no failure of the run, and a lost race or a store that is away is.
func (f *flags) sayRetired(s *cli.Session, key keyring.KeyInfo, err error) error {
	object := retired{Step: "kept", Keyring: f.name, Purpose: string(key.Purpose), ID: key.ID.String()}
	say := func(format string, args ...any) error {
		if s.JSON() {
			return s.Terminal.JSON(object)
		}
		return s.Terminal.Printf(format, args...)
	}
	var early *keyring.TooEarlyError
	var held *keyring.HeldError
	var used *keyring.KeyInUseError
	switch {
	case err == nil && f.dryRun:
		object.Step = "would-retire"
		return say("would disable %s key %s: nothing needs it", key.Purpose, key.ID)
	case err == nil:
		object.Step = "retired"
		return say("disabled %s key %s: nothing needed it", key.Purpose, key.ID)
	case errors.As(err, &early):
		object.Held, object.Until = "age", early.Possible.UTC().Format(time.RFC3339)
		return say("kept %s key %s: it was primary not long ago; not before %s", key.Purpose, key.ID, object.Until)
	case errors.As(err, &held):
		object.Held, object.Until, object.Reason = "hold", held.Hold.Until.UTC().Format(time.RFC3339), held.Hold.Reason
		return say("kept %s key %s: held until %s by %s: %s", key.Purpose, key.ID, object.Until, held.Hold.Author, held.Hold.Reason)
	case errors.As(err, &used):
		return f.sayUsed(s, object, err)
	}
	return err
}

// sayUsed names every store that needs the key.
func (f *flags) sayUsed(s *cli.Session, object retired, err error) error {
	for _, one := range unjoin(err) {
		used, ok := errors.AsType[*keyring.KeyInUseError](one)
		if !ok {
			return one
		}
		object.Held, object.Store, object.Rows, object.Oldest = "store", used.Store.String(), used.Uses.Rows, ""
		oldest := ""
		if !used.Uses.Oldest.IsZero() {
			object.Oldest = used.Uses.Oldest.UTC().Format(time.RFC3339)
			oldest = ", the oldest of " + object.Oldest
		}
		if s.JSON() {
			if err := s.Terminal.JSON(object); err != nil {
				return err
			}
			continue
		}
		if err := s.Terminal.Printf("kept %s key %s: %d rows of %s need it%s", object.Purpose, object.ID, object.Rows, object.Store, oldest); err != nil {
			return err
		}
	}
	s.Terminal.Note("hint: `fieldcrypt rotate --re-encrypt-only` brings rows under the primary keys")
	return nil
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// afterSteps says, of a retirement that was broken off, that what came before is done.
func afterSteps(err error) error {
	e := *failure.Explain(err)
	if e.Code == failure.Broken && e.Message != "" {
		e.Message += "; what came before is done"
		if e.Hint == "" {
			e.Hint = "`fieldcrypt rotate --retire-only` goes on from there"
		}
	}
	return &e
}
