package envelope_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Schemas that others published, flagged by overlays that do not touch them: FHIR R4 (3.4 MB, recursive) and JSON Resume (open). Each event is
// sealed, checked by the derived wire schema and opened to the same bytes.

// published seals and opens events of a registry.
type published struct {
	reg    *schema.Registry
	sealer *envelope.Sealer
	opener *envelope.Opener
}

func newPublished(t *testing.T, fsys fstest.MapFS) *published {
	t.Helper()
	reg, err := schema.LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	rings := keyringtest.NewSet(t, "default")
	p := &published{reg: reg}
	if p.sealer, err = envelope.NewSealer(reg, rings, envelope.Options{}); err != nil {
		t.Fatal(err)
	}
	if p.opener, err = envelope.NewOpener(reg, rings, envelope.Options{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// roundTrip seals a payload, holds that around the tokens its bytes stand, opens it to the same bytes, and gives the wire form and the pointers of
// its tokens.
func (p *published) roundTrip(t *testing.T, typ string, payload []byte) (wire []byte, tokens []string) {
	t.Helper()
	s, err := p.sealer.Seal(context.Background(), envelope.Event{Type: typ, AggregateID: "1", Payload: payload})
	if err != nil {
		t.Fatalf("%s: %v\n%.2000s", typ, err, payload)
	}
	wire = s.Wire().Payload
	tokens, restored := restore(t, wire, payload)
	if !bytes.Equal(restored, payload) {
		t.Fatalf("%s: around the tokens stand other bytes than the payload's", typ)
	}
	received, err := envelope.Parse(s.Wire(), envelope.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := p.opener.Open(context.Background(), received, envelope.OpenOptions{})
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	if len(opened.StillSealed) > 0 || !bytes.Equal(opened.Event.Payload, payload) {
		t.Fatalf("%s: opened to other bytes", typ)
	}
	return wire, tokens
}

// npmFile reads a file of a published package.
func npmFile(t *testing.T, name ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{testenv.NodeModules(t), "node_modules"}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fhirFlags are the words of the overlays: names, addresses and telecom wherever their types stand, and every birth date.
func fhirFlags(t *testing.T, fhir []byte) map[string]map[string]bool {
	t.Helper()
	var s struct {
		Definitions map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(fhir, &s); err != nil {
		t.Fatal(err)
	}
	flag := map[string]bool{"x-gdpr-sensitive": true}
	flags := map[string]map[string]bool{
		"fhir.json#/definitions/HumanName": flag, "fhir.json#/definitions/Address": flag, "fhir.json#/definitions/ContactPoint": flag,
	}
	for name, d := range s.Definitions {
		for _, property := range []string{"birthDate", "_birthDate"} {
			if d.Properties[property] != nil {
				flags["fhir.json#/definitions/"+name+"/properties/"+property] = flag
			}
		}
	}
	if len(flags) < 8 {
		t.Fatalf("only %d flags", len(flags))
	}
	return flags
}

// personal lists where a FHIR resource holds names, addresses, telecom and birth dates, by what the values are.
func personal(v any, pointer, name string, list *[]string) {
	switch v := v.(type) {
	case []any:
		for i, c := range v {
			personal(c, fmt.Sprintf("%s/%d", pointer, i), name, list)
		}
	case map[string]any:
		has := func(names ...string) bool {
			return !slices.ContainsFunc(names, func(n string) bool { _, there := v[n]; return !there })
		}
		if name == "_birthDate" || has("family", "given") || has("line", "city") || name == "telecom" && has("system", "value") {
			*list = append(*list, pointer)
			return
		}
		for _, n := range slices.Sorted(maps.Keys(v)) {
			personal(v[n], pointer+"/"+n, n, list)
		}
	default:
		if name == "birthDate" {
			*list = append(*list, pointer)
		}
	}
}

// covers holds that the tokens stand at the personal values and nowhere else. A contained resource may be of any type, and the Plan takes all of
// them together: where one has an address and another a list of addresses, the list is sealed whole.
func covers(tokens, values []string) bool {
	used := map[string]bool{}
	for _, v := range values {
		i := slices.IndexFunc(tokens, func(t string) bool {
			return t == v || strings.HasPrefix(t, "/contained/") && strings.HasPrefix(v, t+"/")
		})
		if i < 0 {
			return false
		}
		used[tokens[i]] = true
	}
	return len(used) == len(tokens)
}

// fhirPeople is how many patients, practitioners and encounters are made; every fifth is Turkish.
const fhirPeople = 25

// fhirResources makes them, by type.
func fhirResources(t *testing.T) map[string][][]byte {
	t.Helper()
	script, err := os.ReadFile("testdata/fhir/people.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "-e", string(script), fmt.Sprint(fhirPeople))
	cmd.Dir = testenv.NodeModules(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v %s", err, stderr.Bytes())
	}
	resources := map[string][][]byte{}
	for line := range bytes.Lines(out) {
		line = bytes.TrimSpace(line)
		var kind struct{ ResourceType string }
		if err := json.Unmarshal(line, &kind); err != nil {
			t.Fatal(err)
		}
		resources[kind.ResourceType] = append(resources[kind.ResourceType], line)
	}
	return resources
}

func TestLawFHIRResourcesSealAndOpen(t *testing.T) {
	t.Parallel()
	fhir := npmFile(t, "@asymmetrik", "fhir-json-schema-validator", "fhir.schema.json")
	overlay, err := json.Marshal(fhirFlags(t, fhir))
	if err != nil {
		t.Fatal(err)
	}
	resources := fhirResources(t)
	for _, typ := range []string{"Patient", "Practitioner", "Encounter"} { // one after the other: each takes some hundred MB
		begin := time.Now()
		p := newPublished(t, fstest.MapFS{
			"fhir.json":      {Data: fhir},
			typ + ".v1.json": {Data: fmt.Appendf(nil, `{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "fhir.json#/definitions/%s", "x-gdpr-overlay": %s}`, typ, overlay)},
		})
		loaded := time.Since(begin)
		check := newWireCheck(t, p.reg, typ)
		tokens, leaks := 0, 0
		for _, resource := range resources[typ] {
			wire, at := p.roundTrip(t, typ, resource)
			var want []string
			personal(decode(t, resource), "", "", &want)
			if !covers(at, want) {
				t.Fatalf("%s: tokens at\n%s\nwant\n%s", typ, strings.Join(at, "\n"), strings.Join(want, "\n"))
			}
			tokens += len(at)
			leaks += check.add(t, wire, resource, 10/lawScale)
		}
		if typ == "Patient" && lawScale == 1 {
			askAjv(t, check) // which takes 15 s to compile one of these schemas
		}
		t.Logf("%s: loaded in %v; %d resources, %d tokens; by the wire schema they pass, and %d with one token put back do not", typ, loaded.Round(time.Millisecond), len(resources[typ]), tokens, leaks)
		if len(resources[typ]) != fhirPeople || tokens < fhirPeople {
			t.Errorf("%s: %d resources with %d tokens", typ, len(resources[typ]), tokens)
		}
	}
}

// resumeFlags are the words of the overlay on JSON Resume's own schema.
const resumeFlags = `"x-gdpr-overlay": {
	"resume.json#/properties/basics/properties/name": {"x-gdpr-sensitive": true},
	"resume.json#/properties/basics/properties/email": {"x-gdpr-sensitive": true},
	"resume.json#/properties/basics/properties/phone": {"x-gdpr-sensitive": true},
	"resume.json#/properties/basics/properties/image": {"x-gdpr-sensitive": true},
	"resume.json#/properties/basics/properties/url": {"x-gdpr-sensitive": true},
	"resume.json#/properties/basics/properties/location": {"x-gdpr-sensitive": true},
	"resume.json#/properties/basics/properties/profiles/items/properties/username": {"x-gdpr-sensitive": true},
	"resume.json#/properties/basics/properties/profiles/items/properties/url": {"x-gdpr-sensitive": true},
	"resume.json#/properties/references/items/properties/name": {"x-gdpr-sensitive": true},
	"resume.json#/properties/references/items/properties/reference": {"x-gdpr-sensitive": true}}`

func TestJSONResumeSealsAndOpensUnderEachPolicy(t *testing.T) {
	t.Parallel()
	resume := npmFile(t, "@jsonresume", "schema", "schema.json")
	samples := [][]byte{npmFile(t, "@jsonresume", "schema", "sample.resume.json")}
	for _, name := range []string{"career-changer", "new-grad", "senior-engineer"} {
		samples = append(samples, npmFile(t, "@jsonresume", "schema", "examples", name+".resume.json"))
	}
	for _, sample := range slices.Clone(samples) { // and each with what a schema that is open lets in
		text := bytes.TrimSpace(sample)
		text = append([]byte(`{"nationalId": "10000000146", "x": {"birthDate": "1990-01-01"}, `), text[1:]...)
		samples = append(samples, bytes.Replace(text, []byte(`"basics": {`), []byte(`"basics": {"hobby": ["chess"], `), 1))
	}
	fsys := fstest.MapFS{"resume.json": {Data: resume}}
	policies := []string{"clear", "seal", "reject"}
	for _, policy := range policies {
		fsys["resume."+policy+".v1.json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "resume.json", "x-gdpr-undeclared": %q, %s}`, policy, resumeFlags)}
	}
	p := newPublished(t, fsys)
	tokens := map[string]int{}
	checks := map[string]*wireCheck{}
	for _, policy := range policies {
		checks[policy] = newWireCheck(t, p.reg, "resume."+policy).alone(t)
	}
	refused, leaks := 0, 0
	for i, sample := range samples {
		for _, policy := range policies {
			if policy == "reject" && i >= len(samples)/2 {
				_, err := p.sealer.Seal(context.Background(), envelope.Event{Type: "resume.reject", AggregateID: "1", Payload: sample})
				if got := refusalOf(err); got != "undeclared" {
					t.Errorf("sample %d: refused as %s, want undeclared", i, got)
				}
				refused++
				continue
			}
			wire, at := p.roundTrip(t, "resume."+policy, sample)
			leaks += checks[policy].add(t, wire, sample, -1)
			tokens[policy] += len(at)
			if want := resumePersonal(decode(t, sample), policy == "seal"); !slices.Equal(slices.Sorted(slices.Values(at)), want) {
				t.Errorf("sample %d under %s: tokens at\n%s\nwant\n%s", i, policy, strings.Join(at, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	askAjv(t, slices.Collect(maps.Values(checks))...)
	t.Logf("%d samples under each of %v; tokens %v; %d refused for undeclared members; by the wire schemas the sealed ones pass and %d with a token put back do not", len(samples), policies, tokens, refused, leaks)
}

// resumePersonal lists where the tokens of a résumé stand.
func resumePersonal(v any, seal bool) []string {
	var list []string
	root, _ := v.(map[string]any)
	basics, _ := root["basics"].(map[string]any)
	add := func(object map[string]any, pointer string, names ...string) {
		for _, name := range names {
			if _, there := object[name]; there {
				list = append(list, pointer+"/"+name)
			}
		}
	}
	items := func(v any) []any { l, _ := v.([]any); return l }
	add(basics, "/basics", "name", "email", "phone", "image", "url", "location")
	for i, item := range items(basics["profiles"]) {
		add(item.(map[string]any), fmt.Sprintf("/basics/profiles/%d", i), "username", "url")
	}
	for i, item := range items(root["references"]) {
		add(item.(map[string]any), fmt.Sprintf("/references/%d", i), "name", "reference")
	}
	if seal {
		add(root, "", "nationalId", "x")
		add(basics, "/basics", "hobby")
	}
	slices.Sort(list)
	return list
}
