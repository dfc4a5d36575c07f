package settings

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// Flags are the settings' flags, which every command takes.
type Flags struct {
	schemas, keyrings, outboxes []string
	output, logLevel, auditLog  string
	quiet, noProgress, noAudit  bool
}

// Bind declares the flags.
func (f *Flags) Bind(set *pflag.FlagSet) {
	set.StringArrayVar(&f.schemas, "schemas", nil, "`DIR` or file with JSON Schemas; repeatable")
	set.StringArrayVar(&f.keyrings, "keyring", nil, "keyring as `[NAME=]URL`, such as file:keyring.json or vault://secret/app?transit=transit/app; repeatable")
	set.StringArrayVar(&f.outboxes, "outbox", nil, "outbox as `URL`, such as sqlite:outbox.db or postgres://app@db/app; repeatable where a command asks several")
	set.StringVar(&f.output, "output", "", "`FORM` of the output: text, json; where it makes sense also github, junit, sarif (default text)")
	set.StringVar(&f.auditLog, "audit-log", "", "keep the audit trail in this `FILE`, not in the outbox's database")
	set.BoolVar(&f.noAudit, "no-audit", false, "leave no trace in the audit trail")
	set.BoolVar(&f.quiet, "quiet", false, "leave out notes and progress")
	set.BoolVar(&f.noProgress, "no-progress", false, "leave out progress")
	set.StringVar(&f.logLevel, "log-level", "warn", "log from this `LEVEL` on: debug, info, warn, error")
}

// Source is where settings are read from.
type Source struct {
	// Flags are parsed, Set is what they were parsed by.
	Flags *Flags
	Set   *pflag.FlagSet
	// LookupEnv is os.LookupEnv, but for tests.
	LookupEnv func(string) (string, bool)
	// Dir is the working directory.
	Dir string
	// NoFile leaves the settings file aside, for commands that must work beside a broken one.
	NoFile bool
}

// Resolve applies the order flags, environment, file, defaults.
func (src Source) Resolve() (*Settings, error) {
	f := &file{}
	if !src.NoFile {
		path, err := findFile(src.Dir)
		if err != nil {
			return nil, err
		}
		if path != "" {
			if f, err = readFile(src.Dir, path); err != nil {
				return nil, err
			}
		}
	}
	s := &Settings{File: f.path, Quiet: src.Flags.quiet, NoProgress: src.Flags.noProgress, LintIgnores: f.lintIgnores}

	s.Schemas, _ = src.list("schemas", src.Flags.schemas, EnvSchemas, f.schemas)

	texts, origin := src.list("keyring", src.Flags.keyrings, EnvKeyring, f.keyrings)
	var err error
	if s.Keyrings, err = keyrings(texts); err != nil {
		return nil, src.refuse(origin, "keyring", EnvKeyring, f, err)
	}
	texts, s.outboxOrigin = src.list("outbox", src.Flags.outboxes, EnvOutbox, f.outboxes)
	if s.Outboxes, err = outboxes(texts); err != nil {
		return nil, src.refuse(s.outboxOrigin, "outbox", EnvOutbox, f, err)
	}
	s.PassphraseFile = f.passphraseFile
	if path, ok := src.env(EnvPassphraseFile); ok {
		s.PassphraseFile = path
	}
	s.NoAudit = src.Flags.noAudit
	s.AuditLog, _ = src.one("audit-log", src.Flags.auditLog, EnvAuditLog, f.auditLog, "")
	s.Output, s.outputOrigin = src.one("output", src.Flags.output, EnvOutput, f.output, Text)
	if err := checkOutputForm(s.Output); err != nil {
		return nil, src.refuse(s.outputOrigin, "output", EnvOutput, f, err)
	}
	if s.LogLevel, err = logLevel(src.Flags.logLevel); err != nil {
		return nil, src.refuse(FromFlag, "log-level", "", f, err)
	}
	return s, nil
}

// env returns a variable. One that is empty counts as not set, as it does in a shell's ${VAR:-…}.
func (src Source) env(name string) (string, bool) {
	value, ok := src.LookupEnv(name)
	return value, ok && value != ""
}

func (src Source) list(flag string, flags []string, env string, file []string) ([]string, Origin) {
	if src.Set.Changed(flag) {
		return flags, FromFlag
	}
	if value, ok := src.env(env); ok {
		return strings.Fields(value), FromEnv
	}
	if len(file) > 0 {
		return file, FromFile
	}
	return nil, FromDefault
}

func (src Source) one(flag, given, env, file, fallback string) (string, Origin) {
	if src.Set.Changed(flag) {
		return given, FromFlag
	}
	if value, ok := src.env(env); ok {
		return value, FromEnv
	}
	if file != "" {
		return file, FromFile
	}
	return fallback, FromDefault
}

// refuse says where the bad setting came from. Only a flag is wrong usage.
func (src Source) refuse(origin Origin, name, env string, f *file, err error) error {
	switch origin {
	case FromFlag:
		return failure.New(failure.Usage, "see `fieldcrypt help settings`", "--%s: %w", name, err)
	case FromEnv:
		return failure.New(failure.Broken, "see `fieldcrypt help settings`", "the variable %s: %w", env, err)
	}
	return failure.New(failure.Broken, "see `fieldcrypt help settings`", "%s: %s: %w", f.path, name, err)
}
