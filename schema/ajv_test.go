package schema

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

// ajv is a process of Node.js that judges events by a schema with ajv: one line of JSON in, one out.
type ajv struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

const ajvProgram = `
const Ajv = require("ajv/dist/2020")
const lines = require("readline").createInterface({input: process.stdin})
lines.on("line", line => {
	let answer
	try {
		const {schema, events} = JSON.parse(line)
		const ajv = new Ajv({strict: false, logger: false, validateSchema: false, validateFormats: false})
		const validate = ajv.compile(schema)
		answer = {valid: events.map(e => validate(e))}
	} catch (e) {
		answer = {error: String(e && e.stack || e)}
	}
	process.stdout.write(JSON.stringify(answer) + "\n")
})
`

func newAjv(t *testing.T) *ajv {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "--stack-size=8000", "-e", ajvProgram)
	cmd.Dir = testenv.NodeModules(t)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("node: %v", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("node: %v", err)
		}
	})
	return &ajv{in: in, out: bufio.NewReader(out)}
}

// validate says which events are valid.
func (a *ajv) validate(schema []byte, events []any) ([]bool, error) {
	question, err := json.Marshal(map[string]any{"schema": json.RawMessage(schema), "events": events})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.in.Write(append(question, '\n')); err != nil {
		return nil, err
	}
	line, err := a.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var answer struct {
		Valid []bool
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New("ajv: " + answer.Error)
	}
	return answer.Valid, nil
}

func (a *ajv) judge(c *wireCase) (good, bad []bool, err error) {
	all := append(append([]any{}, c.good...), c.bad...)
	valid, err := a.validate(c.wire, all)
	if err != nil || len(valid) != len(all) {
		return nil, nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return valid[:len(c.good)], valid[len(c.good):], nil
}
