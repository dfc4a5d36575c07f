package blindindex

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// The published vectors of ../testvectors, which an implementation in another language wrote. This test never writes them.

// hexBytes is a member in hex.
type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	decoded, err := hex.DecodeString(s)
	*h = decoded
	return err
}

// vector holds the members of all kinds that this package checks.
type vector struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Valid   bool   `json:"valid"`
	Why     string `json:"why"`
	Refused string `json:"refused"`

	Key        hexBytes   `json:"key"`
	Kid        string     `json:"kid"`
	Index      string     `json:"index"`
	Steps      []string   `json:"steps"`
	Parts      [][]string `json:"parts"`
	Hashed     hexBytes   `json:"hashed"`
	Normaliser string     `json:"normaliser"`
	Bits       int        `json:"bits"`
	Info       hexBytes   `json:"info"`
	IndexKey   hexBytes   `json:"index_key"`
	Text       string     `json:"text"`
	Normalised string     `json:"normalised"`
	JSON       string     `json:"json"`
	JSONHex    hexBytes   `json:"json_hex"`
	Message    hexBytes   `json:"message"`
	Messages   []hexBytes `json:"messages"`
	Stored     hexBytes   `json:"stored"`
}

// eachVector runs a subtest for each vector of a kind in a file of ../testvectors/v1.
func eachVector(t *testing.T, file, kind string, run func(t *testing.T, v vector)) {
	t.Helper()
	text, err := os.ReadFile("../testvectors/v1/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Format  string            `json:"format"`
		Vectors []json.RawMessage `json:"vectors"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.Format != "fieldcrypt-testvectors/1" {
		t.Fatalf("%s is of the format %q", file, read.Format)
	}
	ran := 0
	for _, raw := range read.Vectors {
		var head vector
		if err := json.Unmarshal(raw, &struct {
			Kind *string `json:"kind"`
		}{&head.Kind}); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		var v vector
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("%s: %v: %s", file, err, raw)
		}
		ran++
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			run(t, v)
		})
	}
	if ran == 0 {
		t.Fatalf("%s holds no vectors of kind %s", file, kind)
	}
}

func TestNormaliserVectors(t *testing.T) {
	t.Parallel()
	checkNormalise := func(t *testing.T, v vector) {
		normalizer, err := ParseNormalizer(v.Steps)
		if !v.Valid {
			var unknown *UnknownStepError
			var parameter *StepParameterError
			var place *StepPlaceError
			if v.Refused != "step" || !errors.As(err, &unknown) && !errors.As(err, &parameter) && !errors.As(err, &place) {
				t.Fatalf("must be refused for %s: %v", v.Refused, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := normalizer.ID(); got != v.Normaliser {
			t.Errorf("the id is %s, not %s", got, v.Normaliser)
		}
		if got := normalizer.Normalize(v.Text); got != v.Normalised {
			t.Errorf("%+q gives %+q, not %+q", v.Text, got, v.Normalised)
		}
	}
	eachVector(t, "normalisers.json", "normalise", checkNormalise)
	eachVector(t, "steps.json", "normalise", checkNormalise)
}

func TestCompoundVectors(t *testing.T) {
	t.Parallel()
	eachVector(t, "compounds.json", "compound", func(t *testing.T, v vector) {
		ix, err := NewCompound("x", v.Parts, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ix.Messages([]byte(v.JSON))
		if !v.Valid {
			for refused, target := range map[string]any{"parts": new(*PartsError), "type": new(*TypeError), "json": new(*SyntaxError)} {
				if v.Refused == refused && errors.As(err, target) {
					return
				}
			}
			t.Fatalf("must be refused for %s: %v", v.Refused, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if ix.NormalizerID() != v.Normaliser {
			t.Errorf("the id is %s, not %s", ix.NormalizerID(), v.Normaliser)
		}
		if !slices.EqualFunc(got, v.Messages, func(a []byte, b hexBytes) bool { return bytes.Equal(a, b) }) {
			t.Errorf("got %x, not %x", got, v.Messages)
		}
	})
}

func TestMessageVectors(t *testing.T) {
	t.Parallel()
	eachVector(t, "messages.json", "messages", func(t *testing.T, v vector) {
		text := []byte(v.JSON)
		if v.JSONHex != nil {
			text = v.JSONHex
		}
		got, err := mustIndex(t, "x", v.Steps, 0).Messages(text)
		if !v.Valid {
			var typeError *TypeError
			var syntaxError *SyntaxError
			var limitError *NumberLimitError
			switch v.Refused {
			case "type":
				if !errors.As(err, &typeError) {
					t.Fatalf("must be a type error: %v", err)
				}
			case "json":
				if !errors.As(err, &syntaxError) && !errors.As(err, &limitError) {
					t.Fatalf("must be refused as JSON: %v", err)
				}
			default:
				t.Fatalf("refused for %q, which this test does not know", v.Refused)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, v.Messages, func(a []byte, b hexBytes) bool { return bytes.Equal(a, b) }) {
			t.Errorf("got %x, not %x", got, v.Messages)
		}
	})
}

// keyOf gives a keyring whose primary index key is the vector's.
func keyOf(t *testing.T, v vector) *keyring.Key {
	t.Helper()
	kid, err := keyring.ParseKeyID(v.Kid)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Key) != 32 {
		t.Fatalf("a key of %d bytes", len(v.Key))
	}
	return indexKey(t, keyringtest.New(t, keyringtest.Options{Keys: []keyringtest.Key{
		keyringtest.NewKey(keyring.Seal, keyring.Primary),
		{ID: kid, Purpose: keyring.Index, State: keyring.Primary, Bytes: [32]byte(v.Key)},
	}}))
}

func TestIndexKeyVectors(t *testing.T) {
	t.Parallel()
	eachVector(t, "derivation.json", "index-key", func(t *testing.T, v vector) {
		info := indexKeyInfo(v.Index, v.Normaliser, v.Bits)
		if !bytes.Equal(info, v.Info) {
			t.Errorf("info is %x, not %x", info, v.Info)
		}
		v.Kid = "0f3a9c01" // does not go into the derivation
		derived, err := keyOf(t, v).Derive(info)
		if err != nil || !bytes.Equal(derived[:], v.IndexKey) {
			t.Errorf("the index key is %x, not %x (%v)", derived, v.IndexKey, err)
		}
	})
}

func TestIndexValueVectors(t *testing.T) {
	t.Parallel()
	checkValue := func(t *testing.T, v vector) {
		ix := mustIndex(t, v.Index, v.Steps, v.Bits)
		if v.Parts != nil {
			var err error
			if ix, err = NewCompound(v.Index, v.Parts, v.Bits); err != nil {
				t.Fatal(err)
			}
		}
		if got := ix.NormalizerID(); got != v.Normaliser {
			t.Errorf("the normaliser's id is %s, not %s", got, v.Normaliser)
		}
		key := keyOf(t, v)
		derived, err := key.Derive(ix.info)
		if err != nil || !bytes.Equal(derived[:], v.IndexKey) {
			t.Errorf("the index key is %x, not %x (%v)", derived, v.IndexKey, err)
		}
		if slowed, err := ix.slowed(key, v.Message); v.Hashed != nil && !bytes.Equal(slowed, v.Hashed) {
			t.Errorf("the slow hash is %x, not %x (%v)", slowed, v.Hashed, err)
		}
		stored, err := ix.Value(key, v.Message)
		if err != nil || !bytes.Equal(stored, v.Stored) {
			t.Fatalf("the value is %x, not %x (%v)", stored, v.Stored, err)
		}
		if got := Text(stored); got != v.Text {
			t.Errorf("the text is %s, not %s", got, v.Text)
		}
		candidates, err := ix.Candidates([]*keyring.Key{key}, [][]byte{v.Message})
		if err != nil || len(candidates) != 1 || !bytes.Equal(candidates[0], v.Stored) {
			t.Errorf("the candidates are %x (%v)", candidates, err)
		}
	}
	eachVector(t, "index-values.json", "index-value", checkValue)
	eachVector(t, "compounds.json", "index-value", checkValue)
	eachVector(t, "slow-index-values.json", "index-value", checkValue)
}

func TestIndexTextVectors(t *testing.T) {
	t.Parallel()
	eachVector(t, "index-texts.json", "index-text", func(t *testing.T, v vector) {
		stored, err := ParseText(v.Text)
		if !v.Valid {
			var storedError *StoredError
			if v.Refused != "form" || !errors.As(err, &storedError) {
				t.Fatalf("must be refused for %s: %v", v.Refused, err)
			}
			return
		}
		if err != nil || !bytes.Equal(stored, v.Stored) {
			t.Fatalf("read as %x, not %x (%v)", stored, v.Stored, err)
		}
		if got := Text(v.Stored); got != v.Text {
			t.Errorf("written %s, not %s", got, v.Text)
		}
	})
}
