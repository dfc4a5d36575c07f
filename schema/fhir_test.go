package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

// fhirFiles is FHIR R4 as it was published (3.4 MB, recursive) and an event schema that refers to a definition of it, or for the name "" to all
// of it, with names, addresses, telecom and birth dates flagged by an overlay.
func fhirFiles(tb testing.TB, definition string) fstest.MapFS {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.NodeModules(tb), "node_modules", "@asymmetrik", "fhir-json-schema-validator", "fhir.schema.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var s struct {
		Definitions map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		tb.Fatal(err)
	}
	flag := map[string]bool{wordSensitive: true}
	overlay := map[string]any{}
	for name, d := range s.Definitions {
		for _, property := range []string{"name", "address", "telecom", "birthDate"} {
			if d.Properties[property] != nil && (name == "Patient" || name == "Practitioner" || name == "RelatedPerson" || name == "Person") {
				overlay["fhir.json#/definitions/"+name+"/properties/"+property] = flag
			}
		}
	}
	for _, d := range []string{"HumanName", "Address", "ContactPoint"} {
		overlay["fhir.json#/definitions/"+d] = flag
	}
	target := "fhir.json"
	if definition != "" {
		target += "#/definitions/" + definition
	}
	event, err := json.Marshal(map[string]any{"$schema": metaschemaOf(7), "$ref": target, wordOverlay: overlay})
	if err != nil {
		tb.Fatal(err)
	}
	return fstest.MapFS{"fhir.json": {Data: text}, "a.v1.json": {Data: event}}
}

// loadTimes loads once and gives the time of the validator's compile, and of all else that loading does: parsing, words, Plan.
func loadTimes(tb testing.TB, fsys fstest.MapFS) (compile, plan time.Duration) {
	tb.Helper()
	begin := time.Now()
	reg, err := LoadFS(fsys)
	all := time.Since(begin)
	if err != nil {
		tb.Fatal(err)
	}
	begin = time.Now()
	if _, err := compileSchema(reg.newCompiler(), reg.events[0].doc.id); err != nil {
		tb.Fatal(err)
	}
	compile = time.Since(begin)
	return compile, all - compile
}

// least is the time that a busy machine disturbed least.
func least(ds []time.Duration) time.Duration { return slices.Min(ds) }

// BenchmarkPlanOfFHIR gives what all of loading but the validator's compile costs, in multiples of the compile in the same run.
func BenchmarkPlanOfFHIR(b *testing.B) {
	for _, definition := range []string{"Patient", ""} {
		b.Run("root="+definition, func(b *testing.B) {
			fsys := fhirFiles(b, definition)
			var compiles, plans []time.Duration
			for b.Loop() {
				c, p := loadTimes(b, fsys)
				compiles, plans = append(compiles, c), append(plans, p)
			}
			c, p := least(compiles), least(plans)
			b.ReportMetric(float64(c.Milliseconds()), "compile-ms")
			b.ReportMetric(float64(p.Milliseconds()), "plan-ms")
			b.ReportMetric(p.Seconds()/c.Seconds(), "plan/compile")
		})
	}
}

// The Plan of a large recursive schema costs no more than three times the validator's compile: the best of interleaved runs of both.
func TestLawThePlanOfFHIRCostsAtMostThreeCompiles(t *testing.T) {
	for _, definition := range []string{"Patient", ""} {
		fsys := fhirFiles(t, definition)
		var compiles, plans []time.Duration
		for range 1 + 4/lawScale {
			c, p := loadTimes(t, fsys)
			compiles, plans = append(compiles, c), append(plans, p)
		}
		ratio := least(plans).Seconds() / least(compiles).Seconds()
		t.Logf("FHIR R4 from %q: compile %v, plan %v: %.2f times", definition, least(compiles), least(plans), ratio)
		if ratio > 3 && lawScale == 1 { // the race detector's cost is not the Plan's
			t.Errorf("the plan takes %.2f times the compile", ratio)
		}
	}
}
