package keyring

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

// hexText is a member in hex.
type hexText []byte

func (h *hexText) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	decoded, err := hex.DecodeString(s)
	*h = decoded
	return err
}

// wycheproofTest has the members of HKDF's and HMAC's tests.
type wycheproofTest struct {
	ID      int     `json:"tcId"`
	Comment string  `json:"comment"`
	Result  string  `json:"result"`
	IKM     hexText `json:"ikm"`
	Salt    hexText `json:"salt"`
	Info    hexText `json:"info"`
	Size    int     `json:"size"`
	OKM     hexText `json:"okm"`
	Key     hexText `json:"key"`
	Msg     hexText `json:"msg"`
	Tag     hexText `json:"tag"`
}

// wycheproof reads the tests of a file of Project Wycheproof.
func wycheproof(t *testing.T, file string, want int) []wycheproofTest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Module(t, "github.com/c2sp/wycheproof"), "testvectors_v1", file))
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		NumberOfTests int `json:"numberOfTests"`
		TestGroups    []struct {
			Tests []wycheproofTest `json:"tests"`
		} `json:"testGroups"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	var all []wycheproofTest
	for _, group := range read.TestGroups {
		all = append(all, group.Tests...)
	}
	if len(all) != read.NumberOfTests || len(all) != want {
		t.Fatalf("%s holds %d tests, says %d, and is known to have %d", file, len(all), read.NumberOfTests, want)
	}
	return all
}

// A key derives 32 bytes under an empty salt. Of longer outputs these are the first 32, and shorter ones are the first of these. Where a test has a
// salt its extract step is the standard library's, and the expand step ours. Left out: three tests that ask for more than 255 blocks, since nothing
// here can ask for another size.
func TestWycheproofHKDF(t *testing.T) {
	t.Parallel()
	whole, expandOnly, tooLarge := 0, 0, 0
	for _, test := range wycheproof(t, "hkdf_sha256_test.json", 86) {
		if test.Size > 255*sha256.Size {
			if test.Result != "invalid" {
				t.Errorf("test %d: %d bytes are valid", test.ID, test.Size)
			}
			tooLarge++
			continue
		}
		if test.Result != "valid" {
			t.Fatalf("test %d is %s", test.ID, test.Result)
		}
		var m *material
		var err error
		if len(test.Salt) == 0 {
			m, err = newMaterial(test.IKM)
			whole++
		} else {
			var prk []byte
			prk, err = hkdf.Extract(sha256.New, test.IKM, test.Salt)
			m = &material{prk: prk}
			m.kept.Store(&keptMACs{})
			expandOnly++
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // by a new state and by a kept one
			got, err := m.derive(test.Info)
			if n := min(test.Size, len(got)); err != nil || !bytes.Equal(got[:n], test.OKM[:n]) {
				t.Errorf("test %d (%s): %x, not %x, %v", test.ID, test.Comment, got[:n], []byte(test.OKM[:n]), err)
			}
		}
	}
	t.Logf("HKDF-SHA256: %d extract and expand, %d expand, %d ask for too much", whole, expandOnly, tooLarge)
	if whole < 10 || expandOnly < 50 || tooLarge != 3 {
		t.Errorf("%d, %d and %d tests", whole, expandOnly, tooLarge)
	}
}

// All 174 tests apply: a blind index is HMAC-SHA256, whole or cut to its first bits.
func TestWycheproofHMAC(t *testing.T) {
	t.Parallel()
	valid, invalid := 0, 0
	for _, test := range wycheproof(t, "hmac_sha256_test.json", 174) {
		state := newMAC(test.Key)
		for range 2 { // the state is used again
			got := state.append([]byte{1, 2}, test.Msg)
			if len(got) != 2+sha256.Size || got[0] != 1 || got[1] != 2 {
				t.Fatalf("test %d: %x", test.ID, got)
			}
			if same := hmac.Equal(got[2:2+len(test.Tag)], test.Tag); same != (test.Result == "valid") {
				t.Errorf("test %d (%s) is %s, and the tags are equal: %v", test.ID, test.Comment, test.Result, same)
			}
		}
		if test.Result == "valid" {
			valid++
		} else {
			invalid++
		}
	}
	t.Logf("HMAC-SHA256: %d valid, %d invalid", valid, invalid)
}
