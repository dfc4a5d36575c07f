package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// formatSamples are texts that a format takes and texts that it refuses.
type formatSamples struct{ good, bad []string }

func samplesOfFormats() map[string]formatSamples {
	ipv4 := formatSamples{[]string{"192.0.2.1", "0.0.0.0"}, []string{"192.0.2", "192.0.2.256", "192.0.02.1", "a.b.c.d", ""}}
	uri := formatSamples{[]string{"https://example.org/a?b#c", "urn:isbn:0451450523", "mailto:ada@example.org"}, []string{"/relative", "//example.org", "a b", ""}}
	uriReference := formatSamples{[]string{"/relative", "#fragment", "https://example.org", ""}, []string{`\\host\share`, "http://[::1", "%zz"}}
	return map[string]formatSamples{
		"date-time":     {[]string{"2026-11-30T12:00:00Z", "2026-11-30t12:00:00.25+03:00", "1998-12-31T23:59:60Z"}, []string{"2026-11-30", "2026-11-30 12:00:00Z", "2026-02-30T12:00:00Z", "2026-11-30T12:00:00", ""}},
		"date":          {[]string{"2026-11-30", "2024-02-29"}, []string{"2026-02-29", "30.11.2026", "2026-1-1", ""}},
		"time":          {[]string{"12:00:00Z", "23:59:60Z", "12:00:00.5+03:00"}, []string{"12:00", "24:00:00Z", "12:00:00", ""}},
		"duration":      {[]string{"P1Y2M3DT4H5M6S", "PT5M", "P3W"}, []string{"P", "1Y", "PT", "P1", ""}},
		"period":        {[]string{"2026-11-30T12:00:00Z/P1D", "P1D/2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z/2026-12-01T12:00:00Z"}, []string{"2026-11-30T12:00:00Z", "P1D/P1D", ""}},
		"hostname":      {[]string{"example.org", "a-b.example", "xn--bcher-kva.example"}, []string{"-a.example", "a-.example", "a_b", "ü.example", ""}},
		"email":         {[]string{"ada@example.org", "ada+x@[192.0.2.1]", `"a b"@example.org`}, []string{"ada", "ada@", "@example.org", "ada@exa mple.org", ""}},
		"ip-address":    ipv4,
		"ipv4":          ipv4,
		"ipv6":          {[]string{"2001:db8::1", "::", "::ffff:192.0.2.1"}, []string{"192.0.2.1", "2001:db8::1::2", "12345::", ""}},
		"uri":           uri,
		"iri":           uri,
		"uri-reference": uriReference,
		"uriref":        uriReference,
		"iri-reference": uriReference,
		"regex":         {[]string{"^a+$", "[0-9]{2}", ""}, []string{"(", "[", "a{2,1}", "(?=a)"}},
		"json-pointer":  {[]string{"", "/a/b", "/a~1b~0c"}, []string{"a", "/a~2", "/a~", "#/a"}},
		"uuid":          {[]string{"0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55", "0190B8F0-5D1C-7A33-8F2E-1C0D9A3B7E55"}, []string{"0190b8f05d1c7a338f2e1c0d9a3b7e55", "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e5g", ""}},
		"uri-template": {[]string{"https://api.example.org/repos{/owner,repo:3}{?q*,r}{&s}", "{/owner}", "{+path}/here{#frag}", "{;x,y}{.z}", "plain", "", "ü/{a.b}/{%41}"},
			[]string{"{", "}", "{}", "{/}", "{a", "a}", "{{a}}", "{a:0}", "{a:10000}", "{a b}", "{a..b}", "{=a}", "a b", "<a>"}},
		"relative-json-pointer": {[]string{"0", "1/a", "0#", "12/a~1b"}, []string{"", "/a", "-1", "01", "1#a", "0a"}},
	}
}

// Every format that is known is asserted in every draft, of strings alone; which texts it takes is the same in all.
func TestEveryFormatIsAssertedInEveryDraft(t *testing.T) {
	t.Parallel()
	table := samplesOfFormats()
	checks := 0
	for _, format := range knownFormats() {
		samples, ok := table[format]
		if !ok {
			t.Errorf("no samples of %s", format)
			continue
		}
		delete(table, format)
		for _, draft := range []string{"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
			"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"} {
			reg, err := LoadFS(fstest.MapFS{"a.v1.json": {Data: fmt.Appendf(nil, `{"$schema": %q, "format": %q}`, draft, format)}})
			if err != nil {
				t.Fatal(err)
			}
			if len(reg.Findings()) != 0 {
				t.Errorf("findings %v", reg.Findings())
			}
			e, err := reg.Event("a", 1)
			if err != nil {
				t.Fatal(err)
			}
			check := func(payload string, want bool) {
				checks++
				if got := e.Validate([]byte(payload)) == nil; got != want {
					t.Errorf("%s in %s: %s: %t, want %t", format, draft, payload, got, want)
				}
			}
			quote := func(s string) string {
				text, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			for _, s := range samples.good {
				check(quote(s), true)
			}
			for _, s := range samples.bad {
				check(quote(s), false)
			}
			for _, s := range []string{"1", "null", "true", "{}", "[]"} {
				check(s, true)
			}
		}
	}
	for format := range table {
		t.Errorf("samples of %s, which is not known", format)
	}
	t.Logf("%d checks of %d formats", checks, len(knownFormats()))
}

func TestTheVocabularyListsTheFormats(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/vocabulary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "Formats that are checked:")
	if !found {
		t.Fatal("no list of formats")
	}
	list, _, _ = strings.Cut(list, ". ")
	var names []string
	for _, m := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	if !slices.Equal(names, knownFormats()) {
		t.Errorf("the document lists %v\nchecked are         %v", names, knownFormats())
	}
}
