package keyring

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
	"sync/atomic"
)

// maxKeptInfos bounds for how many infos a key keeps HMAC states. A registry of
// schemas has some dozens of blind indexes; beyond the bound the states are made
// for each call.
const maxKeptInfos = 256

// keptMACs are the HMAC states of one key that are ready to be used again. To
// make one costs about four times what it costs to use one (measured: 625 ns
// and 167 ns), and an event needs three. They are reached through their key's
// material alone, which lets go of all of them when it is wiped: a state that
// is in use at that moment ends its computation, as one that began before, and
// is not found again.
type keptMACs struct {
	expand macPool // keyed by the pseudo-random key: HKDF's expand step
	mu     sync.Mutex
	byInfo atomic.Pointer[map[string]*macPool] // keyed by what derive gives for the info; copied on write
}

type macPool struct{ free sync.Pool }

// mac is an HMAC-SHA256 state for one goroutine at a time.
type mac struct {
	hash    hash.Hash
	sum     [sha256.Size]byte
	counter [1]byte
}

func newMAC(key []byte) *mac {
	return &mac{hash: hmac.New(sha256.New, key), counter: [1]byte{1}}
}

// take gives a state that is free, or nil.
func (p *macPool) take() *mac {
	m, _ := p.free.Get().(*mac)
	return m
}

func (p *macPool) put(m *mac) { p.free.Put(m) }

// block is the one block of HKDF-Expand (RFC 5869, section 2.3) that 32 bytes
// of SHA-256 need: T(1) = HMAC(PRK, T(0) ‖ info ‖ 0x01), where T(0) is empty.
func (m *mac) block(info []byte) (out [sha256.Size]byte) {
	m.hash.Reset()
	m.hash.Write(info)
	m.hash.Write(m.counter[:])
	m.hash.Sum(m.sum[:0])
	out = m.sum
	clear(m.sum[:])
	return out
}

func (m *mac) append(dst, message []byte) []byte {
	m.hash.Reset()
	m.hash.Write(message)
	return m.hash.Sum(dst)
}

// derive computes HKDF-Expand to 32 bytes.
func (m *material) derive(info []byte) (out [sha256.Size]byte, err error) {
	kept := m.kept.Load()
	if kept == nil {
		return out, m.why()
	}
	x := kept.expand.take()
	if x == nil {
		if x, err = m.newExpand(); err != nil {
			return out, err
		}
	}
	out = x.block(info)
	kept.expand.put(x)
	return out, nil
}

func (m *material) newExpand() (*mac, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.prk == nil {
		return nil, m.gone
	}
	return newMAC(m.prk), nil
}

// appendMAC computes HMAC-SHA256 under the key derived for info.
func (m *material) appendMAC(dst, info, message []byte) ([]byte, error) {
	kept := m.kept.Load()
	if kept == nil {
		return dst, m.why()
	}
	pool := kept.pool(info)
	var x *mac
	if pool != nil {
		x = pool.take()
	}
	if x == nil {
		key, err := m.derive(info)
		if err != nil {
			return dst, err
		}
		x = newMAC(key[:])
		clear(key[:])
	}
	dst = x.append(dst, message)
	if pool != nil {
		pool.put(x)
	}
	return dst, nil
}

// pool gives the states of an info, nil where no more infos are kept.
func (k *keptMACs) pool(info []byte) *macPool {
	if pools := k.byInfo.Load(); pools != nil {
		if p := (*pools)[string(info)]; p != nil {
			return p
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	grown := map[string]*macPool{}
	if pools := k.byInfo.Load(); pools != nil {
		if p := (*pools)[string(info)]; p != nil {
			return p
		}
		if len(*pools) >= maxKeptInfos {
			return nil
		}
		for i, p := range *pools {
			grown[i] = p
		}
	}
	p := &macPool{}
	grown[string(info)] = p
	k.byInfo.Store(&grown)
	return p
}
