package postgres

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

// What Postgres reads in a list's text form is the list.
func TestTextArrayIsWhatPostgresReads(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), testenv.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "NULL", "null", `"`, `\`, `{}`, "a,b", " a ", "\n", `\"`, "é\\\\x"}))
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOf(rapid.Ptr(text, true)).Draw(rt, "list")
		for _, s := range list {
			if s != nil {
				*s = strings.ReplaceAll(*s, "\x00", "") // in no Postgres text
			}
		}
		var got []*string
		if err := store.pool.QueryRow(t.Context(), "SELECT $1::text[]", textArray(list)).Scan(&got); err != nil {
			rt.Fatal(err)
		}
		if len(got) != len(list) {
			rt.Fatalf("%d elements, want %d", len(got), len(list))
		}
		for i := range list {
			if (got[i] == nil) != (list[i] == nil) || got[i] != nil && *got[i] != *list[i] {
				rt.Fatalf("element %d differs", i)
			}
		}
	})
}
