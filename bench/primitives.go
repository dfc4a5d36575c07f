package bench

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// primitives does the cryptography of one order with the standard library alone, and nothing else: what no sealing of it can do without. HMAC states
// are kept, as fieldcrypt keeps them.
type primitives struct {
	event, email, taxID hash.Hash
	info                []byte
	sum                 []byte
	nonces              []byte
	data                []byte
	texts               [][]byte
	sealed              [][]byte
	opened              []byte
	messages            [][]byte
}

const nonceLen = 12

func newPrimitives() *primitives {
	key := bytes.Repeat([]byte{7}, 32)
	p := &primitives{
		event: hmac.New(sha256.New, key), email: hmac.New(sha256.New, key), taxID: hmac.New(sha256.New, key),
		info: make([]byte, 84), // of LP("fieldcrypt/v1/event") ‖ LP(type) ‖ uint32(version) ‖ LP(id) ‖ 1
		sum:  make([]byte, 0, sha256.Size), nonces: make([]byte, 3*nonceLen),
		data:     make([]byte, 52), // of LP("fieldcrypt/v1/field") ‖ LP(kid) ‖ LP(pointer)
		texts:    [][]byte{make([]byte, 32), make([]byte, 16), make([]byte, 16)},
		sealed:   [][]byte{make([]byte, 0, 64), make([]byte, 0, 64), make([]byte, 0, 64)},
		opened:   make([]byte, 0, 64),
		messages: [][]byte{[]byte("sada.lovelace@example.org"), []byte("s12345678901")},
	}
	p.seal() // so that there is something to open
	return p
}

// gcm is the event's key: one HMAC, and AES-256-GCM's set-up.
func (p *primitives) gcm() cipher.AEAD {
	p.event.Reset()
	p.event.Write(p.info)
	block, err := aes.NewCipher(p.event.Sum(p.sum))
	if err != nil {
		panic(err) // of 32 bytes
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return gcm
}

// seal: the event's key, three nonces in one read, three seals, two HMACs for the indexes.
func (p *primitives) seal() {
	gcm := p.gcm()
	rand.Read(p.nonces) // never fails
	for i, text := range p.texts {
		p.sealed[i] = gcm.Seal(p.sealed[i][:0], p.nonces[i*nonceLen:(i+1)*nonceLen], text, p.data)
	}
	for i, state := range []hash.Hash{p.email, p.taxID} {
		state.Reset()
		state.Write(p.messages[i])
		state.Sum(p.sum)
	}
}

// open: the event's key, three opens.
func (p *primitives) open() error {
	gcm := p.gcm()
	for i, sealed := range p.sealed {
		if _, err := gcm.Open(p.opened, p.nonces[i*nonceLen:(i+1)*nonceLen], sealed, p.data); err != nil {
			return err
		}
	}
	return nil
}

// validation is what validating costs by itself: decoding with encoding/json's UseNumber, and jsonschema/v5.
type validation struct{ schema *jsonschema.Schema }

func newValidation() (*validation, error) {
	c := jsonschema.NewCompiler()
	if err := c.AddResource("file:///order.json", strings.NewReader(orderSchema)); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("file:///order.json")
	return &validation{compiled}, err
}

func (v *validation) decode(payload []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var event map[string]any
	if err := dec.Decode(&event); err != nil {
		return nil, err
	}
	return event, v.schema.Validate(event)
}
