package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// FHIR's Patient may contain every other resource, each element of which may be extended by what may be extended: a person can read its map.
func TestTheMapOfFHIRIsReadable(t *testing.T) {
	t.Parallel()
	fhir, err := os.ReadFile(filepath.Join(testenv.NodeModules(t), "node_modules", "@asymmetrik", "fhir-json-schema-validator", "fhir.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	reg, err := schema.LoadFS(fstest.MapFS{"fhir.json": {Data: fhir}, "Patient.v1.json": {Data: []byte(`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "fhir.json#/definitions/Patient",
		"x-gdpr-overlay": {"fhir.json#/definitions/HumanName": {"x-gdpr-sensitive": true}, "fhir.json#/definitions/Address": {"x-gdpr-sensitive": true}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	event, err := reg.Event("Patient", 1)
	if err != nil {
		t.Fatal(err)
	}
	locations := event.Plan().Locations()
	entries := entriesOf(locations)
	also, longest := 0, 0
	found := map[string]string{}
	for _, e := range entries {
		also += len(e.also)
		longest = max(longest, len(e.describe()))
		found[e.Pointer] = e.describe()
	}
	t.Logf("%d locations in %d lines, the longest of %d bytes", len(locations), len(entries), longest)
	if len(entries) > 200 || longest > 300 || len(locations) < 10*len(entries) {
		t.Errorf("%d locations in %d lines, the longest of %d bytes", len(locations), len(entries), longest)
	}
	for pointer, want := range map[string]string{
		"":                          "undeclared members are refused",
		"/name/*":                   "sealed under default  [Patient.v1.json:2:",
		"/contact/*/address":        "sealed under default  [Patient.v1.json:2:",
		"/extension/*":              "the same below ",
		"/extension/*/valueAddress": "sealed under default  [Patient.v1.json:2:",
	} {
		if !strings.HasPrefix(found[pointer], want) {
			t.Errorf("%q: %q, want %s…", pointer, found[pointer], want)
		}
	}
	for _, l := range locations {
		if refersOnly(l) {
			also--
		}
	}
	if also != 0 {
		t.Errorf("%d locations are neither a line nor named beside one", -also)
	}
}
