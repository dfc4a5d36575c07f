package blindindex

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func mustCompound(t *testing.T, parts [][]string, bits int) *Index {
	t.Helper()
	ix, err := NewCompound("both", parts, bits)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func asked(values ...string) []Asked {
	all := make([]Asked, len(values))
	for i, v := range values {
		all[i] = Asked{Text: v, String: true, Integer: true}
	}
	return all
}

func TestSearchAsksForKeysTypesAndVersions(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	ring.Rotate(keyring.Index)
	keys := ring.Keyring.Usable(keyring.Index)
	if len(keys) != 2 {
		t.Fatalf("%d keys", len(keys))
	}
	current := mustIndex(t, "tax_id", []string{"digits"}, 64)
	with, err := current.WithPrevious(mustIndex(t, "tax_id", nil, 64), mustIndex(t, "tax_id", []string{"trim"}, 128))
	if err != nil {
		t.Fatal(err)
	}
	search, err := with.Search(asked(" 7")...)
	if err != nil {
		t.Fatal(err)
	}
	candidates, err := search.Candidates(keys)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	for _, version := range with.Versions() {
		for _, key := range keys {
			for _, json := range []string{`" 7"`} { // " 7" is no JSON number
				messages, err := version.Messages([]byte(json))
				if err != nil {
					t.Fatal(err)
				}
				value, err := version.Value(key, messages[0])
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, value)
			}
		}
	}
	slices.SortFunc(want, bytes.Compare)
	if !slices.EqualFunc(candidates, want, bytes.Equal) {
		t.Errorf("got %x, want %x", candidates, want)
	}
	search, err = with.Search(asked("7")...)
	if err != nil {
		t.Fatal(err)
	}
	if candidates, err = search.Candidates(keys); err != nil || len(candidates) != 2*3*2 {
		t.Errorf("%d candidates of 2 keys, 3 versions and 2 types; %v", len(candidates), err)
	}
	if got := fmt.Sprintf("%q", search.Messages()); got != `["i7" "s7"]` {
		t.Errorf("messages %s", got)
	}
	both := mustCompound(t, [][]string{nil, {"trim"}, nil}, 0)
	if search, err = both.Search(asked("1", "x", "2")...); err != nil || len(search.Messages()) != 4 {
		t.Errorf("a compound of 3 parts, 2 of them of both types: %q, %v", search.Messages(), err)
	}
	if search, err = both.Search(asked("1", " ", "2")...); err != nil || len(search.Messages()) != 0 {
		t.Errorf("a blank part: %q, %v", search.Messages(), err)
	}
}

func TestSearchTakesOneValueForEachPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		index  *Index
		values []Asked
	}{
		{mustIndex(t, "x", nil, 0), nil},
		{mustIndex(t, "x", nil, 0), asked("a", "b")},
		{mustCompound(t, [][]string{nil, nil}, 0), asked("a")},
		{mustCompound(t, [][]string{nil, nil}, 0), asked("a", "b", "c")},
	} {
		var parts *PartsError
		if _, err := c.index.Search(c.values...); !errors.As(err, &parts) {
			t.Errorf("%d values for %d parts: %v", len(c.values), c.index.Parts(), err)
		}
	}
	if got := mustCompound(t, [][]string{nil, nil}, 0).Query("a", true, true); got != nil {
		t.Errorf("a query of one text on a compound index: %q", got)
	}
}

func TestPreviousVersionsAreOtherVersionsOfTheIndex(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", []string{"trim"}, 64)
	for name, previous := range map[string][]*Index{
		"nil":              {nil},
		"another name":     {mustIndex(t, "y", nil, 64)},
		"itself":           {mustIndex(t, "x", []string{"trim"}, 64)},
		"one twice":        {mustIndex(t, "x", nil, 64), mustIndex(t, "x", nil, 64)},
		"a compound index": {mustCompound(t, [][]string{nil, nil}, 64)},
	} {
		var refused *PreviousError
		if _, err := ix.WithPrevious(previous...); !errors.As(err, &refused) || refused.Position != len(previous)-1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	with, err := ix.WithPrevious(mustIndex(t, "x", nil, 64))
	if err != nil || len(with.Previous()) != 1 || len(ix.Previous()) != 0 {
		t.Errorf("%v", err)
	}
}

func TestNewCompoundRefuses(t *testing.T) {
	t.Parallel()
	var parts *PartsError
	for _, steps := range [][][]string{nil, {nil}, make([][]string, 1<<16)} {
		if _, err := NewCompound("x", steps, 0); !errors.As(err, &parts) {
			t.Errorf("%d parts: %v", len(steps), err)
		}
	}
	var unknown *UnknownStepError
	if _, err := NewCompound("x", [][]string{nil, {"soundex"}}, 0); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
	var name *NameError
	if _, err := NewCompound("X", [][]string{nil, nil}, 0); !errors.As(err, &name) {
		t.Errorf("%v", err)
	}
	ix := mustCompound(t, [][]string{nil, nil}, 0)
	if _, err := ix.PartMessage(2, []byte(`"a"`)); !errors.As(err, &parts) {
		t.Errorf("%v", err)
	}
	if _, err := ix.Join([][]byte{[]byte("sa")}); !errors.As(err, &parts) {
		t.Errorf("%v", err)
	}
	var message *MessageError
	if _, err := ix.Join([][]byte{[]byte("sa"), []byte("a")}); !errors.As(err, &message) {
		t.Errorf("%v", err)
	}
	key := indexKey(t, keyringtest.New(t, keyringtest.Options{}))
	for _, bad := range []string{"", "c", "sa", "c\x00\x02", "c\x00\x01\x00\x00\x00\x02sa", "c\x00\x02\x00\x00\x00\x02sa", "c\x00\x02\x00\x00\x00\x02sa\x00\x00\x00\x02sbx", "c\x00\x02\x00\x00\x00\x02sa\xff\xff\xff\xffsb",
		"c\x00\x02\x00\x00\x00\x02sa\x00\x00\x00\x01s"} {
		if _, err := ix.Value(key, []byte(bad)); !errors.As(err, &message) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := mustIndex(t, "x", nil, 0).Value(key, []byte("c\x00\x02\x00\x00\x00\x02sa\x00\x00\x00\x02sb")); !errors.As(err, &message) {
		t.Errorf("a compound's message in a simple index: %v", err)
	}
}

// Two lists of parts have one message only if they are equal, and it is taken apart as it was joined.
func TestCompoundMessagesAreInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "n")
		draw := func(name string) [][]byte {
			parts := make([][]byte, n)
			for i := range parts {
				text := rapid.StringOfN(rapid.RuneFrom([]rune{'s', 'i', 'c', 0, 1, 2, 'ş'}), 1, 6, -1).Draw(t, name)
				parts[i] = append([]byte{rapid.SampledFrom([]byte{stringMessage, integerMessage}).Draw(t, "type")}, text...)
			}
			return parts
		}
		ix := &Index{name: "x", parts: make([]*Normalizer, n)}
		a, b := draw("a"), draw("b")
		if bytes.Equal(join(a), join(b)) != slices.EqualFunc(a, b, bytes.Equal) {
			t.Fatalf("%q and %q", a, b)
		}
		apart, ok := ix.split(join(a))
		if !ok || !slices.EqualFunc(apart, a, bytes.Equal) {
			t.Fatalf("%q is taken apart as %q", a, apart)
		}
	})
}

func TestSlowHashDependsOnKeyIndexAndParameters(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	ring.Rotate(keyring.Index)
	seen := map[string]string{}
	for _, key := range ring.Keyring.Usable(keyring.Index) {
		for name, ix := range map[string]*Index{
			"a 1":        mustIndex(t, "a", []string{"argon2id(1,1024)"}, 256),
			"a 2":        mustIndex(t, "a", []string{"argon2id(2,1024)"}, 256),
			"a 2048":     mustIndex(t, "a", []string{"argon2id(1,2048)"}, 256),
			"b 1":        mustIndex(t, "b", []string{"argon2id(1,1024)"}, 256),
			"trim":       mustIndex(t, "a", []string{"trim", "argon2id(1,1024)"}, 256),
			"fast":       mustIndex(t, "a", nil, 256),
			"other bits": mustIndex(t, "a", []string{"argon2id(1,1024)"}, 128),
		} {
			hashed, err := ix.slowed(key, []byte("sx"))
			if err != nil {
				t.Fatal(err)
			}
			if name == "fast" {
				if string(hashed) != "sx" {
					t.Errorf("%q", hashed)
				}
				continue
			}
			if len(hashed) != 33 || hashed[0] != 'a' {
				t.Errorf("%s: %x", name, hashed)
			}
			if other, twice := seen[string(hashed)]; twice {
				t.Errorf("%s and %s hash alike", name, other)
			}
			seen[string(hashed)] = name
		}
	}
	both := mustCompound(t, [][]string{{"argon2id(1,1024)"}, nil}, 0)
	message, err := both.Join([][]byte{[]byte("sx"), []byte("sy")})
	if err != nil {
		t.Fatal(err)
	}
	key := ring.Keyring.Usable(keyring.Index)[0]
	hashed, err := both.slowed(key, message)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(hashed, []byte("c\x00\x02\x00\x00\x00\x21a")) || !bytes.HasSuffix(hashed, []byte("\x00\x00\x00\x02sy")) {
		t.Errorf("%q", hashed)
	}
}
