package keyring

import (
	"bytes"
	"testing"

	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func genKeys(t *rapid.T) ([]keyRecord, secrets) {
	sec := secrets{}
	var keys []keyRecord
	for _, p := range Purposes() {
		others := rapid.SliceOfN(rapid.SampledFrom([]State{Staged, Active, Disabled, Destroyed}), 0, 6).Draw(t, string(p))
		at := rapid.IntRange(0, len(others)).Draw(t, "primary at")
		states := append(append(append([]State{}, others[:at]...), Primary), others[at:]...)
		for _, s := range states {
			id := KeyID(rapid.Uint32Range(1, 1<<32-1).Filter(func(id uint32) bool {
				for _, k := range keys {
					if k.id == KeyID(id) {
						return false
					}
				}
				return true
			}).Draw(t, "id"))
			keys = append(keys, keyRecord{id: id, purpose: p, state: s})
			if s != Destroyed {
				sec[id] = rapid.SliceOfN(rapid.Byte(), keyBytes, keyBytes).Draw(t, "bytes")
			}
		}
	}
	return keys, sec
}

func TestAKeysetReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys, sec := genKeys(t)
		back := secrets{}
		for _, p := range Purposes() {
			text, err := marshalKeyset(keys, p, sec)
			if err != nil {
				t.Fatal(err)
			}
			got, fault := parseKeyset(text, keys, p)
			if fault != nil {
				t.Fatal(fault)
			}
			for id, b := range got {
				back[id] = b
			}
		}
		if !back.equal(sec) {
			t.Fatalf("%d keys came back of %d", len(back), len(sec))
		}
	})
}

func TestAKeysetIsNotWrittenWithoutTheBytesOfAKey(t *testing.T) {
	t.Parallel()
	keys := []keyRecord{{id: 1, purpose: Seal, state: Primary}, {id: 2, purpose: Seal, state: Disabled}}
	sec := secrets{1: bytes.Repeat([]byte{1}, keyBytes)}
	if _, err := marshalKeyset(keys, Seal, sec); err == nil {
		t.Fatal("a keyset was written that lacks a key")
	}
}

// A serialised keyset comes out of the KEK, so it is authentic; the reader must
// nevertheless never panic, and take nothing that it would not write.
func FuzzParseKeyset(f *testing.F) {
	keys := []keyRecord{
		{id: 0x0f3a9c01, purpose: Seal, state: Primary},
		{id: 2, purpose: Seal, state: Disabled},
		{id: 3, purpose: Seal, state: Destroyed},
	}
	sec := secrets{0x0f3a9c01: bytes.Repeat([]byte{1}, keyBytes), 2: bytes.Repeat([]byte{2}, keyBytes)}
	good, err := marshalKeyset(keys, Seal, sec)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(bytes.Clone(good), 0x7a, 0x00))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, fault := parseKeyset(text, keys, Seal)
		if fault != nil {
			if fault.Rule == "" || fault.Detail == "" {
				t.Fatalf("a fault says nothing: %+v", fault)
			}
			return
		}
		if len(got) != 2 {
			t.Fatalf("took %d keys, want those two that have bytes", len(got))
		}
		ks := &tinkpb.Keyset{}
		if err := proto.Unmarshal(text, ks); err != nil || ks.GetPrimaryKeyId() != 0x0f3a9c01 {
			t.Fatalf("took a keyset with primary %08x: %v", ks.GetPrimaryKeyId(), err)
		}
		for id, b := range got {
			if len(b) != keyBytes {
				t.Fatalf("key %s has %d bytes", id, len(b))
			}
		}
	})
}
