package keyring_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	commonpb "github.com/tink-crypto/tink-go/v2/proto/common_go_proto"
	hkdfpb "github.com/tink-crypto/tink-go/v2/proto/hkdf_prf_go_proto"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// vector is a document that a program in another language wrote, with its own
// protobuf, HKDF and AES-GCM.
type vector struct {
	Name           string            `json:"name"`
	KEKURI         string            `json:"kek_uri"`
	KEK            string            `json:"kek"`
	Revision       uint64            `json:"revision"`
	Digest         string            `json:"digest"`
	AssociatedData map[string]string `json:"associated_data"`
	Info           string            `json:"info"`
	Keys           []struct {
		ID, Purpose, State, Key, Derived string
	} `json:"keys"`
	Document string `json:"document"`
}

func readVector(t testing.TB) (vector, *keyringtest.KEK) {
	t.Helper()
	text, err := os.ReadFile("testdata/document.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	kek, err := keyringtest.NewKEKFrom(unhex(t, v.KEK), v.KEKURI)
	if err != nil {
		t.Fatal(err)
	}
	return v, kek
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stored is a store that holds one document.
func stored(document []byte) *keyringtest.Store {
	s := &keyringtest.Store{}
	s.Put(document)
	return s
}

func open(t testing.TB, name string, document []byte, kek keyring.KEK) (*keyring.Keyring, error) {
	t.Helper()
	k, err := keyring.Open(context.Background(), name, stored(document), kek, keyring.Options{})
	if err == nil {
		t.Cleanup(k.Close)
	}
	return k, err
}

func TestDocumentKnownAnswer(t *testing.T) {
	t.Parallel()
	v, kek := readVector(t)
	ring, err := open(t, v.Name, []byte(v.Document), kek)
	if err != nil {
		t.Fatal(err)
	}
	if ring.Revision() != v.Revision || ring.Describe().Digest() != v.Digest {
		t.Fatalf("revision %d, digest %s, want %d and %s", ring.Revision(), ring.Describe().Digest(), v.Revision, v.Digest)
	}
	infos := ring.Keys()
	if len(infos) != len(v.Keys) {
		t.Fatalf("%d keys, want %d", len(infos), len(v.Keys))
	}
	for i, want := range v.Keys {
		info := infos[i]
		if info.ID.String() != want.ID || string(info.Purpose) != want.Purpose || string(info.State) != want.State || info.Author != "ops@example.com" {
			t.Errorf("key %d is %+v, want %+v", i, info, want)
		}
		key, err := ring.Key(context.Background(), info.Purpose, info.ID)
		if want.Derived == "" {
			var state *keyring.KeyStateError
			if !errors.As(err, &state) || state.State != info.State {
				t.Errorf("key %s: got %v, want a *KeyStateError", info.ID, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := key.Derive(unhex(t, v.Info))
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(got[:]) != want.Derived {
			t.Errorf("key %s derives %x, want %s", info.ID, got, want.Derived)
		}
	}
	since := infos[2].Since
	if want := time.Date(2026, 11, 30, 12, 10, 0, 250e6, time.UTC); !since.Equal(want) {
		t.Errorf("primary since %s, want %s", since, want)
	}
	for _, p := range keyring.Purposes() {
		var outer struct{ Clear string }
		if err := json.Unmarshal([]byte(v.Document), &outer); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(keyringtest.AssociatedData(p, v.Name, v.Revision, outer.Clear)); got != v.AssociatedData[string(p)] {
			t.Errorf("associated data of %s is %s, want %s", p, got, v.AssociatedData[string(p)])
		}
	}
}

func TestUsableKeysComeWithThePrimaryFirst(t *testing.T) {
	t.Parallel()
	v, kek := readVector(t)
	ring, err := open(t, v.Name, []byte(v.Document), kek)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, k := range ring.Usable(keyring.Seal) {
		ids = append(ids, k.ID().String()+" "+string(k.State()))
	}
	if got, want := strings.Join(ids, ", "), "9a0000ff primary, 0f3a9c01 active, 00000001 staged"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestDeriveGivesTheBytesOfTinksPRFSet(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	staged := ring.Stage(keyring.Seal)
	ring.Refresh()
	ks := ring.Document().Keysets[keyring.Seal]
	text, err := proto.Marshal(ks)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	set, err := prf.NewPRFSet(handle)
	if err != nil {
		t.Fatal(err)
	}
	usable := ring.Keyring.Usable(keyring.Seal)
	if len(usable) != 2 || len(set.PRFs) != 2 || keyring.KeyID(set.PrimaryID) != usable[0].ID() || usable[1].ID() != staged {
		t.Fatalf("keyring has %v, Tink has %d with primary %08x", usable, len(set.PRFs), set.PrimaryID)
	}
	for _, key := range usable {
		for _, info := range [][]byte{nil, {0}, []byte("info"), bytes.Repeat([]byte{7}, 1000)} {
			want, err := set.PRFs[uint32(key.ID())].ComputePRF(info, 32)
			if err != nil {
				t.Fatal(err)
			}
			got, err := key.Derive(info)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[:], want) {
				t.Errorf("key %s, %d bytes of info: got %x, Tink has %x", key.ID(), len(info), got, want)
			}
		}
	}
}

// A document that this package writes is read by the independent reader.
func TestAnIndependentReaderOpensWhatTheManagerWrites(t *testing.T) {
	t.Parallel()
	kek, err := keyringtest.NewKEK()
	if err != nil {
		t.Fatal(err)
	}
	store := &keyringtest.Store{}
	m := newManager(t, "contacts", store, kek, clockAt(noon))
	if _, err := m.Create(context.Background(), keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Stage(context.Background(), keyring.Index, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	raw, _, err := store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := keyringtest.OpenDocument(raw, kek)
	if err != nil {
		t.Fatal(err)
	}
	c := doc.Clear
	if doc.Format != "fieldcrypt-keyring/1" || c.Name != "contacts" || c.Revision != 2 || c.KEK != kek.URI() || c.Propagation != "10m0s" || len(c.Keys) != 3 {
		t.Fatalf("got %+v", c)
	}
	if n := len(doc.Keysets[keyring.Index].GetKey()); n != 2 {
		t.Fatalf("%d index keys, want 2", n)
	}
	for p, ks := range doc.Keysets {
		if err := keyset.Validate(ks); err != nil {
			t.Errorf("%s: Tink refuses the keyset: %v", p, err)
		}
		for _, k := range ks.GetKey() {
			if k.GetOutputPrefixType() != tinkpb.OutputPrefixType_RAW {
				t.Errorf("%s key %08x has prefix %s", p, k.GetKeyId(), k.GetOutputPrefixType())
			}
		}
	}
}

// editOuter changes the document's own members and leaves everything in them as
// it was sealed.
func editOuter(t *testing.T, raw []byte, edit func(outer map[string]any)) []byte {
	t.Helper()
	var outer map[string]any
	if err := json.Unmarshal(raw, &outer); err != nil {
		t.Fatal(err)
	}
	edit(outer)
	b, err := json.Marshal(outer)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestATamperedDocumentIsRefused(t *testing.T) {
	t.Parallel()
	v, kek := readVector(t)
	raw := []byte(v.Document)
	clearTo := func(old, new string) func(t *testing.T) []byte {
		return func(t *testing.T) []byte {
			return editOuter(t, raw, func(o map[string]any) {
				was := o["clear"].(string)
				now := strings.Replace(was, old, new, 1)
				if was == now {
					t.Fatalf("the clear part does not hold %q", old)
				}
				o["clear"] = now
			})
		}
	}
	keysets := func(edit func(k map[string]any)) func(t *testing.T) []byte {
		return func(t *testing.T) []byte {
			return editOuter(t, raw, func(o map[string]any) { edit(o["keysets"].(map[string]any)) })
		}
	}
	flip := func(text any) string {
		b, _ := base64.StdEncoding.DecodeString(text.(string))
		b[len(b)-1] ^= 1
		return base64.StdEncoding.EncodeToString(b)
	}
	tests := map[string]struct {
		document func(t *testing.T) []byte
		want     any
	}{
		"a disabled key made active": {func(t *testing.T) []byte {
			return editOuter(t, raw, func(o map[string]any) {
				o["clear"] = strings.ReplaceAll(o["clear"].(string), `"disabled"`, `"active"`)
			})
		}, new(*keyring.UnsealError)},
		"an author":                     {clearTo("ops@example.com", "oops@example.com"), new(*keyring.UnsealError)},
		"the propagation time":          {clearTo("10m0s", "1s"), new(*keyring.UnsealError)},
		"white space in the clear part": {clearTo("{", "{ "), new(*keyring.UnsealError)},
		"the revision":                  {clearTo(`"revision":7`, `"revision":8`), new(*keyring.UnsealError)},
		"the name":                      {clearTo(`"name":"default"`, `"name":"other"`), new(*keyring.NameError)},
		"the KEK":                       {clearTo(`"kek":"memory:vector"`, `"kek":"memory:other"`), new(*keyring.KEKMismatchError)},
		"a key id":                      {clearTo("00000001", "00000002"), new(*keyring.UnsealError)},
		"keysets swapped": {keysets(func(k map[string]any) {
			k["seal"], k["index"] = k["index"], k["seal"]
		}), new(*keyring.UnsealError)},
		"one keyset in the other's place": {keysets(func(k map[string]any) { k["seal"] = k["index"] }), new(*keyring.UnsealError)},
		"a bit of one keyset":             {keysets(func(k map[string]any) { k["seal"] = flip(k["seal"]) }), new(*keyring.UnsealError)},
		"a bit of each keyset": {keysets(func(k map[string]any) {
			k["seal"], k["index"] = flip(k["seal"]), flip(k["index"])
		}), new(*keyring.UnsealError)},
		"a keyset of four bytes": {keysets(func(k map[string]any) { k["index"] = "AAAA" }), new(*keyring.UnsealError)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := open(t, "default", tt.document(t), kek)
			if err == nil || !errors.As(err, tt.want) {
				t.Fatalf("got %v, want a %T", err, tt.want)
			}
			hinted(t, err)
		})
	}
}

// hinted fails if an error does not say what to do.
func hinted(t *testing.T, err error) {
	t.Helper()
	var h interface{ Hint() string }
	if !errors.As(err, &h) || h.Hint() == "" {
		t.Errorf("no hint: %v", err)
	}
}

func TestOneKeysetThatOpensMeansDamageAndNotAWrongKEK(t *testing.T) {
	t.Parallel()
	v, kek := readVector(t)
	broken := editOuter(t, []byte(v.Document), func(o map[string]any) {
		o["keysets"].(map[string]any)["seal"] = base64.StdEncoding.EncodeToString(make([]byte, 64))
	})
	var unseal *keyring.UnsealError
	if _, err := open(t, "default", broken, kek); !errors.As(err, &unseal) || !unseal.Partly || unseal.Purpose != keyring.Seal {
		t.Fatalf("got %v, want a partial *UnsealError of the seal keyset", err)
	}
	other, err := keyringtest.NewKEKFrom(make([]byte, 32), v.KEKURI)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, "default", []byte(v.Document), other); !errors.As(err, &unseal) || unseal.Partly {
		t.Fatalf("got %v, want an *UnsealError of both keysets", err)
	}
}

func TestANameThatWasNotAskedForIsNeverTaken(t *testing.T) {
	t.Parallel()
	v, kek := readVector(t)
	var name *keyring.NameError
	if _, err := open(t, "other", []byte(v.Document), kek); !errors.As(err, &name) || name.Asked != "other" || name.Found != "default" {
		t.Fatalf("got %v, want a *NameError", err)
	}
	if _, err := keyring.InspectDocument("other", []byte(v.Document)); !errors.As(err, &name) {
		t.Fatalf("got %v, want a *NameError", err)
	}
}

func TestInspectDocumentNeedsNoKEK(t *testing.T) {
	t.Parallel()
	v, _ := readVector(t)
	d, err := keyring.InspectDocument(v.Name, []byte(v.Document))
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != v.Name || d.Revision() != v.Revision || d.Digest() != v.Digest || d.KEKURI() != v.KEKURI || d.Propagation() != 10*time.Minute || len(d.Keys()) != len(v.Keys) {
		t.Fatalf("got %s, %d, %s, %s, %s, %v", d.Name(), d.Revision(), d.Digest(), d.KEKURI(), d.Propagation(), d.Keys())
	}
	info, ok := d.Key(keyring.Index, 0xffffffff)
	if !ok || info.State != keyring.Disabled {
		t.Fatalf("got %+v, %v", info, ok)
	}
	if _, ok := d.Key(keyring.Seal, 0xffffffff); ok {
		t.Fatal("an index key was found as a seal key")
	}
	if h := d.History(keyring.Seal, 0x80000000); len(h) != 4 || h[3].State != keyring.Destroyed {
		t.Fatalf("history is %v", h)
	}
}

// Each malformed document is one typed error that names rule and place, with
// the KEK and without.
func TestEachMalformedClearPartBreaksItsRule(t *testing.T) {
	t.Parallel()
	v, kek := readVector(t)
	raw := v.Document
	// in replaces within the clear part, which stands escaped in the document.
	in := func(old, new string) string {
		quote := func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
		got := strings.Replace(raw, quote(old), quote(new), 1)
		if got == raw {
			t.Fatalf("the document does not hold %s", old)
		}
		return got
	}
	out := func(old, new string) string {
		got := strings.Replace(raw, old, new, 1)
		if got == raw {
			t.Fatalf("the document does not hold %s", old)
		}
		return got
	}
	tests := map[string]struct {
		document string
		rule     keyring.Rule
		place    string
	}{
		"empty":                      {"", keyring.RuleSyntax, ""},
		"not JSON":                   {"keyring", keyring.RuleSyntax, ""},
		"cut off":                    {raw[:len(raw)-1], keyring.RuleSyntax, ""},
		"a second value":             {raw + "{}", keyring.RuleSyntax, ""},
		"too large":                  {raw + strings.Repeat(" ", 1<<20), keyring.RuleTooLarge, ""},
		"an unknown member":          {out(`{"format"`, `{"extra":1,"format"`), keyring.RuleUnknownMember, "/extra"},
		"an unknown keyset":          {out(`"keysets":{`, `"keysets":{"sign":"AAAA",`), keyring.RuleUnknownMember, "/keysets/sign"},
		"a duplicate name":           {out(`{"format"`, `{"format":"x","format"`), keyring.RuleDuplicateName, "/format"},
		"another format":             {out("fieldcrypt-keyring/1", "fieldcrypt-keyring/2"), keyring.RuleFormat, "/format"},
		"no format":                  {out(`"format":"fieldcrypt-keyring/1",`, ""), keyring.RuleFormat, "/format"},
		"clear as an object":         {out(`"clear":"`, `"clear":{},"was":"`), keyring.RuleType, "/clear"},
		"clear empty":                {out(`"clear":"`, `"clear":"","x":"`), keyring.RuleUnknownMember, "/x"},
		"clear null":                 {`{"format":"fieldcrypt-keyring/1","clear":null,"keysets":{}}`, keyring.RuleMissingMember, ""},
		"no keysets":                 {raw[:strings.Index(raw, `,"keysets"`)] + "}", keyring.RuleEncoding, "/keysets/"},
		"no index keyset":            {raw[:strings.Index(raw, `,"index":`)] + "}}", keyring.RuleEncoding, "/keysets/index"},
		"base64url":                  {out(`"seal":"AQEB`, `"seal":"_-EB`), keyring.RuleEncoding, "/keysets/seal"},
		"base64 with a line end":     {out(`"seal":"AQEB`, `"seal":"\nAQEB`), keyring.RuleEncoding, "/keysets/seal"},
		"clear not JSON":             {in(`{"name"`, `{name`), keyring.RuleSyntax, "/clear"},
		"clear: unknown member":      {in(`{"name"`, `{"note":"","name"`), keyring.RuleUnknownMember, "/clear/note"},
		"clear: duplicate name":      {in(`{"name"`, `{"name":"a","name"`), keyring.RuleDuplicateName, "/clear/name"},
		"clear: unknown in a key":    {in(`{"id"`, `{"key":"","id"`), keyring.RuleUnknownMember, "/clear/keys/0/key"},
		"clear: no name":             {in(`"name":"default",`, ``), keyring.RuleMissingMember, "/clear"},
		"clear: not a name":          {in(`"name":"default"`, `"name":"Default"`), keyring.RuleName, "/clear/name"},
		"clear: no revision":         {in(`"revision":7,`, ``), keyring.RuleRevision, "/clear/revision"},
		"clear: revision zero":       {in(`"revision":7`, `"revision":0`), keyring.RuleRevision, "/clear/revision"},
		"clear: revision too large":  {in(`"revision":7`, `"revision":9007199254740992`), keyring.RuleRevision, "/clear/revision"},
		"clear: revision negative":   {in(`"revision":7`, `"revision":-7`), keyring.RuleType, "/clear/revision"},
		"clear: revision a text":     {in(`"revision":7`, `"revision":"7"`), keyring.RuleType, "/clear/revision"},
		"clear: revision 7.0":        {in(`"revision":7`, `"revision":7.0`), keyring.RuleType, "/clear/revision"},
		"clear: no kek":              {in(`"kek":"memory:vector",`, ``), keyring.RuleMissingMember, "/clear"},
		"clear: kek with an escape":  {in(`"kek":"memory:vector"`, `"kek":"\\u001b[2J"`), keyring.RuleKEK, "/clear/kek"},
		"clear: no propagation":      {in(`"propagation":"10m0s",`, ``), keyring.RuleMissingMember, "/clear"},
		"clear: propagation not so":  {in(`"10m0s"`, `"600s"`), keyring.RulePropagation, "/clear/propagation"},
		"clear: propagation below 0": {in(`"10m0s"`, `"-10m0s"`), keyring.RulePropagation, "/clear/propagation"},
		"clear: no stores":           {in(`"stores":[],`, ``), keyring.RuleMissingMember, "/clear"},
		"clear: stores null":         {in(`"stores":[]`, `"stores":null`), keyring.RuleMissingMember, "/clear"},
		"clear: a store":             {in(`"stores":[]`, `"stores":["sqlite:a.db"]`), keyring.RuleType, "/clear/stores/0"},
		"clear: no keys":             {in(`"keys"`, `"keyz"`), keyring.RuleUnknownMember, "/clear/keyz"},
		"clear: keys null":           {out(raw[strings.Index(raw, `\"keys\"`):strings.Index(raw, `","keysets"`)], `\"keys\":null}`), keyring.RuleMissingMember, "/clear"},
		"clear: keys empty":          {out(raw[strings.Index(raw, `\"keys\"`):strings.Index(raw, `","keysets"`)], `\"keys\":[]}`), keyring.RuleNoPrimary, "/clear/keys"},
		"clear: id in upper case":    {in(`"id":"0f3a9c01"`, `"id":"0F3A9C01"`), keyring.RuleKeyID, "/clear/keys/0/id"},
		"clear: id of 7 digits":      {in(`"id":"0f3a9c01"`, `"id":"0f3a9c0"`), keyring.RuleKeyID, "/clear/keys/0/id"},
		"clear: id zero":             {in(`"id":"0f3a9c01"`, `"id":"00000000"`), keyring.RuleKeyID, "/clear/keys/0/id"},
		"clear: purpose":             {in(`"purpose":"seal"`, `"purpose":"sign"`), keyring.RulePurpose, "/clear/keys/0/purpose"},
		"clear: no purpose":          {in(`"purpose":"seal",`, ``), keyring.RulePurpose, "/clear/keys/0/purpose"},
		"clear: state":               {in(`"state":"active","states"`, `"state":"live","states"`), keyring.RuleState, "/clear/keys/0/state"},
		"clear: state in history":    {in(`[{"state":"primary"`, `[{"state":"main"`), keyring.RuleState, "/clear/keys/0/states/0/state"},
		"clear: history disagrees":   {in(`"state":"active","states"`, `"state":"disabled","states"`), keyring.RuleHistory, "/clear/keys/0/states"},
		"clear: time with an offset": {in(`2026-11-30T12:00:00Z`, `2026-11-30T12:00:00+00:00`), keyring.RuleHistory, "/clear/keys/0/states/0/time"},
		"clear: time with zeros":     {in(`2026-11-30T12:00:00Z`, `2026-11-30T12:00:00.0Z`), keyring.RuleHistory, "/clear/keys/0/states/0/time"},
		"clear: time in nanoseconds": {in(`2026-11-30T12:00:00Z`, `2026-11-30T12:00:00.123456789Z`), keyring.RuleHistory, "/clear/keys/0/states/0/time"},
		"clear: no author":           {in(`,"author":"ops@example.com"`, ``), keyring.RuleHistory, "/clear/keys/0/states/0/author"},
		"clear: author steers":       {in(`ops@example.com`, `ops\\u202e`), keyring.RuleHistory, "/clear/keys/0/states/0/author"},
		"clear: id twice":            {in(`"id":"9a0000ff"`, `"id":"0f3a9c01"`), keyring.RuleDuplicateID, "/clear/keys/2"},
		"clear: id in both purposes": {in(`"id":"5b2e77d0"`, `"id":"0f3a9c01"`), keyring.RuleDuplicateID, "/clear/keys/1"},
		"clear: no primary":          {in(`"purpose":"index","state":"primary","states":[{"state":"primary"`, `"purpose":"index","state":"active","states":[{"state":"active"`), keyring.RuleNoPrimary, "/clear/keys"},
		"clear: two primaries":       {in(`"state":"staged","states":[{"state":"staged"`, `"state":"primary","states":[{"state":"primary"`), keyring.RuleTwoPrimaries, "/clear/keys/3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, opened := open(t, "default", []byte(tt.document), kek)
			_, inspected := keyring.InspectDocument("default", []byte(tt.document))
			for how, err := range map[string]error{"Open": opened, "InspectDocument": inspected} {
				var fault *keyring.DocumentError
				if !errors.As(err, &fault) {
					t.Fatalf("%s: got %v, want a *DocumentError", how, err)
				}
				if fault.Rule != tt.rule || !strings.HasPrefix(fault.Place, tt.place) || tt.place == "" && fault.Place != "" {
					t.Errorf("%s: rule %s at %q, want %s at %q", how, fault.Rule, fault.Place, tt.rule, tt.place)
				}
				if fault.Keyring != "default" {
					t.Errorf("%s: names keyring %q", how, fault.Keyring)
				}
				hinted(t, err)
			}
		})
	}
}

// Keysets that the KEK opens, but that do not agree with the clear part or are
// not of the one kind that the format knows.
func TestEachDeviatingKeysetBreaksItsRule(t *testing.T) {
	t.Parallel()
	hkdf := func(edit func(*hkdfpb.HkdfPrfKey)) func(*tinkpb.Keyset) {
		return func(ks *tinkpb.Keyset) {
			key := &hkdfpb.HkdfPrfKey{}
			if err := proto.Unmarshal(ks.Key[0].KeyData.Value, key); err != nil {
				t.Fatal(err)
			}
			edit(key)
			b, err := proto.Marshal(key)
			if err != nil {
				t.Fatal(err)
			}
			ks.Key[0].KeyData.Value = b
		}
	}
	tests := map[string]struct {
		edit func(ks *tinkpb.Keyset)
		rule keyring.Rule
	}{
		"an id that the clear part lacks": {func(ks *tinkpb.Keyset) { ks.Key[1].KeyId++ }, keyring.RuleKeysetIDs},
		"a key more":                      {func(ks *tinkpb.Keyset) { k := proto.CloneOf(ks.Key[1]); k.KeyId = 77; ks.Key = append(ks.Key, k) }, keyring.RuleKeysetIDs},
		"a key less":                      {func(ks *tinkpb.Keyset) { ks.Key = ks.Key[:len(ks.Key)-1] }, keyring.RuleKeysetIDs},
		"a key twice":                     {func(ks *tinkpb.Keyset) { ks.Key = append(ks.Key, proto.CloneOf(ks.Key[0])) }, keyring.RuleDuplicateID},
		"empty":                           {func(ks *tinkpb.Keyset) { ks.Key = nil }, keyring.RuleKeysetIDs},
		"primary disabled in Tink":        {func(ks *tinkpb.Keyset) { ks.Key[0].Status = tinkpb.KeyStatusType_DISABLED }, keyring.RuleKeysetStatus},
		"disabled enabled in Tink":        {func(ks *tinkpb.Keyset) { ks.Key[2].Status = tinkpb.KeyStatusType_ENABLED }, keyring.RuleKeysetStatus},
		"destroyed in Tink":               {func(ks *tinkpb.Keyset) { ks.Key[2].Status = tinkpb.KeyStatusType_DESTROYED }, keyring.RuleKeysetStatus},
		"no status":                       {func(ks *tinkpb.Keyset) { ks.Key[0].Status = tinkpb.KeyStatusType_UNKNOWN_STATUS }, keyring.RuleKeysetStatus},
		"another primary":                 {func(ks *tinkpb.Keyset) { ks.PrimaryKeyId = ks.Key[1].KeyId }, keyring.RuleKeysetPrimary},
		"no primary":                      {func(ks *tinkpb.Keyset) { ks.PrimaryKeyId = 0 }, keyring.RuleKeysetPrimary},
		"prefix TINK":                     {func(ks *tinkpb.Keyset) { ks.Key[0].OutputPrefixType = tinkpb.OutputPrefixType_TINK }, keyring.RuleKeyPrefix},
		"prefix unknown":                  {func(ks *tinkpb.Keyset) { ks.Key[1].OutputPrefixType = tinkpb.OutputPrefixType_UNKNOWN_PREFIX }, keyring.RuleKeyPrefix},
		"another key type": {func(ks *tinkpb.Keyset) {
			ks.Key[0].KeyData.TypeUrl = "type.googleapis.com/google.crypto.tink.HmacPrfKey"
		}, keyring.RuleKeyType},
		"another key material":      {func(ks *tinkpb.Keyset) { ks.Key[0].KeyData.KeyMaterialType = tinkpb.KeyData_REMOTE }, keyring.RuleKeyType},
		"no key data":               {func(ks *tinkpb.Keyset) { ks.Key[0].KeyData = nil }, keyring.RuleKeyType},
		"key data is no key":        {func(ks *tinkpb.Keyset) { ks.Key[0].KeyData.Value = []byte{0xff} }, keyring.RuleKeyset},
		"16 bytes":                  {hkdf(func(k *hkdfpb.HkdfPrfKey) { k.KeyValue = k.KeyValue[:16] }), keyring.RuleKeySize},
		"64 bytes":                  {hkdf(func(k *hkdfpb.HkdfPrfKey) { k.KeyValue = append(k.KeyValue, k.KeyValue...) }), keyring.RuleKeySize},
		"no bytes":                  {hkdf(func(k *hkdfpb.HkdfPrfKey) { k.KeyValue = nil }), keyring.RuleKeySize},
		"SHA-512":                   {hkdf(func(k *hkdfpb.HkdfPrfKey) { k.Params.Hash = commonpb.HashType_SHA512 }), keyring.RuleKeyParameters},
		"a salt":                    {hkdf(func(k *hkdfpb.HkdfPrfKey) { k.Params.Salt = []byte{1} }), keyring.RuleKeyParameters},
		"version 1":                 {hkdf(func(k *hkdfpb.HkdfPrfKey) { k.Version = 1 }), keyring.RuleKeyParameters},
		"an unknown field":          {func(ks *tinkpb.Keyset) { ks.ProtoReflect().SetUnknown([]byte{0x7a, 0x00}) }, keyring.RuleKeyset},
		"an unknown field in a key": {func(ks *tinkpb.Keyset) { ks.Key[0].ProtoReflect().SetUnknown([]byte{0x7a, 0x00}) }, keyring.RuleKeyset},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ring := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{
				keyringtest.NewKey(keyring.Seal, keyring.Primary),
				keyringtest.NewKey(keyring.Seal, keyring.Active),
				keyringtest.NewKey(keyring.Seal, keyring.Disabled),
				keyringtest.NewKey(keyring.Index, keyring.Primary),
			}})
			doc := ring.Document()
			tt.edit(doc.Keysets[keyring.Seal])
			doc.Clear.Revision++
			ring.Put(doc)
			var fault *keyring.DocumentError
			if err := ring.Keyring.Refresh(context.Background()); !errors.As(err, &fault) || fault.Rule != tt.rule || !strings.HasPrefix(fault.Place, "/keysets/seal") {
				t.Fatalf("got %v, want a *DocumentError with rule %s", err, tt.rule)
			}
			if ring.Keyring.Revision() != 1 {
				t.Fatal("the refused document was taken")
			}
		})
	}
}

func TestADestroyedKeyThatStillHasBytesIsRefused(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	doc := ring.Document()
	doc.Clear.Revision++
	k := keyringtest.NewKey(keyring.Seal, keyring.Disabled)
	extra, err := keyringtest.NewDocument("default", ring.KEK.URI(), noon, []keyringtest.Key{k})
	if err != nil {
		t.Fatal(err)
	}
	gone := extra.Clear.Keys[0]
	gone.State, gone.States[0].State = "destroyed", "destroyed"
	doc.Clear.Keys = append(doc.Clear.Keys, gone)
	doc.Keysets[keyring.Seal].Key = append(doc.Keysets[keyring.Seal].Key, extra.Keysets[keyring.Seal].Key...)
	ring.Put(doc)
	var fault *keyring.DocumentError
	if err := ring.Keyring.Refresh(context.Background()); !errors.As(err, &fault) || fault.Rule != keyring.RuleKeysetIDs {
		t.Fatalf("got %v, want rule %s", err, keyring.RuleKeysetIDs)
	}
}

func TestTheDigestIsThatOfTheWholeDocument(t *testing.T) {
	t.Parallel()
	v, _ := readVector(t)
	spaced := append([]byte(v.Document), '\n')
	d, err := keyring.InspectDocument(v.Name, spaced)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(spaced)
	if d.Digest() != hex.EncodeToString(sum[:]) || d.Digest() == v.Digest {
		t.Fatalf("got %s", d.Digest())
	}
}
