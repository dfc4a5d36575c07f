package vaultkeyring

import (
	"fmt"
	"net/url"
	"strings"
)

const (
	scheme       = "vault"
	transitQuery = "transit"
	urlForm      = "vault://MOUNT/PATH?transit=MOUNT/KEY"
)

// Location says where in a Vault a keyring is. It holds no address: that is the
// client's.
type Location struct {
	// Mount is the KV v2 mount, without slashes at its ends.
	Mount string
	// Path is the document's path in it, as in `vault kv get -mount=MOUNT PATH`.
	Path string
	// TransitMount is the Transit mount.
	TransitMount string
	// Key is the Transit key.
	Key string
}

// URLError: a keyring's URL is not one of a keyring in Vault.
type URLError struct {
	URL    string
	Detail string
}

func (e *URLError) Error() string {
	return fmt.Sprintf("%s: %s", e.URL, e.Detail)
}

// Hint shows the form.
func (e *URLError) Hint() string {
	return "want " + urlForm + ": KV v2 mount and path, then Transit mount and key; the address comes from VAULT_ADDR"
}

// ParseURL reads vault://MOUNT/PATH?transit=MOUNT/KEY. PATH may hold slashes.
// A mount that holds one is written with %2F. What stands in the URL beyond
// that is refused: a port, a user, other members of the query.
func ParseURL(text string) (Location, error) {
	fail := func(format string, args ...any) (Location, error) {
		return Location{}, &URLError{URL: showURL(text), Detail: fmt.Sprintf(format, args...)}
	}
	rest, ok := strings.CutPrefix(text, scheme+"://")
	if !ok {
		return fail("not a %s:// URL", scheme)
	}
	if strings.ContainsAny(rest, "#@") {
		return fail("it holds a fragment or a user, which have no place here")
	}
	where, query, _ := strings.Cut(rest, "?")
	mount, path, ok := strings.Cut(where, "/")
	if !ok || path == "" {
		return fail("the path after the KV mount is missing")
	}
	mount, err := url.PathUnescape(mount)
	if err != nil {
		return fail("the KV mount is badly escaped")
	}
	transit, err := parseQuery(query)
	if err != nil {
		return fail("%s", err)
	}
	slash := strings.LastIndexByte(transit, '/')
	if slash < 0 {
		return fail("transit %q: want the mount and the key, transit=MOUNT/KEY", showURL(transit))
	}
	l := Location{Mount: mount, Path: path, TransitMount: transit[:slash], Key: transit[slash+1:]}
	if err := l.check(); err != nil {
		return fail("%s", err)
	}
	return l, nil
}

// parseQuery returns the one member that there is.
func parseQuery(query string) (transit string, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", fmt.Errorf("the query is badly escaped")
	}
	for name := range values {
		if name != transitQuery {
			return "", fmt.Errorf("%q is not known in the query", name)
		}
	}
	switch all := values[transitQuery]; {
	case len(all) == 0 || len(all) == 1 && all[0] == "":
		return "", fmt.Errorf("transit=MOUNT/KEY is missing: which Transit key seals the keyring")
	case len(all) > 1:
		return "", fmt.Errorf("transit stands %d times", len(all))
	default:
		return all[0], nil
	}
}

// showURL keeps what an error repeats short and on one line, and cuts what may
// be a password out of it.
func showURL(text string) string {
	const most = 200
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		text = scheme + "://…" + text[at:]
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}

// check refuses what would name another path than it seems to, or several.
func (l Location) check() error {
	for _, part := range []struct{ what, text string }{
		{"the KV mount", l.Mount},
		{"the KV path", l.Path},
		{"the Transit mount", l.TransitMount},
		{"the Transit key", l.Key},
	} {
		if part.text == "" {
			return fmt.Errorf("%s is missing", part.what)
		}
		for segment := range strings.SplitSeq(part.text, "/") {
			if !validSegment(segment) {
				return fmt.Errorf("%s %q: between slashes stand letters, digits, and _ . ~ - = :, and neither . nor .. alone", part.what, part.text)
			}
		}
	}
	if strings.Contains(l.Key, "/") {
		return fmt.Errorf("the Transit key %q holds a slash", l.Key)
	}
	return nil
}

func validSegment(s string) bool {
	if s == "" || s == "." || s == ".." {
		return false
	}
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("_.~-=:", rune(c)) {
			return false
		}
	}
	return true
}

// String writes the location as a URL.
func (l Location) String() string {
	return scheme + "://" + url.PathEscape(l.Mount) + "/" + l.Path + "?" + transitQuery + "=" + l.TransitMount + "/" + l.Key
}

// The paths of Vault's API.
func (l Location) dataPath() string     { return l.Mount + "/data/" + l.Path }
func (l Location) metadataPath() string { return l.Mount + "/metadata/" + l.Path }
func (l Location) destroyPath() string  { return l.Mount + "/destroy/" + l.Path }
func (l Location) keyPath() string      { return l.TransitMount + "/keys/" + l.Key }
func (l Location) encryptPath() string  { return l.TransitMount + "/encrypt/" + l.Key }
func (l Location) decryptPath() string  { return l.TransitMount + "/decrypt/" + l.Key }
