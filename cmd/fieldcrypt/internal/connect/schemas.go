// Package connect opens what the settings name: schemas, keyrings and outboxes, and what is built on them.
package connect

import (
	"errors"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// LoadSchemas loads the configured schemas. The error may be a *schema.LoadError, for commands that report its findings themselves.
func LoadSchemas(s *settings.Settings) (*schema.Registry, error) {
	if len(s.Schemas) == 0 {
		return nil, failure.New(failure.Broken, "give --schemas DIR, set "+settings.EnvSchemas+", or write schemas: into "+settings.FileName+"; `fieldcrypt init` makes an example", "no schemas are configured")
	}
	return schema.Load(s.Schemas...)
}

// Schemas loads the configured schemas for a command that only works with them: every reason why they do not load is reported.
func Schemas(s *cli.Session) (*schema.Registry, error) {
	reg, err := LoadSchemas(s.Settings)
	var refused *schema.LoadError
	if errors.As(err, &refused) {
		for _, f := range refused.Findings {
			s.Terminal.Report(f.String(), f.Hint)
		}
		return nil, failure.New(failure.Broken, "see `fieldcrypt lint`", "the schemas do not load")
	}
	if err != nil {
		return nil, err
	}
	s.Log.Debug("loaded schemas", "events", len(reg.Events()), "indexes", len(reg.Indexes()))
	return reg, nil
}
