package envelope

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// core is what Sealer, Opener, Resealer and Verifier share: schemas, keys, limits, the blind indexes made ready, and memory to use again.
type core struct {
	registry *schema.Registry
	rings    *keyring.Set
	limits   Limits
	now      func() time.Time
	random   io.Reader // nil: crypto/rand
	trusting bool      // payloads are not validated when sealing
	indexes  map[string]*blindindex.Index
	works    sync.Pool
}

func newCore(reg *schema.Registry, rings *keyring.Set, opts Options) (*core, error) {
	if reg == nil {
		return nil, &OptionError{"registry", "is nil; load the schemas first"}
	}
	limits := opts.Limits.WithDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	c := &core{registry: reg, rings: rings, limits: limits, now: opts.Now, random: opts.Random, trusting: opts.SkipValidation}
	if c.now == nil {
		c.now = time.Now
	}
	c.works.New = func() any { return new(work) }
	c.indexes = make(map[string]*blindindex.Index)
	for _, ix := range reg.Indexes() {
		made, err := BlindIndex(ix)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", ix.Name, err)
		}
		c.indexes[ix.Name] = made
	}
	return c, nil
}

// needRings refuses a set that lacks a keyring of some plan.
func (c *core) needRings() error {
	for _, es := range c.registry.Events() {
		for _, name := range es.Plan().Keyrings() {
			if _, ok := ringOf(c.rings, name); !ok {
				return &MissingKeyringError{Keyring: name, Type: es.Type(), Version: es.Version()}
			}
		}
	}
	return nil
}

// validator judges a plaintext payload that a walk has accepted. It is all that this package asks of validation; *schema.EventSchema is one.
type validator interface {
	Validate(payload []byte) error
}

// validatorOf is what Seal asks: nobody, if the producer is trusted.
func (c *core) validatorOf(es *schema.EventSchema) validator {
	if c.trusting {
		return noValidator{}
	}
	return es
}

type noValidator struct{}

func (noValidator) Validate([]byte) error { return nil }

// event finds an event's schema; most events are of the type of the one before.
func (c *core) event(m *work, typ string, version int) (*schema.EventSchema, error) {
	if m.schema != nil && m.schema.Version() == version && m.schema.Type() == typ {
		return m.schema, nil
	}
	es, err := c.registry.Event(typ, version)
	if err == nil {
		m.schema = es
	}
	return es, err
}

// work is the memory of one event on its way through. What is in it belongs to that event alone; only the memory, and the last schema, go on to the
// next.
type work struct {
	schema  *schema.EventSchema
	walk    walk
	inner   walk // over one opened text after the other
	outside outside
	keys    eventKeys
	indexes indexing
	texts   []sealText
	size    int // of the payload in wire form, once measured
	nonces  []byte
	data    []byte // associated data
	body    []byte // a token's bytes, from its plaintext on
	dirty   int    // how much of body was written
}

// room gives body, emptied, with room for n bytes: what is appended does not move, so that no copy of a plaintext stays behind.
func (m *work) room(n int) []byte {
	if cap(m.body) < n {
		clear(m.body[:m.dirty])
		m.body, m.dirty = make([]byte, 0, n), 0
	}
	m.body, m.dirty = m.body[:n], max(m.dirty, n)
	return m.body[:0]
}

// work lends memory; release gives it back.
func (c *core) work() *work { return c.works.Get().(*work) }

// How large the parts of a work may be to be kept for the next event, in bytes and in elements of about a hundred bytes.
const (
	keepBytes = 512 << 10
	keepItems = 8 << 10
)

// release zeroes what held plaintext, drops what points into the event, and keeps the memory unless it is large.
func (c *core) release(m *work) {
	clear(m.body[:m.dirty])
	clear(m.texts)
	m.walk.clear()
	if m.inner.Buf != nil {
		m.inner.clear()
	}
	m.outside.clear()
	m.keys.clear()
	m.indexes.reset(nil)
	m.texts, m.dirty = m.texts[:0], 0
	if !m.walk.large() && !m.inner.large() && !m.indexes.large() && cap(m.texts) <= keepItems && max(cap(m.nonces), cap(m.data), cap(m.body)) <= keepBytes {
		c.works.Put(m)
	}
}

// readNonces reads the nonces of one event at once.
func (c *core) readNonces(m *work, n int) error {
	if n == 0 {
		return nil
	}
	if n *= nonceLen; cap(m.nonces) < n {
		m.nonces = make([]byte, n)
	}
	m.nonces = m.nonces[:n]
	if c.random == nil {
		_, err := rand.Read(m.nonces) // never fails since Go 1.24: the program ends instead
		return err
	}
	if _, err := io.ReadFull(c.random, m.nonces); err != nil {
		return fmt.Errorf("random source: %w", err)
	}
	return nil
}
