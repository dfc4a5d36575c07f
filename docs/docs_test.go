// Package docs_test keeps the documents true: what they compute is computed here again from the standard library,
// what they quote is compared with its source, and what they link to must exist.
package docs_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/schema"
	"github.com/fieldcrypt/fieldcrypt/validate"
)

const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lp is LP(x) of docs/format.md.
func lp(x string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(x))), x...)
}

func unmarshal(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}

func concat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func derive(t *testing.T, key, info []byte) []byte {
	t.Helper()
	derived, err := hkdf.Key(sha256.New, key, nil, string(info), 32)
	if err != nil {
		t.Fatal(err)
	}
	return derived
}

// countUp returns 32 bytes that count up from first: the keys of the examples.
func countUp(first byte) []byte {
	key := make([]byte, 32)
	for i := range key {
		key[i] = first + byte(i)
	}
	return key
}

// exampleValues reads the "name = value" lines of the indented example after a heading. A line without a name continues
// the value above it; what follows a value after three spaces is a remark.
func exampleValues(t *testing.T, document, heading string) []map[string]string {
	t.Helper()
	_, section, found := strings.Cut(document, "\n"+heading+"\n")
	if !found {
		t.Fatalf("no heading %q", heading)
	}
	if next := strings.Index(section, "\n#"); next >= 0 {
		section = section[:next]
	}
	nameValue := regexp.MustCompile(`^([A-Za-z0-9() -]+?) *=( .*)?$`)
	var blocks []map[string]string
	var block map[string]string
	var last string
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue // an example may have empty lines
		}
		if !strings.HasPrefix(line, "    ") {
			block = nil
			continue
		}
		if block == nil {
			block = map[string]string{}
			blocks = append(blocks, block)
		}
		text := strings.TrimSpace(line)
		if match := nameValue.FindStringSubmatch(text); match != nil {
			last, text = match[1], strings.TrimSpace(match[2])
		}
		text, _, _ = strings.Cut(text, "   ")
		block[last] += text
	}
	return blocks
}

func wantHex(t *testing.T, block map[string]string, name string, want []byte) {
	t.Helper()
	if got := strings.ReplaceAll(block[name], " ", ""); got != hex.EncodeToString(want) {
		t.Errorf("the document says %s = %s, computed is %x", name, got, want)
	}
}

func TestTheTokenExampleIsWhatTheFormulasGive(t *testing.T) {
	t.Parallel()
	blocks := exampleValues(t, read(t, "docs/format.md"), "### 4.7 Worked example")
	if len(blocks) != 1 {
		t.Fatalf("%d examples, want 1", len(blocks))
	}
	example := blocks[0]
	key, nonce := countUp(0), countUp(0)[:12]
	wantHex(t, example, "K", key)
	wantHex(t, example, "nonce", nonce)
	version, err := strconv.ParseUint(example["version"], 10, 31)
	if err != nil {
		t.Fatal(err)
	}
	info := concat(lp("fieldcrypt/v1/event"), lp(example["type"]), binary.BigEndian.AppendUint32(nil, uint32(version)), lp(example["id"]))
	wantHex(t, example, "info", info)
	eventKey := derive(t, key, info)
	wantHex(t, example, "EK", eventKey)
	aad := concat(lp("fieldcrypt/v1/field"), lp(example["kid"]), lp(example["pointer"]))
	wantHex(t, example, "AAD", aad)
	plaintext := []byte(fmt.Sprintf("%-32s", example["value"]))
	wantHex(t, example, "plaintext", plaintext)
	block, err := aes.NewCipher(eventKey)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	sealed := gcm.Seal(nil, nonce, plaintext, aad)
	wantHex(t, example, "ct", sealed[:32])
	wantHex(t, example, "tag", sealed[32:])
	text := "fc1:" + example["kid"] + ":" + base64.RawURLEncoding.EncodeToString(concat(nonce, sealed))
	if example["token"] != text {
		t.Errorf("the document says token = %s, computed is %s", example["token"], text)
	}
}

func TestTheIndexExamplesAreWhatTheFormulasGive(t *testing.T) {
	t.Parallel()
	blocks := exampleValues(t, read(t, "docs/format.md"), "### 6.5 Worked examples")
	if len(blocks) != 2 {
		t.Fatalf("%d examples, want 2", len(blocks))
	}
	messages := []string{"sada@example.com", "i1984"}
	key := countUp(32)
	wantHex(t, blocks[0], "K", key)
	kid := blocks[0]["kid"]
	for i, example := range blocks {
		length, err := strconv.Atoi(example["bits"])
		if err != nil {
			t.Fatal(err)
		}
		info := concat(lp("fieldcrypt/v1/index"), lp(example["index name"]), lp(example["normaliser"]), binary.BigEndian.AppendUint16(nil, uint16(length)))
		wantHex(t, example, "info", info)
		indexKey := derive(t, key, info)
		wantHex(t, example, "IK", indexKey)
		wantHex(t, example, "message", []byte(messages[i]))
		mac := hmac.New(sha256.New, indexKey)
		mac.Write([]byte(messages[i]))
		sum := mac.Sum(nil)
		wantHex(t, example, "HMAC", sum)
		value := sum[:(length+7)/8]
		if unused := len(value)*8 - length; unused > 0 {
			value[len(value)-1] &= 0xff << unused
		}
		id, err := hex.DecodeString(kid)
		if err != nil {
			t.Fatal(err)
		}
		wantHex(t, example, "stored", concat(id, value))
		if text := "bi1:" + kid + ":" + base64.RawURLEncoding.EncodeToString(value); example["text"] != text {
			t.Errorf("the document says text = %s, computed is %s", example["text"], text)
		}
	}
}

// padded is P(L) of docs/format.md 4.6.
func padded(length int) int {
	if length <= 256 {
		return (length + 15) / 16 * 16
	}
	e := bits.Len(uint(length)) - 1
	s := bits.Len(uint(e))
	mask := 1<<(e-s) - 1
	return (length + mask) &^ mask
}

func TestThePaddingTableIsWhatTheFormulaGives(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs/format.md"), "### 4.6 Padding")
	section, _, _ = strings.Cut(section, "### 4.7")
	pairs := regexp.MustCompile(`\| (\d+) \| (\d+) \|`)
	rows := 0
	for line := range strings.Lines(section) {
		for _, pair := range pairs.FindAllStringSubmatch(strings.ReplaceAll(line, "|   |", "||"), -1) {
			length, _ := strconv.Atoi(pair[1])
			want, _ := strconv.Atoi(pair[2])
			if got := padded(length); got != want {
				t.Errorf("P(%d) = %d, the table says %d", length, got, want)
			}
			rows++
		}
	}
	if rows != 14 {
		t.Errorf("read %d rows of the table, want 14", rows)
	}
}

// documents are all that this test reads for links.
func documents(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "SECURITY.md"}
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		names = append(names, filepath.Join("docs", filepath.Base(name)))
	}
	return names
}

// anchors gives the fragment of each heading, as GitHub makes them.
func anchors(document string) map[string]bool {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	found := map[string]bool{}
	for line := range strings.Lines(document) {
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			found[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")] = true
		}
	}
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	for _, name := range documents(t) {
		text := read(t, name)
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			path, fragment, hasFragment := strings.Cut(match[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			links++
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, match[1])
				continue
			}
			if hasFragment && !anchors(read(t, target))[fragment] {
				t.Errorf("%s links to %s, but %s has no such heading", name, match[1], target)
			}
		}
	}
	if links < 20 {
		t.Errorf("found %d links, expected at least 20", links)
	}
}

// codeBlocks gives the fenced code of a language in a document, in order.
func codeBlocks(document, language string) []string {
	var blocks []string
	fenced := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$")
	for _, match := range fenced.FindAllStringSubmatch(document, -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// schemaFiles loads schemas by their file names.
func schemaFiles(t *testing.T, files map[string]string) *schema.Registry {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	registry, err := schema.LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// isSealed says whether the plan of a type's first version seals a location, given by its names.
func isSealed(t *testing.T, registry *schema.Registry, typ string, names ...string) bool {
	t.Helper()
	event, err := registry.Event(typ, 1)
	if err != nil {
		t.Fatal(err)
	}
	state := event.Plan().Root()
	for _, name := range names {
		if name == "*" {
			state = state.Item(0)
		} else if state, _ = state.Member([]byte(name)); state == nil {
			t.Fatalf("%s does not declare %q", typ, names)
		}
	}
	return state.Sealed()
}

func TestTheSchemasOfTheVocabularySealWhatItSays(t *testing.T) {
	t.Parallel()
	blocks := codeBlocks(read(t, "docs/vocabulary.md"), "json")
	if len(blocks) != 3 {
		t.Fatalf("%d schemas, want 3", len(blocks))
	}
	compound := schemaFiles(t, map[string]string{"customer.json": blocks[2]}).Indexes()
	if len(compound) != 1 || compound[0].Name != "name_birth" || len(compound[0].Parts) != 2 || compound[0].Bits != 32 {
		t.Errorf("compound indexes are %v", compound)
	}
	small := schemaFiles(t, map[string]string{"invoice.issued.v1.json": blocks[0]})
	for _, c := range []struct {
		names []string
		want  bool
	}{
		{[]string{"customer", "email"}, true},
		{[]string{"customer", "name"}, true},
		{[]string{"number"}, false},
		{[]string{"total"}, false},
	} {
		if got := isSealed(t, small, "invoice.issued", c.names...); got != c.want {
			t.Errorf("sealed at %q: %t, want %t", c.names, got, c.want)
		}
	}
	if indexes := small.Indexes(); len(indexes) != 1 || indexes[0].Name != "customer_email" {
		t.Errorf("indexes are %v", indexes)
	}
	overlaid := schemaFiles(t, map[string]string{"push.json": blocks[1], "github.json": `{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"definitions": {
			"push_event": {"properties": {"pusher": {"$ref": "#/definitions/user"}, "commits": {"type": "array", "items": {"$ref": "#/definitions/push_event"}}}},
			"user": {"properties": {"email": {"type": "string"}, "login": {"type": "string"}, "id": {"type": "integer"}}}
		}
	}`})
	for _, c := range []struct {
		names []string
		want  bool
	}{
		{[]string{"pusher", "email"}, true},
		{[]string{"pusher", "login"}, true},
		{[]string{"pusher", "id"}, false},
		{[]string{"commits", "*", "commits", "*", "pusher", "email"}, true},
	} {
		if got := isSealed(t, overlaid, "github.push", c.names...); got != c.want {
			t.Errorf("sealed at %q: %t, want %t", c.names, got, c.want)
		}
	}
}

// ruleNames finds the rule ids in the source of package schema: every string of words joined by hyphens is one, but for
// the vocabulary's own words and what stands in notRules.
func ruleNames(t *testing.T) []string {
	t.Helper()
	notRules := []string{"casefold-tr", "uri-template", "json-pointer", "relative-json-pointer"}
	isRule := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	names, err := filepath.Glob(filepath.Join(root, "schema", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	rules := []string{"syntax"}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err == nil && isRule.MatchString(text) && !strings.HasPrefix(text, "x-") && !slices.Contains(notRules, text) {
				rules = append(rules, text)
			}
			return true
		})
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func TestTheVocabularyListsEveryRuleAndNoOther(t *testing.T) {
	t.Parallel()
	document := read(t, "docs/vocabulary.md")
	_, document, _ = strings.Cut(document, "## 10. What is refused")
	document, _, _ = strings.Cut(document, "## 12.")
	listed := map[string]bool{}
	id := regexp.MustCompile("`([a-z-]+)`")
	for line := range strings.Lines(document) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, match := range id.FindAllStringSubmatch(cells[1], -1) {
			listed[match[1]] = true
		}
	}
	rules := ruleNames(t)
	for _, rule := range validate.Rules() {
		rules = append(rules, rule.ID)
		if severity := "| `" + rule.ID + "` | " + string(rule.Severity) + " |"; !strings.Contains(document, severity) {
			t.Errorf("the document has no row %s", severity)
		}
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	for _, rule := range rules {
		if !listed[rule] {
			t.Errorf("the document does not list the rule %s", rule)
		}
		delete(listed, rule)
	}
	for rule := range listed {
		t.Errorf("the document lists %s, which is no rule", rule)
	}
	if len(rules) < 30 {
		t.Errorf("read only %d rules", len(rules))
	}
}

// holdsGo says whether a folder is part of the program, and not something that a build or a reader has made here.
func holdsGo(t *testing.T, folder string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			found = true
			return fs.SkipAll
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The map shows rooms that are there, and every top folder with Go code.
func TestTheArchitectureMapsTheFolders(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "docs/architecture.md"), "## The rooms\n")
	table, _, _ = strings.Cut(table, "\n## ")
	room := regexp.MustCompile("(?m)^\\| `([^`]+)/` \\|")
	mapped := map[string]bool{}
	for _, match := range room.FindAllStringSubmatch(table, -1) {
		mapped[match[1]] = true
		if info, err := os.Stat(filepath.Join(root, match[1])); err != nil || !info.IsDir() {
			t.Errorf("the map shows %s/, which is not there", match[1])
		}
		top, _, _ := strings.Cut(match[1], "/")
		mapped[top] = true
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && !mapped[entry.Name()] && holdsGo(t, filepath.Join(root, entry.Name())) {
			t.Errorf("the map does not show %s/", entry.Name())
		}
	}
}
