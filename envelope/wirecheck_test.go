package envelope_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The derived wire schema of a type is judged as others would use it: in jsonschema/v5, compiled by the registry or by its text alone, and in ajv.

// wireCheck is a derived schema with the events it is asked about.
type wireCheck struct {
	text    []byte
	accepts func(payload []byte) error
	events  [][]byte
	valid   []bool // what is expected of each
}

func newWireCheck(t *testing.T, reg *schema.Registry, typ string) *wireCheck {
	t.Helper()
	e, err := reg.Event(typ, 1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.WireSchema()
	if err != nil {
		t.Fatal(err)
	}
	return &wireCheck{text: text, accepts: e.ValidateWire}
}

// alone has the derived schema judge by its text alone, loaded as a schema of its own.
func (c *wireCheck) alone(t *testing.T) *wireCheck {
	t.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{"wire.v1.json": {Data: c.text}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := reg.Event("wire", 1)
	if err != nil {
		t.Fatal(err)
	}
	c.accepts = e.Validate
	return c
}

// add asks about a sealed payload, and about each payload that has one of its tokens put back to the plaintext: the first must pass and the others
// must not, since a leak of one value must show. At most so many are put back, -1 for all.
func (c *wireCheck) add(t *testing.T, wire, plain []byte, most int) (leaks int) {
	t.Helper()
	c.ask(t, wire, true)
	for _, s := range tokenSpans(t, wire, plain) {
		if leaks == most {
			break
		}
		if value, err := strconv.Unquote(string(s.plain)); err == nil && tokenPattern.MatchString(value) {
			continue // it has the token's form itself
		}
		leaks++
		leaked := bytes.Join([][]byte{wire[:s.start], s.plain, wire[s.end:]}, nil)
		c.ask(t, leaked, false)
	}
	return leaks
}

func (c *wireCheck) ask(t *testing.T, event []byte, valid bool) {
	t.Helper()
	if err := c.accepts(event); (err == nil) != valid {
		t.Fatalf("jsonschema/v5 by the wire schema: %v, want valid=%t\n%.1500s", err, valid, event)
	}
	c.events, c.valid = append(c.events, event), append(c.valid, valid)
}

const ajvProgram = `
const Ajv = require("ajv/dist/2020")
const answers = JSON.parse(require("fs").readFileSync(0, "utf8")).map(({schema, events}) => {
	const validate = new Ajv({strict: false, logger: false, validateSchema: false, validateFormats: false}).compile(schema)
	return events.map(e => validate(e))
})
process.stdout.write(JSON.stringify(answers))
`

// askAjv asks ajv the same of all of them.
func askAjv(t *testing.T, checks ...*wireCheck) {
	t.Helper()
	type question struct {
		Schema json.RawMessage   `json:"schema"`
		Events []json.RawMessage `json:"events"`
	}
	questions := make([]question, len(checks))
	for i, c := range checks {
		questions[i].Schema = c.text
		for _, e := range c.events {
			questions[i].Events = append(questions[i].Events, e)
		}
	}
	text, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--stack-size=8000", "-e", ajvProgram)
	cmd.Dir = testenv.NodeModules(t)
	cmd.Stdin = bytes.NewReader(text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v %.1000s", err, stderr.Bytes())
	}
	var answers [][]bool
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(checks) {
		t.Fatalf("ajv answered %d of %d: %v", len(answers), len(checks), err)
	}
	for i, c := range checks {
		if !slices.Equal(answers[i], c.valid) {
			for k, e := range c.events {
				if k >= len(answers[i]) || answers[i][k] != c.valid[k] {
					t.Fatalf("ajv by the wire schema: not valid=%t\n%.1500s", c.valid[k], e)
				}
			}
		}
	}
}

// span is where a token stands, with the plaintext in its place.
type span struct {
	start, end int
	plain      []byte
}

func tokenSpans(t *testing.T, wire, plain []byte) []span {
	t.Helper()
	r := newRestorer(wire, plain)
	if err := r.value(""); err != nil {
		t.Fatal(err)
	}
	return r.spans
}
