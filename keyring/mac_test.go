package keyring

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func newTestMaterial(t testing.TB, key []byte) *material {
	t.Helper()
	m, err := newMaterial(key)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDeriveIsHKDFWhateverWasDerivedBefore(t *testing.T) {
	t.Parallel()
	key := make([]byte, keyBytes)
	rand.Read(key)
	m := newTestMaterial(t, key)
	rapid.Check(t, func(t *rapid.T) {
		info := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "info")
		want, err := hkdf.Key(sha256.New, key, nil, string(info), keyBytes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.derive(info)
		if err != nil || !bytes.Equal(got[:], want) {
			t.Fatalf("%x, %v", got, err)
		}
	})
}

func TestAppendMACIsHMACUnderTheDerivedKey(t *testing.T) {
	t.Parallel()
	m := newTestMaterial(t, bytes.Repeat([]byte{7}, keyBytes))
	rapid.Check(t, func(t *rapid.T) {
		info := []byte(rapid.SampledFrom([]string{"", "a", "b", "a long info of more than one block of SHA-256, which has 64 bytes"}).Draw(t, "info"))
		message := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "message")
		key, err := m.derive(info)
		if err != nil {
			t.Fatal(err)
		}
		h := hmac.New(sha256.New, key[:])
		h.Write(message)
		got, err := m.appendMAC([]byte("before"), info, message)
		if err != nil || !bytes.Equal(got, h.Sum([]byte("before"))) {
			t.Fatalf("%x, %v", got, err)
		}
	})
}

func TestMoreInfosThanAreKeptAreComputedAllTheSame(t *testing.T) {
	t.Parallel()
	m := newTestMaterial(t, bytes.Repeat([]byte{7}, keyBytes))
	for range 2 {
		for i := range maxKeptInfos + 10 {
			info := []byte(strconv.Itoa(i))
			key, err := m.derive(info)
			if err != nil {
				t.Fatal(err)
			}
			h := hmac.New(sha256.New, key[:])
			h.Write([]byte("message"))
			got, err := m.appendMAC(nil, info, []byte("message"))
			if err != nil || !bytes.Equal(got, h.Sum(nil)) {
				t.Fatalf("info %d: %x, %v", i, got, err)
			}
		}
	}
	if n := len(*m.kept.Load().byInfo.Load()); n != maxKeptInfos {
		t.Errorf("%d infos are kept", n)
	}
}

func TestKeptStatesEndWithTheirKey(t *testing.T) {
	t.Parallel()
	m := newTestMaterial(t, bytes.Repeat([]byte{7}, keyBytes))
	info := []byte("info")
	use := func() error {
		_, first := m.derive(info)
		out, second := m.appendMAC([]byte("kept"), info, []byte("message"))
		if second != nil && string(out) != "kept" {
			t.Errorf("an error, and %d bytes", len(out))
		}
		if (first == nil) != (second == nil) {
			t.Errorf("%v, %v", first, second)
		}
		return second
	}
	if err := use(); err != nil { // leaves states behind
		t.Fatal(err)
	}
	why := errors.New("disabled")
	m.wipe(why)
	if err := use(); !errors.Is(err, why) {
		t.Errorf("a wiped key works on: %v", err)
	}
	if m.kept.Load() != nil {
		t.Error("the states are still reached")
	}
}

// A computation that begins after wipe has returned fails, however many began before.
func TestWipingWhileStatesAreInUse(t *testing.T) {
	t.Parallel()
	for range 50 {
		m := newTestMaterial(t, bytes.Repeat([]byte{7}, keyBytes))
		want, err := m.derive([]byte("info"))
		if err != nil {
			t.Fatal(err)
		}
		why := errors.New("destroyed")
		wiped := make(chan struct{})
		var users sync.WaitGroup
		for g := range 8 {
			users.Go(func() {
				info := []byte("info" + strconv.Itoa(g%3))
				for {
					after := false
					select {
					case <-wiped:
						after = true
					default:
					}
					key, err := m.derive([]byte("info"))
					if err == nil && key != want {
						t.Error("another key")
					}
					_, macErr := m.appendMAC(nil, info, info)
					if after {
						if !errors.Is(err, why) || !errors.Is(macErr, why) {
							t.Errorf("after wiping: %v, %v", err, macErr)
						}
						return
					}
				}
			})
		}
		m.wipe(why)
		close(wiped)
		users.Wait()
	}
}

func TestAKeyIDAppendsItsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := KeyID(rapid.Uint32().Draw(t, "id"))
		if got := string(id.Append([]byte("x"))); got != "x"+id.String() || len(got) != 9 {
			t.Fatalf("%q", got)
		}
		if back, err := ParseKeyID(id.String()); err != nil || back != id {
			t.Fatalf("%v, %v", back, err)
		}
	})
}

func BenchmarkAppendMAC(b *testing.B) {
	m := newTestMaterial(b, bytes.Repeat([]byte{7}, keyBytes))
	info, message, dst := make([]byte, 60), make([]byte, 25), make([]byte, 0, 32)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.appendMAC(dst, info, message); err != nil {
			b.Fatal(err)
		}
	}
}
