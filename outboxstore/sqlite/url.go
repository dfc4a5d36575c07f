package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// scheme starts the URL of a SQLite outbox.
const scheme = "sqlite:"

// ErrURL refuses the URL of an outbox.
var ErrURL = errors.New("not the URL of a SQLite outbox: want sqlite:PATH or sqlite:PATH?table=NAME")

// ParseURL reads sqlite:PATH[?table=NAME]. A text without the scheme is a path as it stands. table is the default where
// the URL names none.
func ParseURL(text string) (path, table string, err error) {
	rest, isURL := strings.CutPrefix(text, scheme)
	table = outboxstore.DefaultTable
	path = rest
	if isURL {
		var query string
		path, query, _ = strings.Cut(rest, "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return "", "", fmt.Errorf("%w: the part after ? is not a query", ErrURL)
		}
		for name, v := range values {
			if name != "table" || len(v) != 1 {
				return "", "", fmt.Errorf("%w: parameter %q is unknown or given twice", ErrURL, name)
			}
			table = v[0]
		}
	}
	if path == "" {
		return "", "", fmt.Errorf("%w: no path", ErrURL)
	}
	if strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:") {
		return "", "", fmt.Errorf("%w: a file's path is needed, for events must outlive the process", ErrURL)
	}
	if err := outboxstore.CheckTable(table); err != nil {
		return "", "", err
	}
	return path, table, nil
}

// dataSource is the driver's name for a file. Each connection gets the settings; journal_mode is the file's own and is set
// once, by Open.
func dataSource(path string, mode string, busyMillis int64) string {
	query := url.Values{
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis), "foreign_keys(1)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
		"mode":    {mode},
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}
