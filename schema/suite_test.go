package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// JSON-Schema-Test-Suite, all its tests of the five drafts, the optional ones and the formats among them: a registry loads and accepts what plain
// jsonschema/v5 compiles and accepts with formats asserted. Where it does not, testdata/suite-differences.txt says so and why; a line there that is
// no difference any more fails too.

// suiteDrafts are the suite's directories.
func suiteDrafts() []struct {
	dir, metaschema string
	draft           *jsonschema.Draft
} {
	m := metaschemas()
	return []struct {
		dir, metaschema string
		draft           *jsonschema.Draft
	}{
		{"draft4", m["4"], jsonschema.Draft4}, {"draft6", m["6"], jsonschema.Draft6}, {"draft7", m["7"], jsonschema.Draft7},
		{"draft2019-09", m["2019"], jsonschema.Draft2019}, {"draft2020-12", m["2020"], jsonschema.Draft2020},
	}
}

// suiteGroup is one schema with its tests.
type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// suiteHost is where the suite says that its remote files are.
const suiteHost = "http://localhost:1234/"

// plain compiles with the validator alone, and says which remote files it asked for.
func plain(draft *jsonschema.Draft, remotes string, text []byte) (s *jsonschema.Schema, asked []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	c := jsonschema.NewCompiler()
	c.Draft = draft
	c.AssertFormat = true
	c.LoadURL = func(u string) (io.ReadCloser, error) {
		if u == "suite:schema.json" {
			return io.NopCloser(bytes.NewReader(text)), nil
		}
		name, ok := strings.CutPrefix(u, suiteHost)
		if !ok {
			return nil, errors.New("not there")
		}
		asked = append(asked, name)
		return os.Open(filepath.Join(remotes, name))
	}
	s, err = c.Compile("suite:schema.json")
	return s, asked, err
}

func plainAccepts(s *jsonschema.Schema, data []byte) (accepts bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return false, err
	}
	err = s.Validate(v)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return false, nil
	}
	return err == nil, err
}

// withMembers writes members into an object schema that does not have them, so that a file stands by itself: which draft it is of, and for a
// remote file the $id that is where it was to be fetched from.
func withMembers(text []byte, members ...string) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || object == nil {
		return text
	}
	text = bytes.TrimSpace(text)[1:]
	for i := 0; i < len(members); i += 2 {
		if _, there := object[members[i]]; there {
			continue
		}
		comma := ","
		if len(object) == 0 && i == 0 {
			comma = ""
		}
		text = fmt.Appendf(nil, "%q: %q%s%s", members[i], members[i+1], comma, text)
		object[members[i]] = nil
	}
	return append([]byte("{"), text...)
}

// ours loads a schema with the remote files that the validator asked for. A rule says why it is refused.
func ours(t *testing.T, metaschema, remotes string, text []byte, asked []string) (e *schema.EventSchema, rule string) {
	t.Helper()
	fsys := fstest.MapFS{"suite.v1.json": {Data: withMembers(text, "$schema", metaschema)}}
	id := "$id"
	if strings.Contains(metaschema, "draft-04") {
		id = "id"
	}
	for _, name := range asked {
		remote, err := os.ReadFile(filepath.Join(remotes, name))
		if err != nil {
			continue // the validator has refused it for that
		}
		fsys["remotes/"+name] = &fstest.MapFile{Data: withMembers(remote, "$schema", metaschema, id, suiteHost+name)}
	}
	reg, err := schema.LoadFS(fsys)
	if err != nil {
		var le *schema.LoadError
		if !errors.As(err, &le) {
			t.Fatal(err)
		}
		rules := map[string]bool{}
		for _, f := range le.Findings {
			rules[f.Rule] = true
		}
		var list []string
		for r := range rules {
			list = append(list, r)
		}
		slices.Sort(list)
		return nil, strings.Join(list, "+")
	}
	e, err = reg.Event("suite", 1)
	if err != nil {
		t.Fatal(err)
	}
	return e, ""
}

func verdict(accepts bool) string {
	if accepts {
		return "accepted"
	}
	return "rejected"
}

func TestTheTestSuiteAsThePlainValidator(t *testing.T) {
	t.Parallel()
	root := filepath.Join(testenv.Module(t, "github.com/kaptinlin/jsonschema"), "testdata", "JSON-Schema-Test-Suite")
	remotes := filepath.Join(root, "remotes")
	listed := suiteDifferences(t)
	var found []string
	schemas, tests, refusedByBoth := 0, 0, 0
	against := map[string]int{} // tests in which the validator, and so the registry, is not what the suite wants, by their file
	for _, d := range suiteDrafts() {
		dir := filepath.Join(root, "tests", d.dir)
		err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".json") {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			var groups []suiteGroup
			if err := json.Unmarshal(text, &groups); err != nil {
				return err
			}
			name, err := filepath.Rel(dir, file)
			if err != nil {
				return err
			}
			for _, g := range groups {
				schemas++
				where := d.dir + "/" + filepath.ToSlash(name) + ": " + g.Description
				s, asked, compileErr := plain(d.draft, remotes, g.Schema)
				e, rule := ours(t, d.metaschema, remotes, g.Schema, asked)
				switch {
				case compileErr != nil && rule != "":
					refusedByBoth++
					continue
				case compileErr != nil:
					found = append(found, where+": loaded, not compiled")
					continue
				case rule != "":
					found = append(found, where+": refused by "+rule)
					continue
				}
				for _, c := range g.Tests {
					tests++
					theirs, err := plainAccepts(s, c.Data)
					our := e.Validate(c.Data) == nil
					if err != nil || our != theirs {
						found = append(found, fmt.Sprintf("%s: %s: %s, plain %s", where, c.Description, verdict(our), verdict(theirs)))
					}
					if (e.Check(c.Data) == nil) != our {
						t.Errorf("%s: %s: %s, and Check says otherwise", where, c.Description, verdict(our))
					}
					if our != c.Valid {
						against[filepath.Base(name)]++
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d schemas and %d tests of the five drafts; %d schemas refused by both; %d differences; both are not as the suite wants in %v", schemas, tests, refusedByBoth, len(found), against)
	for file := range against {
		if suiteDeviations()[file] == "" {
			t.Errorf("the validator is not as %s wants", file)
		}
	}
	if schemas < 1500 || tests < 7000 {
		t.Errorf("the suite has only %d schemas and %d tests", schemas, tests)
	}
	slices.Sort(found)
	for _, line := range found {
		if !listed[line] {
			t.Errorf("not listed: %s", line)
		}
		delete(listed, line)
	}
	for line := range listed {
		t.Errorf("listed, but no difference: %s", line)
	}
}

// suiteDeviations are the files of the suite in which the validator is known to judge otherwise, with the reason.
func suiteDeviations() map[string]string {
	return map[string]string{
		"format.json":               "formats are assertions in every draft",
		"idn-email.json":            "the validator does not know the format; lint says so",
		"idn-hostname.json":         "the validator does not know the format; lint says so",
		"ecmascript-regex.json":     "RE2's \\s is ASCII's",
		"zeroTerminatedFloats.json": "1.0 is an integer in every draft",
		"dynamicRef.json":           "the validator looks for dynamic anchors in intermediate resources; the Plan takes the union of all",
	}
}

// suiteDifferences reads the list: a reason in each line that starts with #, and below it the differences that it explains.
func suiteDifferences(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("testdata/suite-differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	reason := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			reason = false
		case strings.HasPrefix(line, "#"):
			reason = true
		case !reason:
			t.Errorf("no reason above: %s", line)
		case listed[line]:
			t.Errorf("listed twice: %s", line)
		default:
			listed[line] = true
		}
	}
	return listed
}
