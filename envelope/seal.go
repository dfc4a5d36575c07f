package envelope

import (
	"context"
	"encoding/base64"
	"slices"

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
	var own Buffer
	var sealed Sealed
	if err := s.core.seal(ctx, &e, &own, &sealed); err != nil {
		return Sealed{}, err
	}
	return sealed, nil
}

// AppendSeal is Seal into the caller's memory, for who seals many events: what is made stands in b until b is reset, and so long the Sealed is valid.
// For an event with an id it allocates nothing but the AES-256-GCM key of the event.
func (s *Sealer) AppendSeal(ctx context.Context, b *Buffer, e Event) (sealed Sealed, err error) {
	if b == nil {
		return Sealed{}, &OptionError{"Buffer", "is nil"}
	}
	if err := s.core.seal(ctx, &e, b, &sealed); err != nil {
		return Sealed{}, err
	}
	sealed.buffer, sealed.generation = b, b.generation
	return sealed, nil
}

// seal appends to b and fills sealed, which is for nobody if there is an error. The order is that of what may leave: nothing is sealed before the whole
// payload was walked and validated.
func (c *core) seal(ctx context.Context, e *Event, b *Buffer, sealed *Sealed) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := c.work()
	defer c.release(m)
	wire := &sealed.wire
	es, err := c.admit(m, e, wire)
	if err != nil {
		return err
	}
	w := &m.walk
	w.reset(e.Payload, walkPlain, es.Plan().Root(), 0, c.limits)
	m.outside.reset(wire.AggregateID, wire.Headers)
	w.outside = &m.outside
	if err := w.run(); err != nil {
		return err
	}
	if err := c.validatorOf(es).Validate(e.Payload); err != nil {
		return err
	}
	m.indexes.reset(c)
	if err := m.indexes.add(w, func(h hit) Place { return w.placeOf(h.path, h.start) }); err != nil {
		return err
	}
	for i := range w.sites {
		m.addText(i, e.Payload[w.sites[i].start:w.sites[i].end])
	}
	m.keys.reset(c.rings, wire.Type, wire.Version, wire.ID)
	mark := b.mark()
	if err := c.make(ctx, m, b); err != nil {
		b.rewind(mark)
		return err
	}
	wire.Payload = b.payload(mark, m.size)
	sealed.core = c
	sealed.keys, sealed.values = b.since(mark)
	return nil
}

// make appends what an event becomes: its payload in wire form, its indexes, its keys.
func (c *core) make(ctx context.Context, m *work, b *Buffer) error {
	b.keys = slices.Grow(b.keys, min(1, len(m.texts))+len(m.indexes.met))
	if err := c.measure(m, b); err != nil {
		return err
	}
	b.bytes = slices.Grow(b.bytes, m.size+maxStoredValue*len(m.indexes.messages))
	b.values = slices.Grow(b.values, len(m.indexes.messages))
	if err := c.splice(ctx, m, b); err != nil {
		return err
	}
	return m.indexes.store(b)
}

// admit copies an event to wire, the payload apart, fills in its defaults, and checks everything but the payload's text.
func (c *core) admit(m *work, e *Event, wire *Wire) (*schema.EventSchema, error) {
	*wire = Wire(*e)
	wire.Payload = nil
	wire.unshare()
	var err error
	if wire.ID == "" {
		if wire.ID, err = c.newID(); err != nil {
			return nil, err
		}
	}
	if wire.Version == 0 {
		wire.Version = 1
	}
	if wire.OccurredAt.IsZero() {
		wire.OccurredAt = c.now()
	}
	if err := wire.normalize(); err != nil {
		return nil, err
	}
	es, err := c.event(m, wire.Type, wire.Version)
	if err != nil {
		return nil, err
	}
	if len(e.Payload) > c.limits.MaxPlaintext {
		return nil, sizeError(LimitPlaintext, c.limits.MaxPlaintext)
	}
	return es, nil
}

// sealText is a value to be sealed at a site of the walk.
type sealText struct {
	site int
	text []byte
	key  *eventKey
	len  int // of the padded text
}

// addText adds a value to be sealed, field by field as keepPath does.
func (m *work) addText(site int, text []byte) {
	m.texts = append(m.texts, sealText{})
	t := &m.texts[len(m.texts)-1]
	t.site, t.text = site, text
}

// everySites is after how many values a loop looks whether its context has ended.
const everySites = 64

// measure finds the keys and the size of what splice will write.
func (c *core) measure(m *work, b *Buffer) error {
	w := &m.walk
	m.size = len(w.Buf)
	var last *eventKey
	for i := range m.texts {
		t := &m.texts[i]
		site := &w.sites[t.site]
		t.key = m.keys.primary(site.state.Keyring())
		if t.key.err != nil {
			return &KeyError{w.placeOf(site.path, site.start), t.key.ring, t.key.text(), t.key.err}
		}
		if t.key != last && !t.key.used {
			b.addKey(keyring.Seal, t.key.id)
			t.key.used = true
		}
		last = t.key
		t.len = paddedLen(max(len(t.text), site.state.PadTo()))
		m.size += len(`""`) + tokenTextLen(t.len) - (site.end - site.start)
	}
	if m.size > c.limits.MaxWire {
		return sizeError(LimitWire, c.limits.MaxWire)
	}
	return nil
}

// splice copies the walk's text with new tokens in the place of the texts' sites, in their order.
func (c *core) splice(ctx context.Context, m *work, b *Buffer) error {
	if err := c.readNonces(m, len(m.texts)); err != nil {
		return err
	}
	w, out, from := &m.walk, b.bytes, 0
	for i := range m.texts {
		if i%everySites == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t := &m.texts[i]
		site := &w.sites[t.site]
		out = append(out, w.Buf[from:site.start]...)
		from = site.end
		m.data = w.appendFieldData(m.data[:0], &t.key.head, site.path)
		body := append(m.room(nonceLen+t.len+tagLen), m.nonces[i*nonceLen:(i+1)*nonceLen]...)
		body = append(body, t.text...)
		for len(body) < nonceLen+t.len {
			body = append(body, ' ')
		}
		body = t.key.aead.Seal(body[:nonceLen], body[:nonceLen], body[nonceLen:], m.data)
		out = append(append(append(out, `"`+tokenPrefix...), t.key.head.kid()...), ':')
		out = append(base64.RawURLEncoding.AppendEncode(out, body), '"')
	}
	b.bytes = append(out, w.Buf[from:]...)
	return nil
}
