package connect

import (
	"context"
	"errors"
	"io/fs"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
)

// memories is what all configured outboxes remember of keyrings together. One that is not migrated remembers nothing: whatever else the command does with it says so.
type memories []keyring.Memory

func (all memories) Recall(ctx context.Context, name string) (seen []keyring.Seen, err error) {
	for _, one := range all {
		more, err := one.Recall(ctx, name)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		seen = append(seen, more...)
	}
	return seen, nil
}

func (all memories) Record(ctx context.Context, name string, s keyring.Seen) error {
	var errs []error
	for _, one := range all {
		if err := one.Record(ctx, name, s); !isMissing(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func isMissing(err error) bool {
	_, missing := errors.AsType[*outboxstore.MissingError](err)
	return missing
}

// memoryOf opens the configured outboxes for what they remember of keyrings. A change of a keyring does not wait for a database: one that cannot be asked is named
// in a warning, and one that is not made yet remembers nothing.
func memoryOf(ctx context.Context, s *cli.Session) keyring.Memory {
	if s.Memory != nil {
		return s.Memory
	}
	var all memories
	for _, u := range s.Settings.Outboxes {
		store, err := openOutbox(ctx, u, sqlite.Options{})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			s.AtEnd(store.Close)
			_, err = store.KeyringMemory().Recall(ctx, "")
		}
		if err != nil && !isMissing(err) {
			s.Terminal.Warn("what processes have seen of the keyring cannot be asked of %s: %s", Redact(u), err)
			continue
		}
		all = append(all, store.KeyringMemory())
	}
	if len(all) == 0 {
		return nil
	}
	s.Memory = all
	return all
}

// remember makes the keyrings of this command go by what an outbox that it has opened remembers.
func remember(s *cli.Session, store outboxstore.Store) {
	all, _ := s.Memory.(memories)
	s.Memory = append(all, store.KeyringMemory())
}
