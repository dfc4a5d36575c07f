package connect

import (
	"net/url"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// Schemes of the design that this version does not have.
var (
	plannedKeyrings = map[string]bool{"vault": true}
	plannedOutboxes = map[string]bool{"postgres": true, "postgresql": true, "mysql": true}
)

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

// Redact shows a URL without its password.
func Redact(u string) string {
	if !strings.Contains(u, "://") {
		return u
	}
	parsed, err := url.Parse(u)
	if err != nil {
		return schemeOf(u) + "://…"
	}
	return parsed.Redacted()
}
