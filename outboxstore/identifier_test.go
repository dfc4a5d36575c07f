package outboxstore

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckTable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{DefaultTable, "_x", "a1", strings.Repeat("a", 41)} {
		if err := CheckTable(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "1", "A", "a-b", `a"`, "a b", "a;", "a\n", "ä", "sqlite_a", "pg_a", "a_bidx_b", "a_key_ids", "fieldcrypt_migrations", strings.Repeat("a", 42)} {
		var refused *TableNameError
		if err := CheckTable(name); !errors.As(err, &refused) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestIndexColumnAndBack(t *testing.T) {
	t.Parallel()
	column, err := IndexColumn("tax_id")
	if err != nil || column != "bidx_tax_id" {
		t.Errorf("%q, %v", column, err)
	}
	if index, ok := IndexName(column); !ok || index != "tax_id" {
		t.Errorf("%q, %v", index, ok)
	}
	for _, name := range []string{"", "_a", "A", "a b", `a"`, strings.Repeat("a", 42)} {
		if column, err := IndexColumn(name); err == nil {
			t.Errorf("%q gives %q", name, column)
		}
	}
	for _, column := range []string{"bidx_", "bidx_A", "id", "xbidx_a", "bidx__a"} {
		if index, ok := IndexName(column); ok {
			t.Errorf("%q gives %q", column, index)
		}
	}
}
