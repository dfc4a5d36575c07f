package keyring_test

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// spellings are the ways in which Go prints bytes, of a piece that is long
// enough not to stand anywhere by chance.
func spellings(secret []byte) []string {
	piece := secret[4:12]
	var decimals, hexes []string
	for _, b := range piece {
		decimals = append(decimals, fmt.Sprint(b))
		hexes = append(hexes, fmt.Sprintf("0x%x", b))
	}
	return []string{
		string(piece), hex.EncodeToString(piece), strings.ToUpper(hex.EncodeToString(piece)),
		strings.Join(decimals, " "), strings.Join(decimals, ", "), strings.Join(decimals, ","), strings.Join(hexes, ", "),
		base64.StdEncoding.EncodeToString(secret[3:12]), base64.StdEncoding.EncodeToString(secret)[4:16],
	}
}

// verbs print a value in every way that package fmt has.
func verbs(v any) string {
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%U", "%c"} {
		fmt.Fprintf(&out, verb+"\n", v)
	}
	return out.String()
}

func TestNoKeyByteIsPrintedOrLogged(t *testing.T) {
	t.Parallel()
	seal, index := keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)
	off := keyringtest.NewKey(keyring.Seal, keyring.Disabled)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
	asJSON := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ring := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{seal, index, off}, Logger: logger})
	key, err := ring.Keyring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	set, err := keyring.NewSet(ring.Keyring)
	if err != nil {
		t.Fatal(err)
	}
	values := []any{
		ring.Keyring, reflect.ValueOf(ring.Keyring).Elem().Interface(), []*keyring.Keyring{ring.Keyring},
		key, *key, []*keyring.Key{key}, []keyring.Key{*key}, map[string]keyring.Key{"k": *key}, struct{ K keyring.Key }{*key}, ring.Keyring.Usable(keyring.Index),
		set, *set, ring.Keyring.Describe(), *ring.Keyring.Describe(), ring.Keyring.Keys(), ring.Manager, reflect.ValueOf(ring.Manager).Elem().Interface(),
	}
	var errs []error
	_, err = ring.Keyring.Key(ctx, keyring.Seal, off.ID)
	errs = append(errs, err)
	_, err = ring.Keyring.Key(ctx, keyring.Seal, 1)
	errs = append(errs, err)
	_, err = ring.Manager.Create(ctx, keyring.CreateOptions{})
	errs = append(errs, err)
	_, err = ring.Manager.Promote(ctx, keyring.Seal, keyring.PromoteOptions{})
	errs = append(errs, err)
	changed, err := ring.Manager.Stage(ctx, keyring.Seal, keyring.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	values = append(values, changed, *changed)
	_, err = ring.Manager.Promote(ctx, keyring.Seal, keyring.PromoteOptions{})
	errs = append(errs, err)
	// Documents that are refused after the KEK has opened them.
	for i := range 4 {
		doc := ring.Document()
		doc.Clear.Revision += 10
		ks := doc.Keysets[keyring.Seal]
		switch i {
		case 0:
			ks.Key[0].KeyData.Value = append(ks.Key[0].KeyData.Value, 0xff)
		case 1:
			ks.Key[0].KeyId++
		case 2:
			ks.PrimaryKeyId++
		case 3:
			ks.Key[0].KeyData.TypeUrl = "x"
		}
		raw, err := doc.Seal(ring.KEK)
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(t, "default", raw, ring.KEK)
		errs = append(errs, err)
	}
	garbled := garblingKEK{ring.KEK}
	raw, _, err := ring.Store.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(t, "default", raw, garbled)
	errs = append(errs, err)
	for i, err := range errs {
		if err == nil {
			t.Fatalf("error %d did not happen", i)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			values = append(values, err)
		}
	}
	ring.Refresh()
	var out strings.Builder
	for _, v := range values {
		out.WriteString(verbs(v))
		logger.Info("value", "v", v)
		asJSON.Info("value", "v", v)
		if text, err := json.Marshal(v); err == nil {
			out.Write(text)
		}
	}
	out.WriteString(log.String())
	printed := out.String()
	if !strings.Contains(printed, "seal key "+seal.ID.String()) || !strings.Contains(printed, "keyring default (revision") {
		t.Fatalf("the values were not printed at all:\n%.2000s", printed)
	}
	for _, k := range []keyringtest.Key{seal, index, off} {
		prk, err := hkdf.Extract(sha256.New, k.Bytes[:], nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, secret := range map[string][]byte{"the key": k.Bytes[:], "its extract": prk} {
			for _, s := range spellings(secret) {
				if strings.Contains(printed, s) {
					t.Errorf("%s %s was printed as %q", k.ID, what, s)
				}
			}
		}
	}
}

// garblingKEK opens keysets to something that is close to one.
type garblingKEK struct{ *keyringtest.KEK }

func (k garblingKEK) DecryptWithContext(ctx context.Context, ct, ad []byte) ([]byte, error) {
	pt, err := k.KEK.DecryptWithContext(ctx, ct, ad)
	if err != nil {
		return nil, err
	}
	return append(pt, 0xff), nil
}

// The check above must be able to fail.
func TestSpellingsFindASecretInEachVerb(t *testing.T) {
	t.Parallel()
	secret := sha256.Sum256([]byte("a secret"))
	type leaky struct{ Bytes []byte }
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%X", "%d", "%s"} {
		printed := fmt.Sprintf(verb, leaky{secret[:]})
		found := false
		for _, s := range spellings(secret[:]) {
			found = found || strings.Contains(printed, s)
		}
		if !found {
			t.Errorf("%s: not found in %s", verb, printed)
		}
	}
	text, err := json.Marshal(leaky{secret[:]})
	if err != nil {
		t.Fatal(err)
	}
	if s := spellings(secret[:]); !strings.Contains(string(text), s[len(s)-1]) {
		t.Errorf("JSON: not found in %s", text)
	}
}
