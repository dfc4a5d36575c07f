package vaultkeyring_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func TestParseURLReadsWhereAKeyringIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]vaultkeyring.Location{
		"vault://secret/fieldcrypt/default?transit=transit/fieldcrypt-default": {
			Mount: "secret", Path: "fieldcrypt/default", TransitMount: "transit", Key: "fieldcrypt-default",
		},
		"vault://secret/one?transit=transit/k":                 {Mount: "secret", Path: "one", TransitMount: "transit", Key: "k"},
		"vault://team%2Fkv/a/b/c?transit=team/sub/transit/k_1": {Mount: "team/kv", Path: "a/b/c", TransitMount: "team/sub/transit", Key: "k_1"},
		"vault://kv/a?transit=team%2Ftransit%2Fk":              {Mount: "kv", Path: "a", TransitMount: "team/transit", Key: "k"},
	} {
		got, err := vaultkeyring.ParseURL(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseURLSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                          "not a vault:// URL",
		"file:x":                                    "not a vault:// URL",
		"vault:secret/a?transit=t/k":                "not a vault:// URL",
		"vault://secret":                            "the path after the KV mount is missing",
		"vault://secret/?transit=t/k":               "the path after the KV mount is missing",
		"vault:///a?transit=t/k":                    "the KV mount is missing",
		"vault://secret/a":                          "transit=MOUNT/KEY is missing",
		"vault://secret/a?":                         "transit=MOUNT/KEY is missing",
		"vault://secret/a?transit=":                 "transit=MOUNT/KEY is missing",
		"vault://secret/a?transit=k":                "want the mount and the key",
		"vault://secret/a?transit=t/":               "the Transit key is missing",
		"vault://secret/a?transit=/k":               "the Transit mount is missing",
		"vault://secret/a?transit=t/k&transit=t/k2": "transit stands 2 times",
		"vault://secret/a?transit=t/k&cas=1":        `"cas" is not known in the query`,
		"vault://secret/a?Transit=t/k":              `"Transit" is not known in the query`,
		"vault://secret/a?transit=%zz":              "the query is badly escaped",
		"vault://secret%zz/a?transit=t/k":           "the KV mount is badly escaped",
		"vault://secret/a#x?transit=t/k":            "a fragment or a user",
		"vault://me:pass@secret/a?transit=t/k":      "a fragment or a user",
		"vault://secret/../sys?transit=t/k":         `the KV path "../sys"`,
		"vault://secret/a//b?transit=t/k":           `the KV path "a//b"`,
		"vault://secret/a/?transit=t/k":             `the KV path "a/"`,
		"vault://secret/a%2Fb?transit=t/k":          `the KV path "a%2Fb"`,
		"vault://secret/a*?transit=t/k":             `the KV path "a*"`,
		"vault://secret/+/b?transit=t/k":            `the KV path "+/b"`,
		"vault://..%2Fsys/b?transit=t/k":            `the KV mount "../sys"`,
		"vault://secret/a?transit=t/../sys/k":       `the Transit mount "t/../sys"`,
		"vault://secret/a\n?transit=t/k":            `the KV path "a\n"`,
		"vault://127.0.0.1:8200/a?transit=t k/k":    `the Transit mount "t k"`,
	} {
		_, err := vaultkeyring.ParseURL(text)
		var e *vaultkeyring.URLError
		if !errors.As(err, &e) || !strings.Contains(e.Detail, want) {
			t.Errorf("%q: %v, want a *URLError that says %q", text, err, want)
			continue
		}
		if strings.Contains(err.Error(), "pass") || strings.Contains(err.Error(), "\n") || !strings.Contains(e.Hint(), "vault://MOUNT/PATH?transit=MOUNT/KEY") {
			t.Errorf("%q: the error %q or its hint %q is not fit to be shown", text, err, e.Hint())
		}
	}
}

func TestNewRefusesALocationThatParseURLWouldRefuse(t *testing.T) {
	t.Parallel()
	for _, l := range []vaultkeyring.Location{
		{},
		{Mount: "secret", Path: "../sys", TransitMount: "transit", Key: "k"},
		{Mount: "secret", Path: "a", TransitMount: "transit", Key: "a/b"},
	} {
		var e *vaultkeyring.URLError
		if _, err := vaultkeyring.New(l, vaultkeyring.Options{}); !errors.As(err, &e) {
			t.Errorf("%+v: %v, want a *URLError", l, err)
		}
	}
}

func TestALocationAsURLIsReadBackAsItself(t *testing.T) {
	t.Parallel()
	segment := rapid.StringMatching(`[A-Za-z0-9_~=:-][A-Za-z0-9_.~=:-]{0,8}`)
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		l := vaultkeyring.Location{
			Mount: path.Draw(t, "mount"), Path: path.Draw(t, "path"),
			TransitMount: path.Draw(t, "transit"), Key: segment.Draw(t, "key"),
		}
		got, err := vaultkeyring.ParseURL(l.String())
		if err != nil || got != l {
			t.Fatalf("%s is read as %+v (%v), want %+v", l, got, err, l)
		}
	})
}

func FuzzParseURL(f *testing.F) {
	f.Add("vault://secret/fieldcrypt/default?transit=transit/fieldcrypt-default")
	f.Add("vault://team%2Fkv/a/b?transit=a%2Fb/c")
	f.Add("vault://secret/a?transit=t/k&x=1")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := vaultkeyring.ParseURL(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x00") {
				t.Errorf("the error %q holds a control character", err)
			}
			return
		}
		for _, part := range []string{l.Mount, l.Path, l.TransitMount, l.Key} {
			for segment := range strings.SplitSeq(part, "/") {
				if segment == "" || segment == "." || segment == ".." {
					t.Errorf("%q gives %+v, whose path would be cleaned into another one", text, l)
				}
			}
		}
		if again, err := vaultkeyring.ParseURL(l.String()); err != nil || again != l {
			t.Errorf("%s is read as %+v (%v), want %+v", l, again, err, l)
		}
	})
}
