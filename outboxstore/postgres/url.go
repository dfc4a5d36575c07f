package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrURL refuses the URL of an outbox. What is refused is not repeated, since it may hold a password.
var ErrURL = errors.New("not the URL of a Postgres outbox: want postgres://USER@HOST:PORT/DATABASE?table=[SCHEMA.]NAME")

// tableParameter is ours; all others are libpq's, pgx's, or the server's.
const tableParameter = "table"

// ParseURL takes ?table=[SCHEMA.]NAME out of a URL; dsn is what pgx takes. table is empty where the URL names none. What
// the URL leaves out comes from libpq's variables (PGHOST, PGPASSWORD, PGSSLMODE …).
func ParseURL(text string) (dsn, table string, err error) {
	scheme, _, _ := strings.Cut(text, ":")
	if scheme != "postgres" && scheme != "postgresql" || !strings.HasPrefix(text, scheme+"://") {
		return "", "", fmt.Errorf("%w: it does not begin with postgres://", ErrURL)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", "", fmt.Errorf("%w: it holds a control character", ErrURL)
	}
	if err := checkAuthority(text[len(scheme)+len("://"):]); err != nil {
		return "", "", err
	}
	base, query, _ := strings.Cut(text, "?")
	if strings.Contains(base, "#") {
		return "", "", fmt.Errorf("%w: a # in user or password is written %%23", ErrURL)
	}
	table, query, err = takeTable(query)
	if err != nil {
		return "", "", err
	}
	dsn = base
	if query != "" {
		dsn += "?" + query
	}
	if _, err := pgxpool.ParseConfig(dsn); err != nil { // its text may hold the password
		return "", "", fmt.Errorf("%w: check its port, sslmode and other parameters, and write special characters of user and password as %%XX", ErrURL)
	}
	return dsn, table, nil
}

// takeTable takes our parameter out of a query and leaves the others as they were written: libpq and pgx read a + as it
// stands, which net/url would make a space.
func takeTable(query string) (table, rest string, err error) {
	var others []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		name, nameErr := url.PathUnescape(name)
		value, valueErr := url.PathUnescape(value)
		switch {
		case nameErr != nil || valueErr != nil:
			return "", "", fmt.Errorf("%w: the part after ? is not a query", ErrURL)
		case name != tableParameter:
			others = append(others, parameter)
		case table != "":
			return "", "", fmt.Errorf("%w: the parameter table is given twice", ErrURL)
		case value == "":
			return "", "", fmt.Errorf("%w: the parameter table is empty", ErrURL)
		default:
			n, err := parseTable(value)
			if err != nil {
				return "", "", err
			}
			table = n.schema + "." + n.table
		}
	}
	return table, strings.Join(others, "&"), nil
}

// checkAuthority refuses a second @ before the query, and a ? before the first: a part of a password would be taken for a
// host or a database, which errors name.
func checkAuthority(rest string) error {
	base, _, _ := strings.Cut(rest, "?")
	if strings.Count(base, "@") > 1 {
		return fmt.Errorf("%w: an @ in user or password is written %%40", ErrURL)
	}
	if at := strings.IndexAny(rest, "@/"); at >= 0 && strings.Contains(rest[:at], "?") && rest[at] == '@' {
		return fmt.Errorf("%w: a ? in user or password is written %%3F", ErrURL)
	}
	if host, path, _ := strings.Cut(base, "/"); !strings.Contains(host, "@") && strings.Contains(path, "@") {
		return fmt.Errorf("%w: a / in user or password is written %%2F", ErrURL)
	}
	return nil
}
