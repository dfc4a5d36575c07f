package docs_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

// exampleKeyring opens the keyring file of docs/format.md with the product's own code.
func exampleKeyring(t *testing.T) *keyring.Keyring {
	t.Helper()
	document := read(t, "docs/format.md")
	_, section, found := strings.Cut(document, "### 7.5 Worked example\n")
	if !found {
		t.Fatal("no example of a keyring file")
	}
	file := codeBlocks(section, "json")[0]
	passphrase := exampleValues(t, document, "### 7.5 Worked example")[0]["passphrase"]
	path := filepath.Join(t.TempDir(), "keyring.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	stored, err := filekeyring.New(path, filekeyring.Options{Passphrase: filekeyring.Passphrase([]byte(passphrase))})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.Open(t.Context(), "default", stored, stored, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ring.Close)
	return ring
}

func TestTheKeyringExampleIsWhatTheFormulasGive(t *testing.T) {
	t.Parallel()
	document := read(t, "docs/format.md")
	example := exampleValues(t, document, "### 7.5 Worked example")[0]
	salt, err := hex.DecodeString(example["salt"])
	if err != nil {
		t.Fatal(err)
	}
	wantHex(t, example, "KEK", argon2.IDKey([]byte(example["passphrase"]), salt, 1, 64, 1, 32))
	ring := exampleKeyring(t)
	if want := "file:argon2id:" + example["salt"]; ring.KEKURI() != want {
		t.Errorf("the KEK is %s, want %s", ring.KEKURI(), want)
	}
	digest, err := hex.DecodeString(example["SHA-256(clear)"])
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256([]byte(exampleDocument(t, document).Clear)) != [32]byte(digest) {
		t.Errorf("SHA-256(clear) of the document is not that of its own example")
	}
	wantHex(t, example, "AD (seal)", concat(lp("fieldcrypt/v1/keyring"), lp("seal"), lp("default"), binary.BigEndian.AppendUint64(nil, 1), lp(string(digest))))
	if got := hex.EncodeToString(exampleKeyset(t, document)); got != strings.ReplaceAll(example["keyset (seal)"], " ", "") {
		t.Errorf("the document says keyset (seal) = %s, its file holds %s", example["keyset (seal)"], got)
	}
}

// exampleKeyset decrypts the seal keyset of the example's file.
func exampleKeyset(t *testing.T, document string) []byte {
	t.Helper()
	example := exampleValues(t, document, "### 7.5 Worked example")[0]
	unhex := func(name string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(example[name], " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return b
	}
	sealed, err := base64.StdEncoding.DecodeString(exampleDocument(t, document).Keysets.Seal)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(unhex("KEK"))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	keyset, err := gcm.Open(nil, sealed[:12], sealed[12:], unhex("AD (seal)"))
	if err != nil {
		t.Fatal(err)
	}
	return keyset
}

// keyringDocument is what the tests need of 7.1.
type keyringDocument struct {
	Clear   string
	Keysets struct{ Seal string }
}

// exampleDocument reads the keyring document out of the example's file.
func exampleDocument(t *testing.T, document string) keyringDocument {
	t.Helper()
	_, section, _ := strings.Cut(document, "### 7.5 Worked example\n")
	var file struct{ Document string }
	var inner keyringDocument
	unmarshal(t, codeBlocks(section, "json")[0], &file)
	unmarshal(t, file.Document, &inner)
	return inner
}

// The product reads the document's examples: the keys of its keyring derive the document's keys, its token opens, and its
// index is the product's.
func TestTheProductReadsTheExamples(t *testing.T) {
	t.Parallel()
	document := read(t, "docs/format.md")
	ring := exampleKeyring(t)
	rings, err := keyring.NewSet(ring)
	if err != nil {
		t.Fatal(err)
	}
	schemas := schemaFiles(t, map[string]string{"invoice.issued.v1.json": codeBlocks(read(t, "docs/vocabulary.md"), "json")[0]})
	opener, err := envelope.NewOpener(schemas, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealed := exampleValues(t, document, "### 4.7 Worked example")[0]
	received, err := envelope.Parse(envelope.Wire{
		ID: sealed["id"], Type: sealed["type"], Version: 1, AggregateID: "42",
		Payload: []byte(`{"number": "42", "customer": {"email": "` + sealed["token"] + `"}, "total": 1}`),
	}, envelope.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := opener.Open(t.Context(), received, envelope.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"number": "42", "customer": {"email": ` + sealed["value"] + `}, "total": 1}`; string(opened.Event.Payload) != want {
		t.Errorf("opened %s, want %s", opened.Event.Payload, want)
	}
	primary, err := ring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	for i, steps := range [][]string{{"trim", "nfkc", "casefold"}, nil} {
		example := exampleValues(t, document, "### 6.5 Worked examples")[i]
		lengths := []int{128, 12}
		index, err := blindindex.New(example["index name"], steps, lengths[i])
		if err != nil {
			t.Fatal(err)
		}
		if got := index.Normalizer().ID(); got != example["normaliser"] {
			t.Errorf("the normaliser is %s, the document says %s", got, example["normaliser"])
		}
		messages, err := index.Messages([]byte(example["value"]))
		if err != nil || len(messages) != 1 {
			t.Fatalf("messages of %s: %d, %v", example["value"], len(messages), err)
		}
		stored, err := index.Value(primary, messages[0])
		if err != nil {
			t.Fatal(err)
		}
		wantHex(t, example, "stored", stored)
		if text := blindindex.Text(stored); text != example["text"] {
			t.Errorf("the text is %s, the document says %s", text, example["text"])
		}
		if back, err := blindindex.ParseText(example["text"]); err != nil || !bytes.Equal(back, stored) {
			t.Errorf("the document's text reads as %x, %v", back, err)
		}
	}
}

// kindsOf reads the constants of type Kind from a file of package envelope.
func kindsOf(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	ast.Inspect(file, func(n ast.Node) bool {
		constant, ok := n.(*ast.ValueSpec)
		if !ok || len(constant.Values) != 1 {
			return true
		}
		if named, ok := constant.Type.(*ast.Ident); ok && named.Name == "Kind" {
			kind, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, kind)
		}
		return true
	})
	return kinds
}

func TestTheFormatListsEveryKindOfRefusal(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs/format.md"), "### 5.4 Refusals\n")
	section, _, _ = strings.Cut(section, "\n### ")
	kinds := kindsOf(t, "envelope/errors.go")
	for _, kind := range kinds {
		if !strings.Contains(section, "\n| `"+kind+"` | ") {
			t.Errorf("the document does not list the kind %s", kind)
		}
	}
	if rows := strings.Count(section, "\n| `"); rows != len(kinds) {
		t.Errorf("the document lists %d kinds, the code has %d", rows, len(kinds))
	}
}

func TestTheFormatSaysTheDefaultLimits(t *testing.T) {
	t.Parallel()
	document := read(t, "docs/format.md")
	limits := envelope.Limits{}.WithDefaults()
	for row, value := range map[string]int{
		"| plaintext payload | 1 MiB (1,048,576 bytes) |":             limits.MaxPlaintext - 1_048_576,
		"| payload in wire form | 8 MiB (8,388,608 bytes) |":          limits.MaxWire - 8_388_608,
		"| depth of nesting | 200 |":                                  limits.MaxDepth - 200,
		"| digits of a number, those of its exponent apart | 1,000 |": limits.MaxDigits - 1000,
		"| exponent of a number | −1,000 to 1,000 |":                  limits.MaxExponent - 1000,
		"| sealed values in an event | 10,000 |":                      limits.MaxSealed - 10_000,
	} {
		if !strings.Contains(document, "\n"+row+"\n") || value != 0 {
			t.Errorf("the document's row %q is missing, or the default differs by %d", row, value)
		}
	}
}

// The table of section 9 is what the migrations of both dialects make.
func TestTheFormatShowsTheOutboxAsItIsMade(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs/format.md"), "## 9. The outbox table\n")
	section, _, _ = strings.Cut(section, "\n## ")
	column := regexp.MustCompile(`(?m)^  ([a-z_]+) +([A-Za-z]+(?:\[\])?)[\s,]`)
	for position, path := range map[int]string{2: "outboxstore/postgres/migrations/0001_outbox.sql", 3: "outboxstore/sqlite/migrations/0001_outbox.sql"} {
		table, _, _ := strings.Cut(read(t, path), "\n)")
		columns := column.FindAllStringSubmatch(table, -1)
		if len(columns) < 18 {
			t.Errorf("read %d columns of %s", len(columns), path)
		}
		for _, c := range columns {
			row := ""
			for line := range strings.Lines(section) {
				if cells := strings.Split(line, "|"); len(cells) > 5 && strings.Contains(cells[1], "`"+c[1]+"`") {
					row = strings.TrimSpace(cells[position])
				}
			}
			forRelays := row == "" && strings.Contains(section, "`"+c[1]+"`")
			if typ, _, _ := strings.Cut(row, ","); typ != c[2] && !forRelays {
				t.Errorf("%s makes %s %s, the document says %q", path, c[1], c[2], row)
			}
		}
	}
}
