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

// core is what Sealer, Opener, Resealer and Verifier share: schemas, keys, limits, the blind indexes made ready, and walks to use again.
type core struct {
	registry *schema.Registry
	rings    *keyring.Set
	limits   Limits
	now      func() time.Time
	random   io.Reader // nil: crypto/rand
	indexes  map[string]*blindindex.Index
	walks    sync.Pool
}

func newCore(reg *schema.Registry, rings *keyring.Set, opts Options) (*core, error) {
	if reg == nil {
		return nil, &OptionError{"registry", "is nil; load the schemas first"}
	}
	limits := opts.Limits.WithDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	c := &core{registry: reg, rings: rings, limits: limits, now: opts.Now, random: opts.Random}
	if c.now == nil {
		c.now = time.Now
	}
	c.walks.New = func() any { return new(walk) }
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

// walk lends a walk; release gives it back.
func (c *core) walk() *walk { return c.walks.Get().(*walk) }

// keepWalk is how large the memory of a walk may be to be kept for the next event.
const keepWalk = 64 << 10

func (c *core) release(w *walk) {
	if max(cap(w.nodes), cap(w.scratch), cap(w.sites), w.Kept()) > keepWalk {
		return
	}
	clear(w.scratch[:cap(w.scratch)]) // it may hold decoded plaintext
	w.reset(nil, walkStrict, nil, 0, c.limits)
	c.walks.Put(w)
}

// nonces reads the nonces of one event at once.
func (c *core) nonces(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	nonces := make([]byte, n*nonceLen)
	if c.random == nil {
		_, err := rand.Read(nonces) // never fails since Go 1.24: the program ends instead
		return nonces, err
	}
	if _, err := io.ReadFull(c.random, nonces); err != nil {
		return nil, fmt.Errorf("random source: %w", err)
	}
	return nonces, nil
}
