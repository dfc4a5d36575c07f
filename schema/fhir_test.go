package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
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
			c, p := slices.Min(compiles), slices.Min(plans) // the times that a busy machine disturbed least
			b.ReportMetric(float64(c.Milliseconds()), "compile-ms")
			b.ReportMetric(float64(p.Milliseconds()), "plan-ms")
			b.ReportMetric(p.Seconds()/c.Seconds(), "plan/compile")
		})
	}
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

// What loading a large recursive schema costs beside the validator's compile is no more than twice that compile: counted in objects that are allocated,
// and in their bytes, which are the same on every machine. Not parallel, as the heap is measured.
func TestLawThePlanOfFHIRCostsAtMostTwoCompiles(t *testing.T) {
	for _, definition := range []string{"Patient", ""} {
		fsys := fhirFiles(t, definition)
		var reg *Registry
		loadObjects, loadBytes := allocated(func() {
			var err error
			if reg, err = LoadFS(fsys); err != nil {
				t.Fatal(err)
			}
		})
		objects, bytes := allocated(func() {
			if _, err := compileSchema(reg.newCompiler(), reg.events[0].doc.id); err != nil {
				t.Fatal(err)
			}
		})
		planObjects, planBytes := float64(loadObjects-objects)/float64(objects), float64(loadBytes-bytes)/float64(bytes)
		t.Logf("FHIR R4 from %q: compile %d objects, %d MB; plan %.2f times the objects, %.2f times the bytes", definition, objects, bytes/1e6, planObjects, planBytes)
		if planObjects > 2 || planBytes > 2 {
			t.Errorf("the plan takes %.2f times the objects and %.2f times the bytes of the compile", planObjects, planBytes)
		}
	}
}

// allocated counts what a call allocates.
func allocated(f func()) (objects, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}
