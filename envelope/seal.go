package envelope

import (
	"context"
	"encoding/base64"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Sealer seals events. Safe for concurrent use.
type Sealer struct{ core *core }

// NewSealer refuses a registry some plan of which names a keyring that the set lacks.
func NewSealer(reg *schema.Registry, rings *keyring.Set, opts Options) (*Sealer, error) {
	c, err := newCore(reg, rings, opts)
	if err != nil {
		return nil, err
	}
	if err := c.needRings(); err != nil {
		return nil, err
	}
	return &Sealer{c}, nil
}

// Seal checks an event's fields and text, validates the payload against its schema, replaces each flagged value by a token, computes the blind indexes,
// and leaves every other byte as it is. Nothing of a refused event remains. The caller's payload is not changed, and not kept.
func (s *Sealer) Seal(ctx context.Context, e Event) (Sealed, error) {
	if err := ctx.Err(); err != nil {
		return Sealed{}, err
	}
	wire, es, err := s.core.admit(e)
	if err != nil {
		return Sealed{}, err
	}
	w := s.core.walk()
	defer s.core.release(w)
	var watch outside
	watch.reset(wire.AggregateID, wire.Headers)
	w.reset(e.Payload, walkPlain, es.Plan().Root(), 0, s.core.limits)
	w.outside = &watch
	if err := w.run(); err != nil {
		return Sealed{}, err
	}
	if err := es.Validate(e.Payload); err != nil {
		return Sealed{}, err
	}
	indexes := indexing{core: s.core}
	if err := indexes.add(w, func(h hit) Place { return w.placeOf(h.path, h.start) }); err != nil {
		return Sealed{}, err
	}
	texts := make([]sealText, len(w.sites))
	for i, site := range w.sites {
		texts[i] = sealText{site: site, text: e.Payload[site.start:site.end]}
	}
	keys := newEventKeys(s.core.rings, wire.Type, wire.Version, wire.ID)
	var used []string
	if wire.Payload, used, err = s.core.splice(ctx, w, keys, texts); err != nil {
		return Sealed{}, err
	}
	return s.core.sealed(wire, &indexes, used)
}

// admit fills in an event's defaults and checks everything but the payload's text.
func (c *core) admit(e Event) (Wire, *schema.EventSchema, error) {
	wire := Wire(e).clone()
	wire.Payload = nil
	var err error
	if wire.ID == "" {
		if wire.ID, err = c.newID(); err != nil {
			return Wire{}, nil, err
		}
	}
	if wire.Version == 0 {
		wire.Version = 1
	}
	if wire.OccurredAt.IsZero() {
		wire.OccurredAt = c.now()
	}
	if err := wire.normalize(); err != nil {
		return Wire{}, nil, err
	}
	es, err := c.registry.Event(wire.Type, wire.Version)
	if err != nil {
		return Wire{}, nil, err
	}
	if len(e.Payload) > c.limits.MaxPlaintext {
		return Wire{}, nil, sizeError(LimitPlaintext, c.limits.MaxPlaintext)
	}
	return wire, es, nil
}

// sealed puts a Sealed together.
func (c *core) sealed(wire Wire, indexes *indexing, keyIDs []string) (Sealed, error) {
	stored, ids, err := indexes.values()
	if err != nil {
		return Sealed{}, err
	}
	return Sealed{wire: wire, keyIDs: sortedKeyIDs(append(keyIDs, ids...)), indexes: stored, core: c}, nil
}

// sealText is a value to be sealed at a site.
type sealText struct {
	site site
	text []byte
	key  *eventKey
	len  int // of the padded text
}

// everySites is after how many values a loop looks whether its context has ended.
const everySites = 64

// splice copies the walk's text with new tokens in the place of the given sites, in their order, and names the keys used.
func (c *core) splice(ctx context.Context, w *walk, keys *eventKeys, texts []sealText) ([]byte, []string, error) {
	size := len(w.Buf)
	var used []string
	for i := range texts {
		t := &texts[i]
		t.key = keys.primary(t.site.state.Keyring())
		if t.key.err != nil {
			return nil, nil, &KeyError{w.placeOf(t.site.path, t.site.start), t.key.ring, t.key.text, t.key.err}
		}
		if id := keyIDText(keyring.Seal, t.key.id); len(used) == 0 || used[len(used)-1] != id {
			used = append(used, id)
		}
		t.len = paddedLen(max(len(t.text), t.site.state.PadTo()))
		size += len(`""`) + tokenTextLen(t.len) - (t.site.end - t.site.start)
	}
	if size > c.limits.MaxWire {
		return nil, nil, sizeError(LimitWire, c.limits.MaxWire)
	}
	nonces, err := c.nonces(len(texts))
	if err != nil {
		return nil, nil, err
	}
	out := make([]byte, 0, size)
	var body, data []byte
	from := 0
	for i, t := range texts {
		if i%everySites == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		out = append(out, w.Buf[from:t.site.start]...)
		from = t.site.end
		data = appendFieldData(data[:0], t.key.text, func(dst []byte) []byte { return w.appendPointer(dst, t.site.path) })
		body = append(append(body[:0], nonces[i*nonceLen:(i+1)*nonceLen]...), t.text...)
		for len(body) < nonceLen+t.len {
			body = append(body, ' ')
		}
		body = t.key.aead.Seal(body[:nonceLen], body[:nonceLen], body[nonceLen:], data)
		out = append(append(append(append(out, '"'), tokenPrefix...), t.key.text...), ':')
		out = append(base64.RawURLEncoding.AppendEncode(out, body), '"')
	}
	return append(out, w.Buf[from:]...), used, nil
}
