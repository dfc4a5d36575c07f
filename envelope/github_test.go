package envelope_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Real payloads over their own schema, which nobody here wrote: see testdata/github/README.md.

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/github/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// flaggedNames are the members that the tests below flag at every depth.
var flaggedNames = []string{"email", "name", "login"}

// everyDepth flags the names wherever they stand, whatever the schema that describes the place.
const everyDepth = `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"any": {
	"properties": {"email": {"x-gdpr-sensitive": true}, "name": {"x-gdpr-sensitive": true}, "login": {"x-gdpr-sensitive": true}},
	"additionalProperties": {"$ref": "#/definitions/any"}, "items": {"$ref": "#/definitions/any"}}}}`

// webhook is one example payload.
type webhook struct {
	event   string
	n       int
	payload []byte
}

// webhooks loads the payloads and makes one event schema for each event, of GitHub's own definition and what wrap adds.
func webhooks(t *testing.T, wrap func(definition string, schemaText []byte) string) (*schema.Registry, []webhook) {
	t.Helper()
	schemaText := gunzip(t, "schema.json.gz")
	var definitions struct {
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(schemaText, &definitions); err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name     string            `json:"name"`
		Examples []json.RawMessage `json:"examples"`
	}
	if err := json.Unmarshal(gunzip(t, "examples.json.gz"), &events); err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"github.json": {Data: schemaText}, "everydepth.json": {Data: []byte(everyDepth)}}
	var hooks []webhook
	for _, e := range events {
		definition := e.Name + "_event"
		if definitions.Definitions[definition] == nil {
			definition = e.Name + "$event"
		}
		if definitions.Definitions[definition] == nil {
			t.Fatalf("no definition of event %s", e.Name)
		}
		fsys[e.Name+".v1.json"] = &fstest.MapFile{Data: []byte(wrap(definition, schemaText))}
		for i, p := range e.Examples {
			hooks = append(hooks, webhook{e.Name, i, p})
		}
	}
	reg, err := schema.LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return reg, hooks
}

// leaves calls fn with each string of a decoded value, and with whether it stands at or below one of the flagged names.
func leaves(v any, flagged bool, fn func(s string, flagged bool)) {
	switch v := v.(type) {
	case string:
		fn(v, flagged)
	case []any:
		for _, c := range v {
			leaves(c, flagged, fn)
		}
	case map[string]any:
		for name, c := range v {
			leaves(c, flagged || slices.Contains(flaggedNames, name), fn)
		}
	}
}

// flaggedValues lists the values at the flagged names, the outermost where they nest.
func flaggedValues(v any) []any {
	var list []any
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			list = append(list, flaggedValues(c)...)
		}
	case map[string]any:
		for name, c := range v {
			if slices.Contains(flaggedNames, name) {
				list = append(list, c)
			} else {
				list = append(list, flaggedValues(c)...)
			}
		}
	}
	return list
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

var tokenPattern = regexp.MustCompile(`^fc1:(?:[0-9a-f]{8}|s[0-9a-f]{16}):[A-Za-z0-9_-]{59,}$`)

// secretLen is the length from which a flagged value is looked for in what leaves.
const secretLen = 6

func TestGitHubWebhooksSealAndOpen(t *testing.T) {
	t.Parallel()
	reg, hooks := webhooks(t, func(definition string, _ []byte) string {
		return fmt.Sprintf(`{"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "github.json#/definitions/%s"}, {"$ref": "everydepth.json#/definitions/any"}]}`, definition)
	})
	rings := keyringtest.NewSet(t, "default")
	sealer, err := envelope.NewSealer(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opener, err := envelope.NewOpener(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealed, tokens, secrets, repeated := 0, 0, 0, 0
	reasons := map[string]int{}
	for _, hook := range hooks {
		plain := decode(t, hook.payload)
		event := envelope.Event{Type: hook.event, AggregateID: "1", Payload: hook.payload}
		s, err := sealer.Seal(context.Background(), event)
		if err != nil {
			checkRefusal(t, hook, plain, err)
			reasons[reason(err)]++
			continue
		}
		sealed++
		wire := decode(t, s.Wire().Payload)
		for _, v := range flaggedValues(wire) {
			token, ok := v.(string)
			if !ok || !tokenPattern.MatchString(token) {
				t.Fatalf("%s %d: a flagged location holds no token", hook.event, hook.n)
			}
			tokens++
		}
		n, r := checkSecrets(t, hook, plain, wire, s.Wire().Payload)
		secrets, repeated = secrets+n, repeated+r
		received, err := envelope.Parse(s.Wire(), envelope.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := opener.Open(context.Background(), received, envelope.OpenOptions{})
		if err != nil {
			t.Fatalf("%s %d: %v", hook.event, hook.n, err)
		}
		if !bytes.Equal(opened.Event.Payload, hook.payload) || len(opened.StillSealed) != 0 {
			t.Fatalf("%s %d: opened to other bytes", hook.event, hook.n)
		}
	}
	t.Logf("%d payloads: %d validate, %d do not", len(hooks), sealed, len(hooks)-sealed)
	for r, n := range reasons {
		t.Logf("refused: %3d × %s", n, r)
	}
	t.Logf("%d tokens; %d flagged strings of %d bytes or more, of which %d also stand in a clear field", tokens, secrets, secretLen, repeated)
	got := fmt.Sprint(len(hooks), sealed, tokens, secrets, repeated)
	if want := "329 276 1974 1842 1672"; got != want {
		t.Errorf("payloads, sealed, tokens, flagged strings, repeated: %s, want %s", got, want)
	}
}

// reason says which keywords a refusal is about.
func reason(err error) string {
	var invalid *schema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	keywords := map[string]bool{}
	for _, v := range invalid.Violations {
		keywords[v.Keyword+": "+v.Message] = true
	}
	var list []string
	for k := range keywords {
		list = append(list, k)
	}
	slices.Sort(list)
	return strings.Join(list[:min(3, len(list))], "; ")
}

// checkRefusal holds that a refusal is the validator's, and that it holds no flagged value.
func checkRefusal(t *testing.T, hook webhook, plain any, err error) {
	t.Helper()
	var invalid *schema.ValidationError
	if !errors.As(err, &invalid) {
		t.Fatalf("%s %d: refused by something else than the schema: %v", hook.event, hook.n, err)
	}
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	for _, v := range invalid.Violations {
		text += fmt.Sprintf(" %v %+v", v, &v)
	}
	leaves(plain, false, func(s string, flagged bool) {
		// A short word such as an app's name may be a word of the message; the longer ones cannot.
		if flagged && len(s) >= 2*secretLen && strings.Contains(text, s) {
			t.Fatalf("%s %d: the refusal holds a flagged value: %s", hook.event, hook.n, text)
		}
	})
}

// checkSecrets holds that no flagged string stands in the wire form, unless it also stands in a clear field.
func checkSecrets(t *testing.T, hook webhook, plain, wire any, text []byte) (secrets, repeated int) {
	t.Helper()
	var clear []string
	leaves(wire, false, func(s string, flagged bool) {
		if !flagged {
			clear = append(clear, s)
		}
	})
	names := map[string]bool{}
	memberNames(wire, names)
	leaves(plain, false, func(s string, flagged bool) {
		if !flagged || len(s) < secretLen {
			return
		}
		secrets++
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(s)) && !bytes.Contains(text, quoted[1:len(quoted)-1]) {
			return
		}
		inClear := slices.ContainsFunc(clear, func(c string) bool { return strings.Contains(c, s) })
		for name := range names {
			inClear = inClear || strings.Contains(name, s)
		}
		if !inClear {
			t.Fatalf("%s %d: a flagged value stands in the wire form", hook.event, hook.n)
		}
		repeated++
	})
	return secrets, repeated
}

func memberNames(v any, names map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			memberNames(c, names)
		}
	case map[string]any:
		for name, c := range v {
			names[name] = true
			memberNames(c, names)
		}
	}
}

// TestLawGitHubWebhooksThroughAnOverlay flags the same names where GitHub's own definitions spell them, without touching the schema.
func TestLawGitHubWebhooksThroughAnOverlay(t *testing.T) {
	t.Parallel()
	var overlay []byte
	reg, hooks := webhooks(t, func(definition string, text []byte) string {
		if overlay == nil {
			targets := map[string]map[string]bool{}
			spelled(decode(t, text), "", targets)
			var err error
			if overlay, err = json.Marshal(targets); err != nil {
				t.Fatal(err)
			}
		}
		return fmt.Sprintf(`{"$schema": "http://json-schema.org/draft-07/schema#", "x-gdpr-undeclared": "clear", "x-gdpr-overlay": %s, "allOf": [{"$ref": "github.json#/definitions/%s"}]}`, overlay, definition)
	})
	rings := keyringtest.NewSet(t, "default")
	sealer, err := envelope.NewSealer(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opener, err := envelope.NewOpener(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealed, tokens, leaks := 0, 0, 0
	checks := map[string]*wireCheck{}
	for i, hook := range hooks {
		s, err := sealer.Seal(context.Background(), envelope.Event{Type: hook.event, AggregateID: "1", Payload: hook.payload})
		if err != nil {
			continue // counted by the test above
		}
		sealed++
		if i%lawScale == 0 {
			if checks[hook.event] == nil {
				checks[hook.event] = newWireCheck(t, reg, hook.event)
			}
			leaks += checks[hook.event].add(t, s.Wire().Payload, hook.payload, 2)
		}
		leaves(decode(t, s.Wire().Payload), false, func(s string, _ bool) {
			if tokenPattern.MatchString(s) {
				tokens++
			}
		})
		received, err := envelope.Parse(s.Wire(), envelope.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := opener.Open(context.Background(), received, envelope.OpenOptions{})
		if err != nil || !bytes.Equal(opened.Event.Payload, hook.payload) {
			t.Fatalf("%s %d: did not open to the same bytes: %v", hook.event, hook.n, err)
		}
	}
	askAjv(t, slices.Collect(maps.Values(checks))...)
	t.Logf("%d payloads of %d event types sealed, %d tokens; by the wire schemas they pass, and %d with one token put back do not", sealed, len(checks), tokens, leaks)
	if sealed != 276 || tokens != 1974 {
		t.Errorf("%d payloads sealed with %d tokens, want 276 with 1974, as with flags at every depth", sealed, tokens)
	}
}

// spelled collects the places of the flagged names in a schema, as an overlay.
func spelled(v any, pointer string, targets map[string]map[string]bool) {
	switch v := v.(type) {
	case []any:
		for i, c := range v {
			spelled(c, fmt.Sprintf("%s/%d", pointer, i), targets)
		}
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for _, name := range flaggedNames {
				if properties[name] != nil {
					targets["github.json#"+pointer+"/properties/"+name] = map[string]bool{"x-gdpr-sensitive": true}
				}
			}
		}
		for name, c := range v {
			spelled(c, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), targets)
		}
	}
}
