package connect

import (
	"net/url"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// The URLs of this version, for hints.
const (
	keyringForms = "file:PATH or vault://MOUNT/PATH?transit=MOUNT/KEY"
	outboxForms  = "sqlite:PATH or postgres://USER@HOST/DATABASE"
)

// plannedOutboxes are schemes of the design that this version does not have.
var plannedOutboxes = map[string]bool{"mysql": true}

func schemeOf(u string) string {
	scheme, _, _ := strings.Cut(u, ":")
	return scheme
}

// noScheme refuses a URL, and never prints it: it may hold a password.
func noScheme(what, scheme string, planned bool, has string) error {
	if planned {
		return failure.New(failure.Broken, "use "+has+" with this version", "%s: this version has no support for %s:// URLs", what, scheme)
	}
	return failure.New(failure.Broken, "use "+has, "%s: %q is no scheme that fieldcrypt knows", what, scheme)
}

// Redact shows a URL without its password, and of a server's URL only what tells one outbox from another: a password may stand among the parameters too.
func Redact(u string) string {
	if !strings.Contains(u, "://") {
		return u
	}
	parsed, err := url.Parse(u)
	if err != nil {
		return schemeOf(u) + "://…"
	}
	shown := url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}
	if name := parsed.User.Username(); name != "" {
		shown.User = url.User(name)
	}
	query := parsed.Query()
	kept := url.Values{}
	names := []string{"host", "port", "dbname", "service", "table"}
	if strings.Trim(parsed.Path, "/") == "" && query.Get("dbname") == "" {
		names = append(names, "user") // which names the database then
	}
	for _, name := range names {
		if values := query[name]; len(values) > 0 {
			kept[name] = values
		}
	}
	if shown.Host == "" && shown.User == nil && shown.Path == "" {
		shown.Path = "/" // so that it stays a server's URL
	}
	shown.RawQuery = kept.Encode()
	return shown.String()
}
