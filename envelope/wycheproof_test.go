package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

// An event's key is one of 32 bytes, a nonce has 12 and a tag 16: of Wycheproof's 316 tests of AES-GCM these are 66. The others have keys of 16 and 24
// bytes or nonces of other lengths, which nothing here can be given.
func TestWycheproofAESGCM(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(testenv.Module(t, "github.com/c2sp/wycheproof"), "testvectors_v1", "aes_gcm_test.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		NumberOfTests int `json:"numberOfTests"`
		TestGroups    []struct {
			KeySize int `json:"keySize"`
			IVSize  int `json:"ivSize"`
			TagSize int `json:"tagSize"`
			Tests   []struct {
				ID      int      `json:"tcId"`
				Comment string   `json:"comment"`
				Key     hexBytes `json:"key"`
				IV      hexBytes `json:"iv"`
				AAD     hexBytes `json:"aad"`
				Msg     hexBytes `json:"msg"`
				CT      hexBytes `json:"ct"`
				Tag     hexBytes `json:"tag"`
				Result  string   `json:"result"`
			} `json:"tests"`
		} `json:"testGroups"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	seen, valid, invalid := 0, 0, 0
	leftOut := map[string]int{}
	for _, group := range file.TestGroups {
		for _, test := range group.Tests {
			seen++
			switch {
			case group.TagSize != 8*tagLen:
				leftOut[fmt.Sprintf("tags of %d bits", group.TagSize)]++
				continue
			case group.IVSize != 8*nonceLen:
				leftOut["nonces of other lengths"]++
				continue
			case group.KeySize != 256:
				leftOut["keys of 16 and 24 bytes"]++
				continue
			}
			gcm, err := newGCM(test.Key)
			if err != nil {
				t.Fatal(err)
			}
			sealed := slices.Concat(test.CT, test.Tag)
			opened, err := gcm.Open(nil, test.IV, sealed, test.AAD)
			if test.Result != "valid" {
				invalid++
				if err == nil {
					t.Errorf("test %d (%s) opens", test.ID, test.Comment)
				}
				continue
			}
			valid++
			if err != nil || !bytes.Equal(opened, test.Msg) {
				t.Errorf("test %d (%s) opens to %x, %v", test.ID, test.Comment, opened, err)
			}
			if got := gcm.Seal(nil, test.IV, test.Msg, test.AAD); !bytes.Equal(got, sealed) {
				t.Errorf("test %d (%s) seals to %x", test.ID, test.Comment, got)
			}
		}
	}
	t.Logf("AES-GCM: %d valid, %d invalid; left out: %v", valid, invalid, leftOut)
	if seen != 316 || seen != file.NumberOfTests || valid != 39 || invalid != 27 || len(leftOut) != 2 {
		t.Errorf("%d tests, %d said, %d valid, %d invalid, left out %v", seen, file.NumberOfTests, valid, invalid, leftOut)
	}
}
