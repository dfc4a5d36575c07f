package docs_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
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
	_, section, found := strings.Cut(document, "### 7.4 Worked example\n")
	if !found {
		t.Fatal("no example of a keyring file")
	}
	file := codeBlocks(section, "json")[0]
	passphrase := exampleValues(t, document, "### 7.4 Worked example")[0]["passphrase"]
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
	example := exampleValues(t, document, "### 7.4 Worked example")[0]
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
	example := exampleValues(t, document, "### 7.4 Worked example")[0]
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
	_, section, _ := strings.Cut(document, "### 7.4 Worked example\n")
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
	token := exampleValues(t, document, "### 4.7 Worked example")[0]
	received, err := envelope.Parse(envelope.Wire{
		ID: token["id"], Type: token["type"], Version: 1, AggregateID: "42",
		Payload: []byte(`{"number": "42", "customer": {"email": "` + token["token"] + `"}, "total": 1}`),
	}, envelope.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := opener.Open(t.Context(), received, envelope.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"number": "42", "customer": {"email": ` + token["value"] + `}, "total": 1}`; string(opened.Event.Payload) != want {
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
