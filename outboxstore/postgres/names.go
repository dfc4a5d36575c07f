package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// defaultSchema is where the table is if only its name is given. It is written out in every statement, so that the
// search_path of a role or a connection never decides which table is meant.
const defaultSchema = "public"

// schemaPattern needs no case rules and no escaping inside quotes.
var schemaPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// maxIdentifier is what Postgres keeps of a name, in bytes; the rest it cuts off in silence.
const maxIdentifier = 63

// names are an outbox's objects. All come from checked identifiers.
type names struct{ schema, table string }

// parseTable reads [SCHEMA.]NAME; an empty text is the default table.
func parseTable(text string) (names, error) {
	if text == "" {
		text = outboxstore.DefaultTable
	}
	schema, table, qualified := strings.Cut(text, ".")
	if !qualified {
		schema, table = defaultSchema, text
	}
	reserved := strings.HasPrefix(schema, "pg_") || schema == "information_schema"
	if !schemaPattern.MatchString(schema) || reserved || outboxstore.CheckTable(table) != nil {
		return names{}, &outboxstore.TableNameError{Name: text}
	}
	return names{schema: schema, table: table}, nil
}

// shown is the table's name in errors: as it would stand in ?table=.
func (n names) shown() string {
	if n.schema == defaultSchema {
		return n.table
	}
	return n.schema + "." + n.table
}

// quoted is the table in SQL.
func (n names) quoted() string { return n.in(n.table) }

// in is another object of the table's schema in SQL.
func (n names) in(name string) string { return `"` + n.schema + `"."` + name + `"` }

// index is the name of the database's index on one column. A name that Postgres would cut off ends in its hash instead.
func (n names) index(column string) string {
	name := "ix_" + n.table + "_" + column
	if len(name) <= maxIdentifier {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(digest[:6])
	return name[:maxIdentifier-len(suffix)] + suffix
}
