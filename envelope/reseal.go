package envelope

import (
	"context"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Resealer brings stored events under today's primary keys. Safe for concurrent use.
type Resealer struct{ core *core }

// NewResealer refuses a registry some plan of which names a keyring that the set lacks.
func NewResealer(reg *schema.Registry, rings *keyring.Set, opts Options) (*Resealer, error) {
	s, err := NewSealer(reg, rings, opts)
	if err != nil {
		return nil, err
	}
	return &Resealer{s.core}, nil
}

// Reseal opens every token of an event and seals again, at the same place of the same event, those that are not under their keyring's primary key;
// the others stay as they are. Blind indexes are computed anew under the primary index keys. changed is false if nothing was stale, ciphertexts and
// the given stored indexes alike; s is the event either way. What is opened is not validated: an old event may precede its schema's last repair.
func (r *Resealer) Reseal(ctx context.Context, e Received, storedIndexes map[string][][]byte) (s Sealed, changed bool, err error) {
	op, err := r.core.opening(ctx, e)
	if err != nil {
		return Sealed{}, false, err
	}
	defer op.close()
	indexes := indexing{core: r.core}
	op.keepTexts, op.texts = true, make([][]byte, len(op.walk.sites))
	plaintext, err := op.replace(ctx, func(int) (action, error) { return openToken, nil }, &indexes)
	defer clear(plaintext[:cap(plaintext)])
	if err != nil {
		return Sealed{}, false, err
	}
	var stale []sealText
	var used []string
	for i, site := range op.walk.sites {
		primary := op.keys.primary(site.state.Keyring())
		if primary.err != nil {
			return Sealed{}, false, &KeyError{op.place(&site), primary.ring, primary.text, primary.err}
		}
		if site.token.kid != primary.id {
			stale = append(stale, sealText{site: site, text: op.texts[i]})
		}
		if id := keyIDText(keyring.Seal, primary.id); !slices.Contains(used, id) {
			used = append(used, id)
		}
	}
	wire := e.wire.clone()
	if len(stale) > 0 {
		if wire.Payload, _, err = r.core.splice(ctx, op.walk, op.keys, stale); err != nil {
			return Sealed{}, false, err
		}
	}
	if s, err = r.core.sealed(wire, &indexes, used); err != nil {
		return Sealed{}, false, err
	}
	return s, len(stale) > 0 || !sameIndexes(storedIndexes, s.indexes), nil
}
