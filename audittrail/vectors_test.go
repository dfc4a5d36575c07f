package audittrail_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
)

// vector is one of ../testvectors/v1/audit-trails.json, which an implementation in another language wrote. This test never writes them.
type vector struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Valid   bool   `json:"valid"`
	Why     string `json:"why"`
	Refused string `json:"refused"`

	// Kind audit-entry.
	Line   string `json:"line"`
	Hashed string `json:"hashed"`
	Hash   string `json:"hash"`

	// Kind audit-trail.
	Text       string   `json:"text"`
	Noted      string   `json:"noted"`
	At         uint64   `json:"at"`
	Entries    uint64   `json:"entries"`
	Head       string   `json:"head"`
	Unfinished []uint64 `json:"unfinished"`
	Torn       bool     `json:"torn"`
}

func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testvectors/v1/audit-trails.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Format      string   `json:"format"`
		Description string   `json:"description"`
		Vectors     []vector `json:"vectors"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if file.Format != "fieldcrypt-testvectors/1" || len(file.Vectors) < 40 {
		t.Fatalf("%d vectors of format %s", len(file.Vectors), file.Format)
	}
	kinds := map[string]func(vector, *testing.T){"audit-entry": vector.checkEntry, "audit-trail": vector.checkTrail}
	for _, v := range file.Vectors {
		check := kinds[v.Kind]
		if check == nil {
			t.Errorf("%s: unknown kind %s", v.Name, v.Kind)
			continue
		}
		t.Run(v.Name, func(t *testing.T) { check(v, t) })
	}
}

func (v vector) checkEntry(t *testing.T) {
	e, err := audittrail.Parse([]byte(v.Line))
	if !v.Valid {
		if err == nil || v.Refused != string(audittrail.Changed) {
			t.Errorf("%v, want it refused as %s", err, v.Refused)
		}
		return
	}
	hashed, hexErr := hex.DecodeString(v.Hashed)
	sum := audittrail.Hash(sha256.Sum256(hashed))
	if err != nil || hexErr != nil || e.Hash.String() != v.Hash || sum != e.Hash || string(e.Text()) != v.Line {
		t.Errorf("%v, %v: %s, sum %s", err, hexErr, e.Text(), sum)
	}
}

func (v vector) checkTrail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.ndjson")
	if err := os.WriteFile(path, []byte(v.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	var noted audittrail.Hash
	if v.Noted != "" {
		var err error
		if noted, err = audittrail.ParseHash(v.Noted); err != nil {
			t.Fatal(err)
		}
	}
	log := audittrail.OpenFile(path, audittrail.FileOptions{})
	r := check(t, log, noted)
	if !v.Valid {
		if r.Finding == nil || string(r.Finding.Kind) != v.Refused || r.Finding.Seq != v.At {
			t.Errorf("%v, want %s at entry %d", r.Finding, v.Refused, v.At)
		}
		return
	}
	if r.Finding != nil || r.Entries != v.Entries || r.Head.String() != v.Head || !slices.Equal(r.Unfinished, v.Unfinished) || r.Torn != v.Torn {
		t.Errorf("%+v", r)
	}
	// Written again, the same entries are the same lines.
	var last audittrail.Entry
	for e, err := range audittrail.Entries(t.Context(), log) {
		if err != nil {
			t.Fatal(err)
		}
		again := e
		again.Seq, again.Previous, again.Hash = 0, audittrail.Hash{}, audittrail.Hash{}
		if last, err = audittrail.Chain(last, again); err != nil || !bytes.Equal(last.Text(), e.Text()) {
			t.Errorf("%v: %s, want %s", err, last.Text(), e.Text())
		}
	}
}
