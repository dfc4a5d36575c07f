package keyring

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"strconv"

	"github.com/tink-crypto/tink-go/v2/keyset"
	commonpb "github.com/tink-crypto/tink-go/v2/proto/common_go_proto"
	hkdfpb "github.com/tink-crypto/tink-go/v2/proto/hkdf_prf_go_proto"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"google.golang.org/protobuf/proto"
)

const (
	keyBytes    = 32
	hkdfTypeURL = "type.googleapis.com/google.crypto.tink.HkdfPrfKey"
)

// secrets are the bytes of the keys that are not destroyed.
type secrets map[KeyID][]byte

func (s secrets) wipe() {
	for _, b := range s {
		clear(b)
	}
}

func newKeyBytes() []byte {
	b := make([]byte, keyBytes)
	rand.Read(b)
	return b
}

// tinkStatus is the status that a key in this state has in Tink's keyset; a
// destroyed key is not in it.
func tinkStatus(s State) (status tinkpb.KeyStatusType, present bool) {
	switch {
	case s.Usable():
		return tinkpb.KeyStatusType_ENABLED, true
	case s == Disabled:
		return tinkpb.KeyStatusType_DISABLED, true
	default:
		return tinkpb.KeyStatusType_UNKNOWN_STATUS, false
	}
}

// marshalKeyset serialises the keys of one purpose as a tink.Keyset of
// HkdfPrfKeys: SHA-256, empty salt, 32 bytes, output prefix RAW, the key id as
// Tink's.
func marshalKeyset(keys []keyRecord, p Purpose, sec secrets) ([]byte, error) {
	ks := &tinkpb.Keyset{}
	for _, r := range keys {
		status, present := tinkStatus(r.state)
		if r.purpose != p || !present {
			continue
		}
		if len(sec[r.id]) != keyBytes {
			return nil, fmt.Errorf("no bytes for %s key %s", p, r.id)
		}
		value, err := proto.Marshal(&hkdfpb.HkdfPrfKey{
			Params:   &hkdfpb.HkdfPrfParams{Hash: commonpb.HashType_SHA256},
			KeyValue: sec[r.id],
		})
		if err != nil {
			return nil, err
		}
		ks.Key = append(ks.Key, &tinkpb.Keyset_Key{
			KeyId:            uint32(r.id),
			Status:           status,
			OutputPrefixType: tinkpb.OutputPrefixType_RAW,
			KeyData:          &tinkpb.KeyData{TypeUrl: hkdfTypeURL, Value: value, KeyMaterialType: tinkpb.KeyData_SYMMETRIC},
		})
		if r.state == Primary {
			ks.PrimaryKeyId = uint32(r.id)
		}
	}
	defer wipeKeyset(ks)
	if err := keyset.Validate(ks); err != nil {
		return nil, err
	}
	return proto.Marshal(ks)
}

func wipeKeyset(ks *tinkpb.Keyset) {
	for _, k := range ks.GetKey() {
		clear(k.GetKeyData().GetValue())
	}
}

// parseKeyset reads a serialised tink.Keyset and checks it against the clear
// part: what the keys may be is fixed, and ids, status and primary must agree.
func parseKeyset(serialised []byte, keys []keyRecord, p Purpose) (_ secrets, wrong *DocumentError) {
	place := "/keysets/" + string(p)
	fault := func(rule Rule, format string, args ...any) *DocumentError {
		return &DocumentError{Place: place, Rule: rule, Detail: fmt.Sprintf(format, args...)}
	}
	ks, err := keyset.NewBinaryReader(bytes.NewReader(serialised)).Read()
	if err != nil {
		// Tink's text may quote what it read.
		return nil, fault(RuleKeyset, "not a Tink keyset")
	}
	defer wipeKeyset(ks)
	if len(ks.ProtoReflect().GetUnknown()) != 0 {
		return nil, fault(RuleKeyset, "the keyset holds fields that this version does not know")
	}
	want := map[KeyID]keyRecord{}
	var primary KeyID
	for _, r := range keys {
		if _, present := tinkStatus(r.state); r.purpose != p || !present {
			continue
		}
		want[r.id] = r
		if r.state == Primary {
			primary = r.id
		}
	}
	sec := secrets{}
	defer func() {
		if wrong != nil {
			sec.wipe()
		}
	}()
	for i, k := range ks.GetKey() {
		place = "/keysets/" + string(p) + "/key/" + strconv.Itoa(i)
		id := KeyID(k.GetKeyId())
		r, known := want[id]
		if _, twice := sec[id]; twice {
			return nil, fault(RuleDuplicateID, "key id %s stands twice in the keyset", id)
		}
		if !known {
			return nil, fault(RuleKeysetIDs, "the keyset holds key %s, which the clear part does not name as a %s key with bytes", id, p)
		}
		if status, _ := tinkStatus(r.state); k.GetStatus() != status {
			return nil, fault(RuleKeysetStatus, "key %s is %s in the clear part but %s in the keyset", id, r.state, k.GetStatus())
		}
		b, kf := parseKey(k, fault)
		if kf != nil {
			return nil, kf
		}
		sec[id] = b
	}
	place = "/keysets/" + string(p)
	for _, r := range keys {
		if _, wanted := want[r.id]; wanted && sec[r.id] == nil {
			return nil, fault(RuleKeysetIDs, "the keyset lacks key %s", r.id)
		}
	}
	if KeyID(ks.GetPrimaryKeyId()) != primary {
		return nil, fault(RuleKeysetPrimary, "the keyset's primary is %s, that of the clear part %s", KeyID(ks.GetPrimaryKeyId()), primary)
	}
	return sec, nil
}

func parseKey(k *tinkpb.Keyset_Key, fault func(Rule, string, ...any) *DocumentError) ([]byte, *DocumentError) {
	id := KeyID(k.GetKeyId())
	data := k.GetKeyData()
	if data.GetTypeUrl() != hkdfTypeURL || data.GetKeyMaterialType() != tinkpb.KeyData_SYMMETRIC {
		return nil, fault(RuleKeyType, "key %s is not a symmetric HkdfPrfKey", id)
	}
	if k.GetOutputPrefixType() != tinkpb.OutputPrefixType_RAW {
		return nil, fault(RuleKeyPrefix, "key %s has output prefix %s, want RAW", id, k.GetOutputPrefixType())
	}
	key := &hkdfpb.HkdfPrfKey{}
	if err := proto.Unmarshal(data.GetValue(), key); err != nil {
		return nil, fault(RuleKeyset, "key %s is not a serialised HkdfPrfKey", id)
	}
	if len(k.ProtoReflect().GetUnknown())+len(data.ProtoReflect().GetUnknown())+len(key.ProtoReflect().GetUnknown())+len(key.GetParams().ProtoReflect().GetUnknown()) != 0 {
		return nil, fault(RuleKeyset, "key %s holds fields that this version does not know", id)
	}
	if key.GetVersion() != 0 || key.GetParams().GetHash() != commonpb.HashType_SHA256 || len(key.GetParams().GetSalt()) != 0 {
		return nil, fault(RuleKeyParameters, "key %s is not version 0 with SHA-256 and an empty salt", id)
	}
	if n := len(key.GetKeyValue()); n != keyBytes {
		return nil, fault(RuleKeySize, "key %s has %d bytes, want %d", id, n, keyBytes)
	}
	return key.GetKeyValue(), nil
}

// equal says whether both hold the same keys with the same bytes.
func (s secrets) equal(other secrets) bool {
	if len(s) != len(other) {
		return false
	}
	for id, b := range s {
		if subtle.ConstantTimeCompare(b, other[id]) != 1 {
			return false
		}
	}
	return true
}
