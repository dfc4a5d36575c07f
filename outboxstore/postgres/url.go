package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

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
	base, query, _ := strings.Cut(text, "?")
	if strings.Contains(base, "#") {
		return "", "", fmt.Errorf("%w: a # in user or password is written %%23", ErrURL)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", "", fmt.Errorf("%w: the part after ? is not a query", ErrURL)
	}
	if given, ok := values[tableParameter]; ok {
		if len(given) != 1 {
			return "", "", fmt.Errorf("%w: the parameter table is given twice", ErrURL)
		}
		n, err := parseTable(given[0])
		if err != nil {
			return "", "", err
		}
		table = n.schema + "." + n.table
		delete(values, tableParameter)
	}
	dsn = base
	if len(values) > 0 {
		dsn += "?" + values.Encode()
	}
	if _, err := pgxpool.ParseConfig(dsn); err != nil { // its text may hold the password
		return "", "", fmt.Errorf("%w: check its port, sslmode and other parameters, and write special characters of user and password as %%XX", ErrURL)
	}
	return dsn, table, nil
}
