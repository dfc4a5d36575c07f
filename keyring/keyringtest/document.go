package keyringtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf/hkdfprf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/secretdata"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// This file writes and edits keyring documents on its own, from the format's
// description and Tink's high-level API alone, so that a test which opens them
// with package keyring compares two implementations.

// Key is a key with given bytes.
type Key struct {
	ID      keyring.KeyID
	Purpose keyring.Purpose
	State   keyring.State
	Bytes   [32]byte
}

// Document is a keyring document in the making. Fields may hold what a real
// writer never writes.
type Document struct {
	Format   string
	Clear    Clear
	Keysets  map[keyring.Purpose]*tinkpb.Keyset
	ClearRaw string // if set, stands in the document in place of Clear
}

// Clear is the clear part.
type Clear struct {
	Name        string       `json:"name"`
	Revision    uint64       `json:"revision"`
	KEK         string       `json:"kek"`
	Propagation string       `json:"propagation"`
	Written     *ClearMark   `json:"written,omitempty"`
	MovedTo     string       `json:"moved_to,omitempty"`
	Formerly    string       `json:"formerly,omitempty"`
	Stores      []ClearStore `json:"stores"`
	Keys        []ClearKey   `json:"keys"`
}

// ClearKey is a key in the clear part.
type ClearKey struct {
	ID         string       `json:"id"`
	Purpose    string       `json:"purpose"`
	State      string       `json:"state"`
	States     []ClearState `json:"states"`
	Hold       *ClearHold   `json:"hold,omitempty"`
	Everywhere *ClearMark   `json:"everywhere,omitempty"`
}

// ClearStore is a listed store.
type ClearStore struct {
	URL   string `json:"url"`
	Query string `json:"query,omitempty"`
}

// ClearHold is a hold on a key.
type ClearHold struct {
	Until  string `json:"until"`
	Reason string `json:"reason"`
	Time   string `json:"time"`
	Author string `json:"author"`
}

// ClearMark tells when something was noted, and by whom.
type ClearMark struct {
	Time   string `json:"time"`
	Author string `json:"author"`
}

// ClearState is one state in a key's history.
type ClearState struct {
	State  string `json:"state"`
	Time   string `json:"time"`
	Author string `json:"author"`
}

type outer struct {
	Format  string            `json:"format"`
	Clear   string            `json:"clear"`
	Keysets map[string]string `json:"keysets"`
}

const author = "keyringtest"

// NewDocument makes the first revision of a document that holds these keys.
func NewDocument(name, kekURI string, at time.Time, keys []Key) (*Document, error) {
	d := &Document{
		Format: "fieldcrypt-keyring/1",
		Clear:  Clear{Name: name, Revision: 1, KEK: kekURI, Propagation: "10m0s", Stores: []ClearStore{}, Keys: []ClearKey{}},
		Keysets: map[keyring.Purpose]*tinkpb.Keyset{
			keyring.Seal:  {},
			keyring.Index: {},
		},
	}
	for _, k := range keys {
		d.Clear.Keys = append(d.Clear.Keys, ClearKey{
			ID: k.ID.String(), Purpose: string(k.Purpose), State: string(k.State),
			States: []ClearState{{State: string(k.State), Time: timeText(at), Author: author}},
		})
		if k.State == keyring.Destroyed {
			continue
		}
		tk, err := tinkKey(k)
		if err != nil {
			return nil, err
		}
		ks := d.Keysets[k.Purpose]
		if ks == nil {
			return nil, fmt.Errorf("key %s has no purpose", k.ID)
		}
		ks.Key = append(ks.Key, tk)
		if k.State == keyring.Primary {
			ks.PrimaryKeyId = uint32(k.ID)
		}
	}
	return d, nil
}

// tinkKey builds a Tink key through Tink's own key type and serialiser.
func tinkKey(k Key) (*tinkpb.Keyset_Key, error) {
	params, err := hkdfprf.NewParameters(32, hkdfprf.SHA256, nil)
	if err != nil {
		return nil, err
	}
	key, err := hkdfprf.NewKey(secretdata.NewBytesFromData(k.Bytes[:], insecuresecretdataaccess.Token{}), params)
	if err != nil {
		return nil, err
	}
	m := keyset.NewManager()
	id, err := m.AddKey(key)
	if err != nil {
		return nil, err
	}
	if err := m.SetPrimary(id); err != nil {
		return nil, err
	}
	h, err := m.Handle()
	if err != nil {
		return nil, err
	}
	tk := insecurecleartextkeyset.KeysetMaterial(h).GetKey()[0]
	tk.KeyId = uint32(k.ID)
	tk.Status = tinkpb.KeyStatusType_ENABLED
	if k.State == keyring.Disabled {
		tk.Status = tinkpb.KeyStatusType_DISABLED
	}
	return tk, nil
}

// AssociatedData writes the associated data of a keyset.
func AssociatedData(p keyring.Purpose, name string, revision uint64, clear string) []byte {
	var b bytes.Buffer
	lp := func(x []byte) {
		binary.Write(&b, binary.BigEndian, uint32(len(x)))
		b.Write(x)
	}
	lp([]byte("fieldcrypt/v1/keyring"))
	lp([]byte(p))
	lp([]byte(name))
	binary.Write(&b, binary.BigEndian, revision)
	sum := sha256.Sum256([]byte(clear))
	lp(sum[:])
	return b.Bytes()
}

// Seal writes the document under a KEK.
func (d *Document) Seal(kek keyring.KEK) ([]byte, error) {
	text := d.ClearRaw
	if text == "" {
		b, err := json.Marshal(d.Clear)
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	o := outer{Format: d.Format, Clear: text, Keysets: map[string]string{}}
	for p, ks := range d.Keysets {
		var plain bytes.Buffer
		if err := keyset.NewBinaryWriter(&plain).Write(ks); err != nil {
			return nil, err
		}
		ct, err := kek.EncryptWithContext(context.Background(), plain.Bytes(), AssociatedData(p, d.Clear.Name, d.Clear.Revision, text))
		if err != nil {
			return nil, err
		}
		o.Keysets[string(p)] = base64.StdEncoding.EncodeToString(ct)
	}
	return json.Marshal(o)
}

// OpenDocument reads a document back for editing.
func OpenDocument(raw []byte, kek keyring.KEK) (*Document, error) {
	var o outer
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	d := &Document{Format: o.Format, Keysets: map[keyring.Purpose]*tinkpb.Keyset{}}
	if err := json.Unmarshal([]byte(o.Clear), &d.Clear); err != nil {
		return nil, err
	}
	for name, text := range o.Keysets {
		p := keyring.Purpose(name)
		ct, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		plain, err := kek.DecryptWithContext(context.Background(), ct, AssociatedData(p, d.Clear.Name, d.Clear.Revision, o.Clear))
		if err != nil {
			return nil, err
		}
		if d.Keysets[p], err = keyset.NewBinaryReader(bytes.NewReader(plain)).Read(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// SetState brings a key into a state, whatever its state was: also where the
// life cycle has no such step.
func (d *Document) SetState(p keyring.Purpose, id keyring.KeyID, state keyring.State, at time.Time) error {
	ks := d.Keysets[p]
	for i := range d.Clear.Keys {
		k := &d.Clear.Keys[i]
		if k.ID != id.String() || k.Purpose != string(p) {
			continue
		}
		k.State = string(state)
		k.States = append(k.States, ClearState{State: string(state), Time: timeText(at), Author: author})
		return setTinkState(ks, id, state)
	}
	return fmt.Errorf("no %s key %s", p, id)
}

func setTinkState(ks *tinkpb.Keyset, id keyring.KeyID, state keyring.State) error {
	for i, tk := range ks.GetKey() {
		if tk.GetKeyId() != uint32(id) {
			continue
		}
		switch state {
		case keyring.Destroyed:
			ks.Key = append(ks.Key[:i:i], ks.Key[i+1:]...)
		case keyring.Disabled:
			tk.Status = tinkpb.KeyStatusType_DISABLED
		default:
			tk.Status = tinkpb.KeyStatusType_ENABLED
		}
		if state == keyring.Primary {
			ks.PrimaryKeyId = uint32(id)
		}
		return nil
	}
	return fmt.Errorf("key %s was destroyed", id)
}

func timeText(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}
