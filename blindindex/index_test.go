package blindindex

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func indexKey(t failer, ring *keyring.Keyring) *keyring.Key {
	t.Helper()
	key, err := ring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestNewRefusesWhatTheFormatDoesNotAllow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "A", "1a", "_a", "a-b", "a b", "a.b", "ä", "a\n", strings.Repeat("a", 42)} {
		_, err := New(name, nil, 0)
		var nameError *NameError
		if !errors.As(err, &nameError) || nameError.Name != name {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, bits := range []int{-1, 1, 7, 257, 1 << 20} {
		_, err := New("x", nil, bits)
		var bitsError *BitsError
		if !errors.As(err, &bitsError) || bitsError.Bits != bits {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	_, err := New("x", []string{"soundex"}, 0)
	var unknown *UnknownStepError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("step soundex: %v", err)
	}
}

func TestNewTakesTheFormatsBounds(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", 41)
	for _, bits := range []int{8, 9, 255, 256} {
		if got := mustIndex(t, longest, nil, bits).Bits(); got != bits {
			t.Errorf("%d bits became %d", bits, got)
		}
	}
	ix := mustIndex(t, "a_1", []string{"trim", "digits"}, 0)
	if ix.Name() != "a_1" || ix.Bits() != 128 || ix.Normalizer().ID() != "trim.1+digits.1" {
		t.Errorf("%s, %d bits, %s", ix.Name(), ix.Bits(), ix.Normalizer().ID())
	}
}

// The formula of the format, written a second time with the standard library alone.
func TestValueIsTheFormatsFormula(t *testing.T) {
	t.Parallel()
	lp := func(s string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...) }
	rapid.Check(t, func(rt *rapid.T) {
		bits := rapid.IntRange(MinBits, MaxBits).Draw(rt, "bits")
		message := append([]byte("s"), rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(rt, "message")...)
		secret := keyringtest.NewKey(keyring.Index, keyring.Primary)
		ring := keyringtest.New(t, keyringtest.Options{Keys: []keyringtest.Key{secret, keyringtest.NewKey(keyring.Seal, keyring.Primary)}})
		info := slices.Concat(lp("fieldcrypt/v1/index"), lp("tax_id"), lp("trim.1+casefold.1"), []byte{byte(bits >> 8), byte(bits)})
		derived, err := hkdf.Key(sha256.New, secret.Bytes[:], nil, string(info), 32)
		if err != nil {
			rt.Fatal(err)
		}
		mac := hmac.New(sha256.New, derived)
		mac.Write(message)
		whole := mac.Sum(nil)
		want := binary.BigEndian.AppendUint32(nil, uint32(secret.ID))
		for bit := 0; bit < bits; bit += 8 {
			b := whole[bit/8]
			for low := bits - bit; low < 8; low++ {
				b &^= 1 << (7 - low)
			}
			want = append(want, b)
		}

		got, err := mustIndex(rt, "tax_id", []string{"trim", "casefold"}, bits).Value(indexKey(rt, ring), message)
		if err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("%d bits of %q: %x, %v; not %x", bits, message, got, err, want)
		}
		if kid, err := KeyID(got); err != nil || kid != secret.ID {
			rt.Fatalf("key id %s, %v", kid, err)
		}
		parsed, err := ParseText(Text(got))
		if err != nil || !bytes.Equal(parsed, got) {
			rt.Fatalf("%x, %v", parsed, err)
		}
	})
}

func TestIndexesThatDifferInAnythingShareNoValue(t *testing.T) {
	t.Parallel()
	key := indexKey(t, keyringtest.New(t))
	seen := map[string]string{}
	for name, ix := range map[string]*Index{
		"the index":          mustIndex(t, "a", []string{"trim"}, 128),
		"another name":       mustIndex(t, "b", []string{"trim"}, 128),
		"another normaliser": mustIndex(t, "a", []string{"trim", "trim"}, 128),
		"no normaliser":      mustIndex(t, "a", nil, 128),
		"other bits":         mustIndex(t, "a", []string{"trim"}, 136),
	} {
		stored, err := ix.Value(key, []byte("sx"))
		if err != nil {
			t.Fatal(err)
		}
		first := string(stored[:kidSize+16])
		if other, taken := seen[first]; taken {
			t.Errorf("%s and %s have the same value", name, other)
		}
		seen[first] = name
	}
}

func TestSealKeysAndNoKeysAreRefused(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 0)
	ring := keyringtest.New(t)
	sealKey, err := ring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	var purpose *PurposeError
	if _, err := ix.Value(sealKey, []byte("sx")); !errors.As(err, &purpose) || purpose.KeyID != sealKey.ID() {
		t.Errorf("a seal key: %v", err)
	}
	if _, err := ix.Candidates([]*keyring.Key{sealKey}, nil); !errors.As(err, &purpose) {
		t.Errorf("a seal key without messages: %v", err)
	}
	if _, err := ix.Value(nil, []byte("sx")); !errors.As(err, &purpose) {
		t.Errorf("no key: %v", err)
	}
}

func TestBytesThatAreNoMessageAreRefused(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 0)
	key := indexKey(t, keyringtest.New(t))
	for _, message := range []string{"", "s", "i", "plain value", "c\x00\x02"} {
		_, err := ix.Value(key, []byte(message))
		var messageError *MessageError
		if !errors.As(err, &messageError) {
			t.Errorf("%q: %v", message, err)
		}
		if err != nil && strings.Contains(err.Error(), "plain value") {
			t.Errorf("the error holds the message: %v", err)
		}
	}
}

// A search made at any step of a rotation finds what was written at any other.
func TestCandidatesCoverEveryUsableKey(t *testing.T) {
	t.Parallel()
	keys := []keyringtest.Key{keyringtest.NewKey(keyring.Seal, keyring.Primary)}
	for _, state := range []keyring.State{keyring.Primary, keyring.Staged, keyring.Active, keyring.Active, keyring.Disabled} {
		keys = append(keys, keyringtest.NewKey(keyring.Index, state))
	}
	ring := keyringtest.New(t, keyringtest.Options{Keys: keys})
	usable := ring.Usable(keyring.Index)
	if len(usable) != 4 {
		t.Fatalf("%d usable index keys", len(usable))
	}
	rapid.Check(t, func(t *rapid.T) {
		ix := mustIndex(t, "x", []string{"casefold"}, rapid.IntRange(MinBits, MaxBits).Draw(t, "bits"))
		messages := ix.Query(rapid.StringMatching(`-?[1-9][0-9]{0,5}`).Draw(t, "text"), true, true)
		if len(messages) != 2 {
			t.Fatalf("%q", messages)
		}
		candidates, err := ix.Candidates(usable, messages)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(candidates, bytes.Compare) {
			t.Fatalf("not sorted: %x", candidates)
		}
		covered := map[string]bool{}
		for _, key := range usable {
			for _, message := range messages {
				stored, err := ix.Value(key, message)
				if err != nil {
					t.Fatal(err)
				}
				covered[string(stored)] = true
				if _, found := slices.BinarySearchFunc(candidates, stored, bytes.Compare); !found {
					t.Fatalf("%s key %s is not asked for", key.State(), key.ID())
				}
			}
		}
		if len(candidates) != len(covered) {
			t.Fatalf("%d candidates for %d values", len(candidates), len(covered))
		}
	})
}

// A column's array must not be in the order of the plaintexts, and messages that a short index does not tell apart are one value.
func TestValuesAreDistinctAndInTheOrderOfTheHashes(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 8)
	key := indexKey(t, keyringtest.New(t))
	var messages [][]byte
	for c := range 200 {
		messages = append(messages, []byte{'s', byte(c/10) + 'a', byte(c%10) + '0'})
	}
	values, err := ix.Values(key, messages)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(values, bytes.Compare) || len(slices.CompactFunc(slices.Clone(values), bytes.Equal)) != len(values) {
		t.Errorf("not sorted and distinct: %x", values)
	}
	if len(values) >= len(messages) || len(values) < 80 {
		t.Errorf("200 messages of 8 bits have %d values", len(values)) // 139 are expected
	}
	none, err := ix.Values(key, nil)
	if err != nil || len(none) != 0 {
		t.Errorf("no messages: %x, %v", none, err)
	}
}

func TestAKeyThatTheKeyringWipedComputesNothing(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	key := indexKey(t, ring.Keyring)
	ix := mustIndex(t, "x", nil, 0)
	if _, err := ix.Value(key, []byte("sx")); err != nil {
		t.Fatal(err)
	}
	ring.Keyring.Close()
	if stored, err := ix.Value(key, []byte("sx")); err == nil {
		t.Errorf("a closed keyring's key still gives %x", stored)
	}
}

func TestAnIndexIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", []string{"trim", "nfkc", "casefold-tr", "digits"}, 20)
	key := indexKey(t, keyringtest.New(t))
	compute := func() []byte {
		messages, err := ix.Messages([]byte(`[" I\u0307stanbul ٣٤ ", "ﬁ 06", 7]`))
		if err != nil {
			t.Error(err)
			return nil
		}
		values, err := ix.Values(key, messages)
		if err != nil {
			t.Error(err)
		}
		return bytes.Join(values, nil)
	}
	want := compute()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if got := compute(); !bytes.Equal(got, want) {
					t.Errorf("%x, not %x", got, want)
					return
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkValue(b *testing.B) {
	ix := mustIndex(b, "tax_id", []string{"trim", "casefold"}, 128)
	key := indexKey(b, keyringtest.New(b))
	message := []byte("stest-0000-1111")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ix.Value(key, message); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMessages(b *testing.B) {
	ix := mustIndex(b, "name", []string{"trim", "nfkc", "casefold"}, 128)
	text := []byte(`" Işıl Yılmaz "`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ix.Messages(text); err != nil {
			b.Fatal(err)
		}
	}
}
