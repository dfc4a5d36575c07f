// Package testvectors_test runs check.mjs and check.py, the readers of the vectors that share nothing with the Go code, and proves that they can
// fail. The Go readers of the same files are the vectors_test.go of blindindex, envelope and keyring.
package testvectors_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// file is one of v1/*.json.
type file struct {
	Format      string           `json:"format"`
	Description string           `json:"description"`
	Vectors     []map[string]any `json:"vectors"`
}

// readFiles gives fresh copies of all files, by name.
func readFiles(t *testing.T) map[string]*file {
	t.Helper()
	paths, err := filepath.Glob("v1/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no v1/*.json: %v", err)
	}
	files := map[string]*file{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		decoder.DisallowUnknownFields()
		f := new(file)
		if err := decoder.Decode(f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		files[filepath.Base(path)] = f
	}
	return files
}

func writeFiles(t *testing.T, files map[string]*file) (directory string) {
	t.Helper()
	directory = t.TempDir()
	for name, f := range files {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// checker is a program that checks the vectors.
type checker struct {
	name    string
	command func(t *testing.T) []string
	// notHere are files that it does not check, since its language lacks what they need.
	notHere []string
}

func checkers() []checker {
	return []checker{
		{name: "Node", command: node, notHere: []string{"file-keks.json", "slow-index-values.json"}},
		{name: "Python", command: python},
	}
}

func node(t *testing.T) []string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is missing, and the vectors must be checked by another implementation: apt-get install nodejs")
	}
	return []string{path, "check.mjs"}
}

// python finds a Python that has what check.py needs: the one in PATH, or Debian's own.
func python(t *testing.T) []string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", "import argon2.low_level, cryptography").Run() == nil {
			return []string{path, "-B", "check.py"}
		}
	}
	t.Fatal("Python with cryptography and argon2 is missing, and the vectors must be checked by another implementation: apt-get install python3-cryptography python3-argon2")
	return nil
}

// checked are the files that this checker checks.
func (c checker) checked(files map[string]*file) map[string]*file {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(name string, _ *file) bool { return slices.Contains(c.notHere, name) })
	return files
}

// verdict is what a checker said.
type verdict struct {
	exit           int
	passed, failed int
	// problems are its lines "failed: FILE: NAME: what", by "FILE: NAME".
	problems map[string]string
	output   string
}

func (c checker) check(t *testing.T, arguments ...string) verdict {
	t.Helper()
	line := append(c.command(t), arguments...)
	command := exec.Command(line[0], line[1:]...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", line, err)
	}
	v := verdict{exit: command.ProcessState.ExitCode(), problems: map[string]string{}, output: string(stdout) + stderr.String()}
	lines := strings.Split(strings.TrimSpace(string(stdout)), "\n")
	if _, err := fmt.Sscanf(lines[len(lines)-1], "%d passed, %d failed", &v.passed, &v.failed); err != nil {
		t.Fatalf("%v does not end in its count:\n%s", line, v.output)
	}
	for _, line := range lines[:len(lines)-1] {
		name, _, found := strings.Cut(line, ".json: ")
		if !found || !strings.HasPrefix(name, "failed: ") {
			continue
		}
		rest := strings.TrimPrefix(line, name+".json: ")
		v.problems[strings.TrimPrefix(name, "failed: ")+".json"+": "+rest] = line
	}
	return v
}

// names says that a problem was reported for this vector.
func (v verdict) names(file, vector string) bool {
	for problem := range v.problems {
		if strings.HasPrefix(problem, file+": "+vector+": ") {
			return true
		}
	}
	return false
}

func TestNodeAndPythonCheckEveryVector(t *testing.T) {
	t.Parallel()
	for _, c := range checkers() {
		want := 0
		for _, f := range c.checked(readFiles(t)) {
			want += len(f.Vectors)
		}
		if v := c.check(t); v.exit != 0 || v.failed != 0 || v.passed != want {
			t.Errorf("%s: exit %d, %d of %d vectors pass:\n%s", c.name, v.exit, v.passed, want, v.output)
		}
	}
}

func TestEveryKindHasValidVectors(t *testing.T) {
	t.Parallel()
	valid, invalid := map[string]int{}, map[string]int{}
	for _, f := range readFiles(t) {
		for _, v := range f.Vectors {
			if v["valid"] == true {
				valid[v["kind"].(string)]++
			} else {
				invalid[v["kind"].(string)]++
			}
		}
	}
	for kind := range checkedMembers() {
		if valid[kind] < 3 {
			t.Errorf("%d valid vectors of kind %s", valid[kind], kind)
		}
	}
	for kind, least := range map[string]int{"token": 60, "messages": 20, "normalise": 15, "compound": 7, "index-text": 15, "seal": 10, "open": 10, "payload": 80, "keyring": 60, "identifier": 30, "cloudevent-write": 10, "cloudevent-read": 80, "audit-entry": 15, "audit-trail": 13} {
		if invalid[kind] < least {
			t.Errorf("%d invalid vectors of kind %s", invalid[kind], kind)
		}
	}
}

// checkedMembers names for each kind the members of a valid vector of which every change must be noticed: what is computed, and what it is
// computed from. Left out is what may change without a consequence, such as a length that is padded to the same multiple.
func checkedMembers() map[string][]string {
	return map[string][]string{
		"event-key":       {"key", "type", "version", "id", "info", "event_key"},
		"aad":             {"kid", "pointer", "aad"},
		"index-key":       {"key", "index", "normaliser", "bits", "info", "index_key"},
		"padded-length":   {"padded"},
		"token":           {"key", "kid", "type", "version", "id", "pointer", "nonce", "plaintext", "padded", "token"},
		"normalise":       {"normaliser", "normalised"},
		"messages":        {"messages"},
		"compound":        {"normaliser", "messages"},
		"index-value":     {"key", "kid", "index", "steps", "parts", "hashed", "normaliser", "bits", "message", "index_key", "stored", "text"},
		"index-text":      {"stored", "text"},
		"event":           {"nonces", "wire", "key_ids", "blind_indexes", "payload"},
		"open":            {"wire", "payload"},
		"cloudevent":      {"form", "source", "wire_event", "headers", "body"},
		"cloudevent-read": {"wire_event"},
		"payload":         {"places"},
		"identifier":      {"canonical"},
		"keyset-data":     {"purpose", "keyring", "revision", "clear", "clear_digest", "data"},
		"keyring":         {"keyring", "revision", "kek", "kek_key", "document", "keys"},
		"audit-entry":     {"line", "hashed", "hash"},
		"audit-trail":     {"text", "noted", "entries", "head", "unfinished"},
		"file-kek":        {"passphrase", "salt", "time", "memory_kib", "threads", "uri", "kek"},
	}
}

// maxChanges of one member are made: a list of places may have hundreds of numbers.
const maxChanges = 12

func first(n int, all []func()) []func() { return all[:min(n, len(all))] }

// changes gives for one valid vector functions that change one byte of it each.
func changes(vector map[string]any) []func() {
	members := checkedMembers()[vector["kind"].(string)]
	var all []func()
	for _, name := range slices.Sorted(maps.Keys(vector)) {
		if slices.Contains(members, name) {
			all = append(all, first(maxChanges, changesOf(vector[name], func(changed any) { vector[name] = changed }))...)
		}
	}
	if event, ok := vector["event"].(map[string]any); ok {
		all = append(all, changesOf(event["payload"], func(changed any) { event["payload"] = changed })...)
		if plan := vector["plan"].(map[string]any); len(plan["sealed"].([]any)) > 0 {
			for _, name := range []string{"id", "type", "version"} {
				all = append(all, changesOf(event[name], func(changed any) { event[name] = changed })...)
			}
		}
	}
	return all
}

func changesOf(value any, set func(any)) []func() {
	switch v := value.(type) {
	case string:
		return []func(){func() { set(changeByte(v)) }}
	case json.Number:
		return []func(){func() {
			n, err := strconv.ParseInt(v.String(), 10, 64)
			if err != nil {
				panic(err)
			}
			set(n ^ 1)
		}}
	case []any:
		if len(v) == 0 {
			return []func(){func() { set([]any{"00"}) }}
		}
		var all []func()
		for i := range v {
			all = append(all, changesOf(v[i], func(changed any) { v[i] = changed })...)
		}
		return all
	case map[string]any:
		if len(v) == 0 {
			return []func(){func() { v["added"] = []any{"bi1:0f3a9c01:AA"} }}
		}
		var all []func()
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, changesOf(v[name], func(changed any) { v[name] = changed })...)
		}
		return all
	}
	panic(fmt.Sprintf("a vector holds a %T", value))
}

// changeByte changes one letter or digit in the middle, so that hex stays hex and base64url stays base64url.
func changeByte(s string) string {
	b := []byte(s)
	for i := range b {
		at := (len(b)/2 + i) % len(b)
		switch c := b[at]; {
		case '0' <= c && c <= '8', 'a' <= c && c <= 'e':
			b[at]++
			return string(b)
		case c == '9', c == 'f':
			b[at]--
			return string(b)
		}
	}
	return s + "0"
}

// Every valid vector, changed by one byte in each of its members in turn, must fail, and those left alone must not.
func TestCheckNoticesEveryChangedByte(t *testing.T) {
	t.Parallel()
	for _, c := range checkers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.noticesEveryChangedByte(t)
		})
	}
}

func (c checker) noticesEveryChangedByte(t *testing.T) {
	changed := 0
	for round := 0; ; round++ {
		files := readFiles(t)
		total, touched := 0, map[string]string{}
		for name, f := range c.checked(files) {
			for _, vector := range f.Vectors {
				total++
				if vector["valid"] != true {
					continue
				}
				if all := changes(vector); round < len(all) {
					all[round]()
					touched[name+"\x00"+vector["name"].(string)] = vector["kind"].(string)
				}
			}
		}
		if len(touched) == 0 {
			break
		}
		changed += len(touched)
		v := c.check(t, writeFiles(t, files))
		if v.exit != 1 || v.failed != len(touched) || v.passed != total-len(touched) {
			t.Errorf("round %d: %d of %d vectors are changed, exit %d with %d failed", round, len(touched), total, v.exit, v.failed)
		}
		for key, kind := range touched {
			if file, vector, _ := strings.Cut(key, "\x00"); !v.names(file, vector) {
				t.Errorf("round %d: a changed byte is not noticed: %s: %s (%s)", round, file, vector, kind)
			}
		}
	}
	if changed < 1600 {
		t.Errorf("only %d bytes were changed", changed)
	}
}

func TestCheckNoticesAWrongVerdict(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(vector map[string]any){
		"valid is turned round": func(v map[string]any) { v["valid"] = v["valid"] != true },
		"another reason": func(v map[string]any) {
			if v["valid"] == false {
				v["refused"] = "no reason"
			} else {
				v["kind"] = "unheard of"
			}
		},
		"a reason missing, or a kind": func(v map[string]any) {
			delete(v, "refused")
			if v["valid"] == true {
				delete(v, "kind")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := readFiles(t)
			for _, f := range files {
				for _, vector := range f.Vectors {
					change(vector)
				}
			}
			directory := writeFiles(t, files)
			for _, c := range checkers() {
				total := 0
				for _, f := range c.checked(files) {
					total += len(f.Vectors)
				}
				if v := c.check(t, directory); v.exit != 1 || v.passed != 0 || v.failed != total {
					t.Errorf("%s: exit %d: %d passed, %d failed of %d", c.name, v.exit, v.passed, v.failed, total)
				}
			}
		})
	}
}

func TestCheckNoticesWhatIsWrongWithAFile(t *testing.T) {
	t.Parallel()
	for fault, spoil := range map[string]func(path string, f *file) error{
		"missing": func(path string, _ *file) error { return os.Remove(path) },
		"empty":   func(path string, _ *file) error { return os.WriteFile(path, nil, 0o600) },
		"no JSON": func(path string, _ *file) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"without vectors": func(path string, _ *file) error {
			return os.WriteFile(path, []byte(`{"format":"fieldcrypt-testvectors/1","description":"","vectors":[]}`), 0o600)
		},
		"of another format": func(path string, f *file) error {
			text, err := json.Marshal(file{"fieldcrypt-testvectors/2", "", f.Vectors})
			return errors.Join(err, os.WriteFile(path, text, 0o600))
		},
		"with a vector twice": func(path string, f *file) error {
			text, err := json.Marshal(file{f.Format, "", append(f.Vectors, f.Vectors[0])})
			return errors.Join(err, os.WriteFile(path, text, 0o600))
		},
		"beside one that nobody knows": func(path string, _ *file) error { return os.WriteFile(path+".json", []byte("{}"), 0o600) },
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			files := readFiles(t)
			directory := writeFiles(t, files)
			for name, f := range files {
				if err := spoil(filepath.Join(directory, name), f); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range checkers() {
				checked := c.checked(files)
				v := c.check(t, directory)
				if v.exit != 1 || v.failed < len(checked) || v.failed > len(files) {
					t.Errorf("%s: exit %d with %d failed:\n%s", c.name, v.exit, v.failed, v.output)
				}
				for name := range checked {
					if !strings.Contains(v.output, "failed: "+name) {
						t.Errorf("%s: %s is not named:\n%s", c.name, name, v.output)
					}
				}
			}
		})
	}
}

// An auditor has a trail, perhaps a head that he noted, and Node or a plain Python.
func TestATrailIsCheckedWithoutFieldcrypt(t *testing.T) {
	t.Parallel()
	trails := map[string]string{} // by the vector's name
	head := ""
	for _, v := range readFiles(t)["audit-trails.json"].Vectors {
		if v["kind"] == "audit-trail" {
			name := v["name"].(string)
			trails[name] = filepath.Join(t.TempDir(), "audit.ndjson")
			if err := os.WriteFile(trails[name], []byte(v["text"].(string)), 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "trail: whole" {
				head = v["head"].(string)
			}
		}
	}
	for _, program := range [][]string{{"node", "audittrail.mjs"}, {"python3", "-B", "audittrail.py"}} {
		for _, c := range []struct {
			trail, noted string
			exit         int
			says         string
		}{
			{"trail: whole", "", 0, "whole: 9 entries\nhead " + head + "\n"},
			{"trail: whole", head, 0, "whole: 9 entries\nhead " + head + "\n"},
			{"trail: operations without an outcome", "", 0, "\n2 operations without an outcome: 5 6\n"},
			{"trail: a torn last line", "", 0, "\nthe last line has no end: a process was killed while it wrote it\n"},
			{"trail: a torn last line", head, 3, "cut\n"},
			{"trail: the last entry gone", "", 0, "whole: 8 entries\n"},
			{"trail: the last entry gone", head, 3, "cut\n"},
			{"trail: a changed entry", "", 3, "changed at entry 4\n"},
			{"trail: two entries gone", head, 3, "missing at entry 4\n"},
		} {
			args := slices.Clone(program[1:])
			if c.noted != "" {
				args = append(args, "--head", c.noted)
			}
			for _, stdin := range []bool{false, true} {
				cmd := exec.Command(program[0], append(slices.Clone(args), trails[c.trail])...)
				if stdin {
					cmd = exec.Command(program[0], args...)
					text, err := os.ReadFile(trails[c.trail])
					if err != nil {
						t.Fatal(err)
					}
					cmd.Stdin = bytes.NewReader(text)
				}
				out, err := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != c.exit || !strings.Contains("\n"+string(out), "\n"+strings.TrimPrefix(c.says, "\n")) {
					t.Errorf("%v: exit %d, %v:\n%s", cmd.Args, cmd.ProcessState.ExitCode(), err, out)
				}
			}
		}
	}
}
