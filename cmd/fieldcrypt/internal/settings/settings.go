package settings

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// The environment variables.
const (
	EnvSchemas        = "FIELDCRYPT_SCHEMAS"
	EnvKeyring        = "FIELDCRYPT_KEYRING"
	EnvOutbox         = "FIELDCRYPT_OUTBOX"
	EnvPassphraseFile = "FIELDCRYPT_PASSPHRASE_FILE"
	EnvPassphrase     = "FIELDCRYPT_PASSPHRASE"
	EnvOutput         = "FIELDCRYPT_OUTPUT"
	EnvAuditLog       = "FIELDCRYPT_AUDIT_LOG"
)

// FileName is the name of the settings file.
const FileName = "fieldcrypt.yaml"

// DefaultKeyring is the name of a keyring that is configured without one.
const DefaultKeyring = "default"

// Forms of output. Every command has Text and JSON.
const (
	Text   = "text"
	JSON   = "json"
	GitHub = "github"
	JUnit  = "junit"
	SARIF  = "sarif"
)

// Origin says where a setting came from.
type Origin string

// The places, in the order in which they win.
const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromFile    Origin = "file"
	FromDefault Origin = "default"
)

// Settings is what a command works with. Paths are relative to the working directory, or absolute.
type Settings struct {
	// File is the settings file, or "" where none was found.
	File string
	// Schemas holds directories and files.
	Schemas []string
	// Keyrings are sorted by name.
	Keyrings []Keyring
	// Outboxes holds URLs; most commands take one: see [Settings.Outbox].
	Outboxes []string
	// PassphraseFile is a path, or "".
	PassphraseFile string
	// AuditLog is the path of the file that holds the audit trail, or "".
	AuditLog string
	// NoAudit leaves the audit trail out.
	NoAudit bool
	// Output is the form of machine or human output.
	Output string
	// Quiet leaves out notes and progress.
	Quiet bool
	// NoProgress leaves out progress.
	NoProgress bool
	// LogLevel is the least level that is logged on standard error.
	LogLevel slog.Level
	// LintIgnores are the findings that may stand, from the file alone.
	LintIgnores []LintIgnore

	outboxOrigin Origin
	outputOrigin Origin
}

// Keyring is a configured keyring.
type Keyring struct{ Name, URL string }

// LintIgnore is a lint finding that may stand, and why; package validate says what its fields mean.
type LintIgnore struct{ Rule, File, Location, Reason string }

// KeyringURL returns the URL of a keyring.
func (s *Settings) KeyringURL(name string) (string, bool) {
	for _, k := range s.Keyrings {
		if k.Name == name {
			return k.URL, true
		}
	}
	return "", false
}

// Outbox returns the one outbox of a command that asks one store.
func (s *Settings) Outbox() (string, error) {
	switch len(s.Outboxes) {
	case 1:
		return s.Outboxes[0], nil
	case 0:
		return "", s.NoOutbox()
	}
	code := failure.Broken
	if s.outboxOrigin == FromFlag {
		code = failure.Usage
	}
	return "", failure.New(code, "give one --outbox; verify and rotate take several", "this command works on one outbox, and %d are configured", len(s.Outboxes))
}

// NoOutbox is the error of a command that needs an outbox and has none.
func (s *Settings) NoOutbox() error {
	return failure.New(failure.Broken, "give --outbox URL, such as sqlite:PATH or postgres://USER@HOST/DATABASE, set "+EnvOutbox+", or write outbox: into "+FileName, "no outbox is configured")
}

// CheckOutput refuses a form of output that the command does not have.
func (s *Settings) CheckOutput(command string, has ...string) error {
	if slices.Contains(has, s.Output) {
		return nil
	}
	code := failure.Broken
	if s.outputOrigin == FromFlag {
		code = failure.Usage
	}
	return failure.New(code, "it has "+strings.Join(has, ", "), "%s has no output %q", command, s.Output)
}

var keyringName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// parseKeyring reads [NAME=]URL. A name ends at the first = before any colon, since a URL may hold = itself.
func parseKeyring(text string) (Keyring, error) {
	head, _, _ := strings.Cut(text, ":")
	name, url, named := strings.Cut(text, "=")
	if !named || !strings.Contains(head, "=") {
		return Keyring{Name: DefaultKeyring, URL: text}, checkURL(text)
	}
	if !keyringName.MatchString(name) {
		return Keyring{}, fmt.Errorf("%q is no name of a keyring: it must match %s", name, keyringName)
	}
	return Keyring{Name: name, URL: url}, checkURL(url)
}

var scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:.`)

// checkURL does not repeat the text: it may hold a database's password.
func checkURL(text string) error {
	if !scheme.MatchString(text) {
		return fmt.Errorf("a URL must begin with its scheme, such as file: or vault: of a keyring, sqlite: or postgres: of an outbox")
	}
	return nil
}

// Schemes whose rest is a path.
var pathSchemes = []string{"file:", "sqlite:"}

// rebase makes the path of a URL from the settings file relative to the working directory.
func rebase(dir, url string) string {
	for _, s := range pathSchemes {
		if path, ok := strings.CutPrefix(url, s); ok {
			path, query, has := strings.Cut(path, "?")
			url = s + join(dir, path)
			if has {
				url += "?" + query
			}
			return url
		}
	}
	return url
}

func join(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// keyrings reads a list of [NAME=]URL and refuses a name that stands there twice.
func keyrings(texts []string) ([]Keyring, error) {
	var all []Keyring
	for _, text := range texts {
		k, err := parseKeyring(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(o Keyring) bool { return o.Name == k.Name }) {
			return nil, fmt.Errorf("the keyring %q is given twice", k.Name)
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Keyring) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func outboxes(urls []string) ([]string, error) {
	for i, url := range urls {
		if err := checkURL(url); err != nil {
			return nil, err
		}
		if slices.Contains(urls[:i], url) {
			return nil, fmt.Errorf("the same outbox is given twice")
		}
	}
	return urls, nil
}

// checkOutputForm refuses a word that names no form of output.
func checkOutputForm(form string) error {
	all := []string{Text, JSON, GitHub, JUnit, SARIF}
	if !slices.Contains(all, form) {
		return fmt.Errorf("%q is no form of output: it must be one of %s", form, strings.Join(all, ", "))
	}
	return nil
}

func logLevel(text string) (slog.Level, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[text]
	if !ok {
		return 0, fmt.Errorf("%q is no log level: it must be one of debug, info, warn, error", text)
	}
	return level, nil
}
