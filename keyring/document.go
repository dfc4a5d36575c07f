package keyring

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/keyring/internal/strictjson"
)

const (
	documentFormat = "fieldcrypt-keyring/1"
	// maxDocumentBytes is far above what thousands of keys need, and what a
	// store such as Vault's KV takes.
	maxDocumentBytes = 1 << 20
)

// The document as a store keeps it. The clear part is a string, so that no
// store re-encodes the bytes that the associated data binds.
type outerDocument struct {
	Format  string       `json:"format"`
	Clear   string       `json:"clear"`
	Keysets outerKeysets `json:"keysets"`
}

type outerKeysets struct {
	Seal  string `json:"seal"`
	Index string `json:"index"`
}

// document is a parsed document. Until its keysets are opened nothing in it is
// authentic.
type document struct {
	*header
	clearText string
	sealed    map[Purpose][]byte
	// digest is SHA-256 of the whole document.
	digest [sha256.Size]byte
}

// parseDocument reads a document and checks everything that needs no key.
func parseDocument(name string, raw []byte) (*document, error) {
	d, fault := parseOuter(raw, documentFormat)
	if fault != nil {
		fault.Keyring = name
		return nil, fault
	}
	if d.name != name {
		return nil, &NameError{Asked: name, Found: d.name}
	}
	return d, nil
}

func parseOuter(raw []byte, format string) (*document, *DocumentError) {
	if len(raw) > maxDocumentBytes {
		return nil, &DocumentError{Rule: RuleTooLarge, Detail: fmt.Sprintf("%d bytes, want at most %d", len(raw), maxDocumentBytes)}
	}
	var outer outerDocument
	if fault := unmarshalStrict(raw, &outer, ""); fault != nil {
		return nil, fault
	}
	if outer.Format != format {
		return nil, &DocumentError{Place: "/format", Rule: RuleFormat, Detail: fmt.Sprintf("format is %.64q, want %q", outer.Format, format)}
	}
	if outer.Clear == "" {
		return nil, &DocumentError{Rule: RuleMissingMember, Detail: "clear is missing"}
	}
	h, fault := parseClear(outer.Clear)
	if fault != nil {
		return nil, fault
	}
	d := &document{header: h, clearText: outer.Clear, sealed: map[Purpose][]byte{}, digest: sha256.Sum256(raw)}
	for p, text := range map[Purpose]string{Seal: outer.Keysets.Seal, Index: outer.Keysets.Index} {
		ct, ok := decodeBase64(text)
		if !ok {
			return nil, &DocumentError{Place: "/keysets/" + string(p), Rule: RuleEncoding, Detail: "missing, or not standard base64 with padding"}
		}
		d.sealed[p] = ct
	}
	return d, nil
}

// decodeBase64 takes the one canonical text only: Go's decoder alone would skip
// line breaks and take stray bits.
func decodeBase64(text string) ([]byte, bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	return b, err == nil && len(b) > 0 && base64.StdEncoding.EncodeToString(b) == text
}

// open unseals both keysets and checks them against the clear part. Only then
// is the clear part authentic.
func (d *document) open(ctx context.Context, kek KEK) (secrets, error) {
	if uri := kek.URI(); d.kek != uri {
		return nil, &KEKMismatchError{Keyring: d.name, Configured: uri, Document: d.kek}
	}
	plain, err := d.unseal(ctx, kek)
	if err != nil {
		return nil, err
	}
	all := secrets{}
	for _, p := range Purposes() {
		defer clear(plain[p])
		sec, fault := parseKeyset(plain[p], d.keys, p)
		if fault != nil {
			all.wipe()
			fault.Keyring = d.name
			return nil, fault
		}
		for id, b := range sec {
			all[id] = b
		}
	}
	return all, nil
}

// unseal decrypts both keysets. If one opens and the other does not, the KEK is
// the right one and the document is damaged; the one that failed is asked once
// more then, so that a KEK which has learnt by now that it is the right one can
// say so.
func (d *document) unseal(ctx context.Context, kek KEK) (map[Purpose][]byte, error) {
	plain := map[Purpose][]byte{}
	failed := map[Purpose]error{}
	decrypt := func(p Purpose) error {
		b, err := kek.DecryptWithContext(ctx, d.sealed[p], associatedData(p, d.name, d.revision, d.clearText))
		if err != nil {
			return err
		}
		plain[p] = b
		return nil
	}
	for _, p := range Purposes() {
		if err := decrypt(p); err != nil {
			failed[p] = err
		}
	}
	if len(failed) == 0 {
		return plain, nil
	}
	if len(failed) == len(Purposes()) {
		return nil, &UnsealError{Keyring: d.name, KEK: d.kek, Purpose: Seal, Err: failed[Seal]}
	}
	for p := range failed {
		if err := decrypt(p); err != nil {
			for _, b := range plain {
				clear(b)
			}
			return nil, &UnsealError{Keyring: d.name, KEK: d.kek, Purpose: p, Partly: true, Err: err}
		}
	}
	return plain, nil
}

// sealDocument writes a document: the clear part as text, the keysets sealed by
// the KEK under associated data that binds that text.
func sealDocument(ctx context.Context, kek KEK, h *header, sec secrets) ([]byte, error) {
	text, err := h.text()
	if err != nil {
		return nil, fmt.Errorf("keyring %s: writing the clear part: %w", h.name, err)
	}
	sealed := map[Purpose]string{}
	for _, p := range Purposes() {
		plain, err := marshalKeyset(h.keys, p, sec)
		if err != nil {
			return nil, fmt.Errorf("keyring %s: writing the %s keyset: %w", h.name, p, err)
		}
		ct, err := kek.EncryptWithContext(ctx, plain, associatedData(p, h.name, h.revision, text))
		clear(plain)
		if err != nil {
			return nil, &SealError{Keyring: h.name, KEK: h.kek, Err: err}
		}
		sealed[p] = base64.StdEncoding.EncodeToString(ct)
	}
	raw, err := strictjson.Marshal(outerDocument{
		Format:  documentFormat,
		Clear:   text,
		Keysets: outerKeysets{Seal: sealed[Seal], Index: sealed[Index]},
	})
	if err != nil {
		return nil, fmt.Errorf("keyring %s: writing the document: %w", h.name, err)
	}
	return raw, nil
}

// load reads the store's document and opens it. The caller wipes the secrets.
func load(ctx context.Context, name string, store Store, kek KEK) (d *document, sec secrets, version string, err error) {
	raw, version, err := store.Load(ctx)
	if err != nil {
		return nil, nil, "", fmt.Errorf("keyring %s: %w", name, err)
	}
	if d, err = parseDocument(name, raw); err != nil {
		return nil, nil, "", err
	}
	if sec, err = d.open(ctx, kek); err != nil {
		return nil, nil, "", err
	}
	return d, sec, version, nil
}
