package envelope

import (
	"context"

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
	var own Buffer
	return r.core.reseal(ctx, e, storedIndexes, &own)
}

// AppendReseal is Reseal into the caller's memory, as Sealer.AppendSeal is Seal: s is valid until b is reset. The payload of an event whose ciphertexts
// are all fresh is not copied.
func (r *Resealer) AppendReseal(ctx context.Context, b *Buffer, e Received, storedIndexes map[string][][]byte) (s Sealed, changed bool, err error) {
	if b == nil {
		return Sealed{}, false, &OptionError{"Buffer", "is nil"}
	}
	if s, changed, err = r.core.reseal(ctx, e, storedIndexes, b); err != nil {
		return Sealed{}, false, err
	}
	s.buffer, s.generation = b, b.generation
	return s, changed, nil
}

func (c *core) reseal(ctx context.Context, e Received, storedIndexes map[string][][]byte, b *Buffer) (Sealed, bool, error) {
	op, err := c.opening(ctx, &e)
	if err != nil {
		return Sealed{}, false, err
	}
	defer op.close()
	m := op.work
	m.indexes.reset(c)
	if err := op.sites(ctx, openEach, &m.indexes); err != nil {
		return Sealed{}, false, err
	}
	// What stands under the primary key needs no new token; its key is one that the event needs all the same.
	mark := b.mark()
	for i := range m.walk.sites {
		site := &m.walk.sites[i]
		primary := m.keys.primary(site.state.Keyring())
		if primary.err != nil {
			b.rewind(mark)
			return Sealed{}, false, &KeyError{op.place(site), primary.ring, primary.text(), primary.err}
		}
		if site.token.kid != primary.id {
			m.addText(i, site.text)
		} else if !primary.used {
			primary.used = true
			b.addKey(keyring.Seal, primary.id)
		}
	}
	stale := len(m.texts) > 0
	if stale {
		err = c.make(ctx, m, b)
	} else {
		err = m.indexes.store(b)
	}
	if err != nil {
		b.rewind(mark)
		return Sealed{}, false, err
	}
	wire := e.wire.clone()
	if stale {
		wire.Payload = b.payload(mark, m.size)
	}
	s := Sealed{wire: wire, core: c}
	s.keys, s.values = b.since(mark)
	return s, stale || !sameIndexes(storedIndexes, s.values), nil
}
