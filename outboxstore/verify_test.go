package outboxstore

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// In whatever order they come, the lowest distinct ids are kept, sorted.
func TestInsertFirstKeepsTheLowest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.Map(rapid.IntRange(0, 30), func(n int) string { return fmt.Sprintf("%02d", n) })).Draw(t, "ids")
		n := rapid.IntRange(1, 5).Draw(t, "n")
		var kept []string
		for _, id := range all {
			kept = insertFirst(kept, id, n)
		}
		slices.Sort(all)
		want := slices.Compact(all)
		want = want[:min(n, len(want))]
		if !slices.Equal(kept, want) {
			t.Errorf("kept %v, want %v", kept, want)
		}
	})
}

func TestKeyIDFault(t *testing.T) {
	t.Parallel()
	needed := []string{"index:00000007", "seal:0f3a9c01"}
	for name, c := range map[string]struct {
		keyIDs []string
		want   string
	}{
		"all":     {[]string{"index:00000007", "seal:0f3a9c01"}, ""},
		"lacking": {[]string{"index:00000007"}, "key_ids lacks seal:0f3a9c01"},
		"none":    {nil, "key_ids lacks index:00000007, seal:0f3a9c01"},
		"in vain": {[]string{"index:00000007", "seal:0f3a9c01", "secret"}, "key_ids names keys that nothing in the row needs"},
	} {
		s := stored()
		s.KeyIDs = c.keyIDs
		if got := keyIDFault(NewRow(s, envelope.Limits{}), needed); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
