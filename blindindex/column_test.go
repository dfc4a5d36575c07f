package blindindex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func mustColumn(t *testing.T, ring *keyring.Keyring, index *blindindex.Index, opts blindindex.ColumnOptions) *blindindex.Column {
	t.Helper()
	column, err := blindindex.NewColumn(ring, index, opts)
	if err != nil {
		t.Fatal(err)
	}
	return column
}

func mustIndex(t *testing.T, name string, steps []string, bits int) *blindindex.Index {
	t.Helper()
	index, err := blindindex.New(name, steps, bits)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestAColumnHoldsWhatASealerWouldStore(t *testing.T) {
	t.Parallel()
	keys := keyringtest.NewRing(t, keyringtest.Options{})
	primary, err := keys.Keyring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	index := mustIndex(t, "name", []string{"trim", "nfkc", "casefold"}, 128)
	column := mustColumn(t, keys.Keyring, index, blindindex.ColumnOptions{})
	text, number := " ﬁliz ", int64(-7)
	var noText *string
	for name, c := range map[string]struct {
		value any
		json  string
	}{
		"string":       {text, `" ﬁliz "`},
		"pointer":      {&text, `" ﬁliz "`},
		"nil pointer":  {noText, `null`},
		"nil":          {nil, `null`},
		"blank":        {"  ", `"  "`},
		"int":          {-7, `-7`},
		"int64":        {number, `-7`},
		"int64 behind": {&number, `-7`},
		"uint64":       {uint64(1) << 63, `9223372036854775808`},
		"raw string":   {json.RawMessage(` "FILIZ"`), `"FILIZ"`},
		"raw number":   {json.RawMessage("70e-1"), `7`},
		"controls":     {"a\x00\"\\\u2028", `"a\u0000\"\\\u2028"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := column.Value(c.value)
			if err != nil {
				t.Fatal(err)
			}
			messages, err := index.Messages([]byte(c.json))
			if err != nil {
				t.Fatal(err)
			}
			if len(messages) == 0 {
				if got != nil {
					t.Errorf("stored %T, want NULL", got)
				}
				return
			}
			want, err := index.Value(primary, messages[0])
			if err != nil {
				t.Fatal(err)
			}
			if stored, ok := got.(blindindex.Stored); !ok || !bytes.Equal(stored, want) {
				t.Errorf("stored %x, want %x", got, want)
			}
			candidates, err := column.Candidates(c.value)
			if err != nil || len(candidates) != 1 || !bytes.Equal(candidates[0], want) {
				t.Errorf("candidates %x, error %v, want %x", candidates, err, want)
			}
		})
	}
}

func TestAColumnFindsEveryRowDuringARotationAndARebuild(t *testing.T) {
	t.Parallel()
	keys := keyringtest.NewRing(t, keyringtest.Options{})
	ring := keys.Keyring
	raw, folded := mustIndex(t, "name", nil, 128), mustIndex(t, "name", []string{"casefold"}, 160)
	withRaw, err := folded.WithPrevious(raw)
	if err != nil {
		t.Fatal(err)
	}
	before, after := mustColumn(t, ring, raw, blindindex.ColumnOptions{}), mustColumn(t, ring, withRaw, blindindex.ColumnOptions{})
	var stored [][]byte
	store := func(c *blindindex.Column) {
		t.Helper()
		v, err := c.Value("Ayşe")
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, v.(blindindex.Stored))
	}
	store(before)
	store(after)
	keys.Stage(keyring.Index)
	keys.Refresh()
	store(before)
	keys.Promote(keyring.Index)
	keys.Refresh()
	store(before)
	store(after)
	candidates, err := after.Candidates("Ayşe")
	if err != nil {
		t.Fatal(err)
	}
	if want := 4; len(candidates) != want { // two keys, two versions
		t.Errorf("%d candidates, want %d", len(candidates), want)
	}
	current := 0
	for i, value := range stored {
		if !slices.ContainsFunc(candidates, func(c []byte) bool { return bytes.Equal(c, value) }) {
			t.Errorf("row %d is missed", i)
		}
		is, err := after.IsCurrent(value)
		if err != nil {
			t.Fatal(err)
		}
		if is {
			current++
		}
	}
	if current != 2 {
		t.Errorf("%d rows are under the primary key, want 2", current)
	}
	if _, err := after.IsCurrent([]byte("x")); !errors.As(err, new(*blindindex.StoredError)) {
		t.Errorf("error is %v", err)
	}
}

func TestAUniqueColumnSaysWhenItIsNone(t *testing.T) {
	t.Parallel()
	keys := keyringtest.NewRing(t, keyringtest.Options{})
	index := mustIndex(t, "tax_id", []string{"digits"}, 128)
	column := mustColumn(t, keys.Keyring, index, blindindex.ColumnOptions{})
	if err := column.CheckUnique(); err != nil {
		t.Errorf("with one key: %v", err)
	}
	staged := keys.Stage(keyring.Index)
	keys.Refresh()
	var e *blindindex.NotUniqueError
	if err := column.CheckUnique(); !errors.As(err, &e) || len(e.KeyIDs) != 2 || !slices.Contains(e.KeyIDs, staged) || e.Hint() == "" || !strings.Contains(e.Error(), staged.String()) {
		t.Errorf("with a staged key: %v", err)
	}
	former, err := keys.Keyring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	keys.Promote(keyring.Index)
	keys.SetState(keyring.Index, former.ID(), keyring.Disabled)
	keys.Refresh()
	if err := column.CheckUnique(); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	with, err := index.WithPrevious(mustIndex(t, "tax_id", nil, 128))
	if err != nil {
		t.Fatal(err)
	}
	if err := mustColumn(t, keys.Keyring, with, blindindex.ColumnOptions{}).CheckUnique(); !errors.As(err, &e) || e.Previous != 1 {
		t.Errorf("during a rebuild: %v", err)
	}
	short := mustColumn(t, keys.Keyring, mustIndex(t, "tax_id", nil, 64), blindindex.ColumnOptions{})
	if err := short.CheckUnique(); !errors.As(err, new(*blindindex.ColumnError)) {
		t.Errorf("64 bits: %v", err)
	}
	if _, err := short.DDL(blindindex.Postgres, "t", blindindex.DDLOptions{Unique: true}); !errors.As(err, new(*blindindex.ColumnError)) {
		t.Errorf("64 bits, DDL: %v", err)
	}
}

func TestAColumnOfSeveralValuesOrParts(t *testing.T) {
	t.Parallel()
	ring := keyringtest.New(t)
	emails := mustColumn(t, ring, mustIndex(t, "email", []string{"casefold"}, 64), blindindex.ColumnOptions{Multi: true})
	got, err := emails.Value([]string{"a@example.com", "A@example.com", "", "b@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if stored, ok := got.(blindindex.StoredArray); !ok || len(stored) != 2 || bytes.Compare(stored[0], stored[1]) >= 0 {
		t.Errorf("stored %x, want two values by their bytes", got)
	}
	if got, err := emails.Value([]string{""}); got != nil || err != nil {
		t.Errorf("nothing to index: %v, %v", got, err)
	}
	compound, err := blindindex.NewCompound("name_birth", [][]string{{"casefold"}, nil}, 128)
	if err != nil {
		t.Fatal(err)
	}
	person := mustColumn(t, ring, compound, blindindex.ColumnOptions{})
	a, err := person.Value("ADA", 18151210)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		values []any
		same   bool
	}{
		"the same":          {[]any{"ada", json.RawMessage("18151210")}, true},
		"another type":      {[]any{"ada", "18151210"}, false},
		"the other way":     {[]any{18151210, "ada"}, false},
		"a part is missing": {[]any{"ada", nil}, false},
	} {
		candidates, err := person.Candidates(c.values...)
		if err != nil {
			t.Fatal(err)
		}
		if found := len(candidates) == 1 && bytes.Equal(candidates[0], a.(blindindex.Stored)); found != c.same {
			t.Errorf("%s: found %v", name, found)
		}
	}
	if _, err := person.Value("ada"); !errors.As(err, new(*blindindex.PartsError)) {
		t.Errorf("one value for two parts: %v", err)
	}
	if _, err := emails.Value("a", "b"); !errors.As(err, new(*blindindex.PartsError)) {
		t.Errorf("two values for none: %v", err)
	}
	if _, err := blindindex.NewColumn(ring, compound, blindindex.ColumnOptions{Multi: true}); !errors.As(err, new(*blindindex.ColumnError)) {
		t.Errorf("a compound array: %v", err)
	}
}

func TestWhatAColumnRefuses(t *testing.T) {
	t.Parallel()
	ring := keyringtest.New(t)
	index := mustIndex(t, "name", nil, 128)
	column := mustColumn(t, ring, index, blindindex.ColumnOptions{})
	const secret = "Vbkjqp"
	for name, value := range map[string]any{
		"a float":              1.5,
		"a boolean":            true,
		"bytes":                []byte(secret),
		"a map":                map[string]string{secret: secret},
		"a slice":              []string{secret},
		"a raw array":          json.RawMessage(`["` + secret + `"]`),
		"a raw object":         json.RawMessage(`{"a":"` + secret + `"}`),
		"raw and no JSON":      json.RawMessage(secret),
		"raw and nothing":      json.RawMessage(nil),
		"no UTF-8":             secret + "\xff",
		"a pointer to a float": new(float64),
	} {
		got, err := column.Value(value)
		if err == nil || got != nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: stored %v, error %v", name, got, err)
		}
		if _, _, err := column.Where(blindindex.Postgres, 1, value); err == nil {
			t.Errorf("%s is searched", name)
		}
	}
	for name, make := range map[string]func() error{
		"no index":   func() error { _, err := blindindex.NewColumn(ring, nil, blindindex.ColumnOptions{}); return err },
		"no keyring": func() error { _, err := blindindex.NewColumn(nil, index, blindindex.ColumnOptions{}); return err },
		"zero byte": func() error {
			_, err := blindindex.NewColumn(ring, index, blindindex.ColumnOptions{Column: "a\x00b"})
			return err
		},
	} {
		if err := make(); !errors.As(err, new(*blindindex.ColumnError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	multi := mustColumn(t, ring, index, blindindex.ColumnOptions{Multi: true})
	for name, make := range map[string]func() error{
		"an unknown dialect":     func() error { _, err := column.DDL("oracle", "t", blindindex.DDLOptions{}); return err },
		"an unknown dialect's ?": func() error { _, _, err := column.Where("oracle", 1, "a"); return err },
		"arrays on SQLite":       func() error { _, err := multi.DDL(blindindex.SQLite, "t", blindindex.DDLOptions{}); return err },
		"a search of such":       func() error { _, _, err := multi.Where(blindindex.SQLite, 1, "a"); return err },
		"concurrently on SQLite": func() error {
			_, err := column.DDL(blindindex.SQLite, "t", blindindex.DDLOptions{Concurrently: true})
			return err
		},
		"a table of three parts": func() error { _, err := column.DDL(blindindex.Postgres, "a.b.c", blindindex.DDLOptions{}); return err },
		"no table":               func() error { _, err := column.DDL(blindindex.Postgres, "", blindindex.DDLOptions{}); return err },
	} {
		if err := make(); !errors.As(err, new(*blindindex.DialectError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesInSQLAreQuoted(t *testing.T) {
	t.Parallel()
	column := mustColumn(t, keyringtest.New(t), mustIndex(t, "name", nil, 128), blindindex.ColumnOptions{Column: `x" OR 1=1 --`})
	ddl, err := column.DDL(blindindex.Postgres, `shop.a"b`, blindindex.DDLOptions{Unique: true, Concurrently: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`ALTER TABLE "shop"."a""b" ADD COLUMN "x"" OR 1=1 --" bytea`,
		`CREATE UNIQUE INDEX CONCURRENTLY "ix_a""b_x"" OR 1=1 --" ON "shop"."a""b" USING btree ("x"" OR 1=1 --") WHERE "x"" OR 1=1 --" IS NOT NULL`,
	}
	if !slices.Equal(ddl, want) {
		t.Errorf("DDL\n%s\nwant\n%s", strings.Join(ddl, "\n"), strings.Join(want, "\n"))
	}
	where, args, err := column.Where(blindindex.Postgres, 3, "a")
	if err != nil || where != `"x"" OR 1=1 --" IN ($3)` || len(args) != 1 {
		t.Errorf("%s %v %v", where, args, err)
	}
	where, args, err = column.Where(blindindex.SQLite, 2, "")
	if err != nil || where != "1 = 0" || len(args) != 0 {
		t.Errorf("%s %v %v", where, args, err)
	}
}
