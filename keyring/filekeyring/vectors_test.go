package filekeyring

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// The KEKs of ../../testvectors, which Argon2's own library computed. This test never writes them.
func TestKEKVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../testvectors/v1/file-keks.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Format      string `json:"format"`
		Description string `json:"description"`
		Vectors     []struct {
			Name       string `json:"name"`
			Kind       string `json:"kind"`
			Valid      bool   `json:"valid"`
			Why        string `json:"why"`
			Passphrase string `json:"passphrase"`
			Salt       string `json:"salt"`
			Time       uint32 `json:"time"`
			MemoryKiB  uint32 `json:"memory_kib"`
			Threads    uint32 `json:"threads"`
			URI        string `json:"uri"`
			KEK        string `json:"kek"`
		} `json:"vectors"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil || file.Format != "fieldcrypt-testvectors/1" || len(file.Vectors) == 0 {
		t.Fatalf("%q, %v", file.Format, err)
	}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			params := Argon2id{Time: v.Time, MemoryKiB: v.MemoryKiB, Threads: v.Threads}
			salt, err := hex.DecodeString(v.Salt)
			if err != nil || v.Kind != "file-kek" || !v.Valid || params.check() != nil {
				t.Fatalf("kind %s, valid %v: %v, %v", v.Kind, v.Valid, err, params.check())
			}
			h := header{params: params, salt: string(salt)}
			if got := hex.EncodeToString(params.key([]byte(v.Passphrase), salt)); got != v.KEK || h.uri() != v.URI {
				t.Errorf("the KEK %s is %s, not %s %s", h.uri(), got, v.URI, v.KEK)
			}
		})
	}
}
