package envelope

import (
	"context"
	"errors"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Opener opens events. Safe for concurrent use.
type Opener struct{ core *core }

// NewOpener makes an Opener. A nil set, or one without some keyrings, is fine: what is sealed under others stays sealed and is listed.
func NewOpener(reg *schema.Registry, rings *keyring.Set, opts Options) (*Opener, error) {
	c, err := newCore(reg, rings, opts)
	if err != nil {
		return nil, err
	}
	return &Opener{c}, nil
}

// OpenOptions choose what is opened.
type OpenOptions struct {
	// Fields are exact JSON pointers of sealed locations, the outermost where flags nest. A pointer that is none of this event's is an error.
	// Defaults to all.
	Fields []string
	// Redact shows every flagged value as null, and needs no keys. Not together with Fields. Defaults to false.
	Redact bool
	// SealedAsNull shows what stays sealed as null instead of its token, so that no token is taken for a value; StillSealed lists it all the same.
	// Defaults to false.
	SealedAsNull bool
}

// Opened is an opened event.
type Opened struct {
	Event Event
	// StillSealed are the locations left sealed, in the payload's order.
	StillSealed []StillSealed
}

// Reasons why a location stays sealed.
const (
	ReasonNoKeyring = "no keyring"
	ReasonNotAsked  = "not asked"
)

// StillSealed says why a location was left sealed.
type StillSealed struct {
	Location string // JSON pointer, masked
	Keyring  string
	KeyID    string
	Reason   string // ReasonNoKeyring or ReasonNotAsked
}

// Open opens what the plan flags, and nothing else. All or nothing: a location that should open and does not fails the whole event.
// Opened in full, the payload is the sealed event's original, byte for byte.
func (o *Opener) Open(ctx context.Context, r Received, opts OpenOptions) (Opened, error) {
	if opts.Redact && opts.Fields != nil {
		return Opened{}, &OptionError{"Redact", "does not go together with Fields"}
	}
	op, err := o.core.opening(ctx, r)
	if err != nil {
		return Opened{}, err
	}
	defer op.close()
	asked, err := op.asked(opts.Fields)
	if err != nil {
		return Opened{}, err
	}
	leave := keepToken
	if opts.SealedAsNull {
		leave = showNull
	}
	var still []StillSealed
	payload, err := op.replace(ctx, func(i int) (action, error) {
		switch s := &op.walk.sites[i]; {
		case opts.Redact:
			return showNull, nil
		case asked != nil && !asked[i]:
			still = append(still, op.still(s, ReasonNotAsked))
			return leave, nil
		case !op.hasRing(s):
			still = append(still, op.still(s, ReasonNoKeyring))
			return leave, nil
		}
		return openToken, nil
	}, nil)
	if err != nil {
		return Opened{}, err
	}
	return Opened{Event: r.wire.event(payload), StillSealed: still}, nil
}

// Holds opens the event in memory and says whether the blind index of that name meets one of the messages (blindindex.Index.Query or Messages): the
// full comparison behind a truncated index. An event whose type has no such index holds none. The index's keyring must be at hand.
func (o *Opener) Holds(ctx context.Context, r Received, index string, messages [][]byte) (bool, error) {
	op, err := o.core.opening(ctx, r)
	if err != nil {
		return false, err
	}
	defer op.close()
	declared := indexOf(op.schema.Plan(), index)
	if declared == nil {
		return false, nil
	}
	if _, ok := ringOf(o.core.rings, declared.Keyring); !ok {
		return false, &MissingKeyringError{Keyring: declared.Keyring, Type: op.schema.Type(), Version: op.schema.Version()}
	}
	indexes := indexing{core: o.core}
	_, err = op.replace(ctx, func(i int) (action, error) {
		if op.walk.sites[i].state.Keyring() != declared.Keyring {
			return keepToken, nil // an index takes only what its own keyring seals
		}
		return openToken, nil
	}, &indexes)
	if err != nil {
		return false, err
	}
	for _, held := range indexes.messages(index) {
		for _, asked := range messages {
			if string(held) == string(asked) {
				return true, nil
			}
		}
	}
	return false, nil
}

func indexOf(plan *schema.Plan, name string) *schema.Index {
	for _, ix := range plan.Indexes() {
		if ix.Name == name {
			return ix
		}
	}
	return nil
}

// action is what becomes of a token.
type action uint8

const (
	keepToken action = iota
	showNull
	openToken
)

// opening is one event on its way from wire form to plaintext.
type opening struct {
	core   *core
	schema *schema.EventSchema
	walk   *walk // over the wire form
	inner  *walk // over one opened text after the other
	keys   *eventKeys
	body   []byte
	data   []byte
	// texts are the opened values by site, where keepTexts was set.
	texts     [][]byte
	keepTexts bool
}

// opening finds the tokens of an event in wire form.
func (c *core) opening(ctx context.Context, r Received) (*opening, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.IsZero() {
		return nil, ErrZero
	}
	es, err := c.registry.Event(r.wire.Type, r.wire.Version)
	if err != nil {
		return nil, err
	}
	if len(r.wire.Payload) > c.limits.MaxWire {
		return nil, sizeError(LimitWire, c.limits.MaxWire)
	}
	op := c.newOpening(es, r.wire)
	if err := op.walk.run(); err != nil {
		op.close()
		return nil, err
	}
	return op, nil
}

func (c *core) newOpening(es *schema.EventSchema, wire Wire) *opening {
	op := &opening{core: c, schema: es, walk: c.walk(), inner: c.walk(), keys: newEventKeys(c.rings, wire.Type, wire.Version, wire.ID)}
	op.walk.reset(wire.Payload, walkWire, es.Plan().Root(), 0, c.limits)
	return op
}

func (op *opening) close() {
	clear(op.body[:cap(op.body)])
	op.core.release(op.walk)
	op.core.release(op.inner)
}

func (op *opening) hasRing(s *site) bool {
	_, ok := ringOf(op.core.rings, s.state.Keyring())
	return ok
}

func (op *opening) place(s *site) Place { return op.walk.placeOf(s.path, s.start) }

func (op *opening) still(s *site, reason string) StillSealed {
	return StillSealed{op.place(s).Location, s.state.Keyring(), s.token.kid.String(), reason}
}

// asked tells which sites the pointers name; nil is all.
func (op *opening) asked(fields []string) (map[int]bool, error) {
	if fields == nil {
		return nil, nil
	}
	wanted := make(map[string]bool, len(fields))
	for _, f := range fields {
		wanted[f] = false
	}
	asked := make(map[int]bool, len(fields))
	var pointer []byte
	for i := range op.walk.sites {
		pointer = op.walk.appendPointer(pointer[:0], op.walk.sites[i].path)
		if _, ok := wanted[string(pointer)]; ok {
			wanted[string(pointer)] = true
			asked[i] = true
		}
	}
	for i, f := range fields {
		if !wanted[f] {
			return nil, fieldError(op.schema.Plan().Root(), i, f)
		}
	}
	return asked, nil
}

// replace copies the wire form and does with each token as decide says. indexes, if not nil, take what the opened values give.
// The plaintext's size is counted without the tokens that stay.
func (op *opening) replace(ctx context.Context, decide func(i int) (action, error), indexes *indexing) ([]byte, error) {
	w := op.walk
	out := make([]byte, 0, len(w.Buf))
	from, kept := 0, 0
	for i := range w.sites {
		if i%everySites == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s := &w.sites[i]
		do, err := decide(i)
		if err != nil {
			return nil, err
		}
		out = append(out, w.Buf[from:s.start]...)
		from = s.end
		switch do {
		case keepToken:
			out = append(out, w.Buf[s.start:s.end]...)
			kept += s.end - s.start
		case showNull:
			out = append(out, "null"...)
		case openToken:
			text, err := op.open(ctx, s, indexes)
			if err != nil {
				return nil, err
			}
			out = append(out, text...)
			if op.keepTexts {
				op.texts[i] = out[len(out)-len(text):]
			}
		}
		if len(out)-kept > op.core.limits.MaxPlaintext {
			return nil, &LimitError{op.place(s), LimitPlaintext, op.core.limits.MaxPlaintext}
		}
	}
	out = append(out, w.Buf[from:]...)
	if len(out)-kept > op.core.limits.MaxPlaintext {
		return nil, sizeError(LimitPlaintext, op.core.limits.MaxPlaintext)
	}
	return out, nil
}

// open gives the value's text behind a token, valid until the next call.
func (op *opening) open(ctx context.Context, s *site, indexes *indexing) ([]byte, error) {
	name := s.state.Keyring()
	ring, ok := ringOf(op.core.rings, name)
	if !ok {
		return nil, &MissingKeyringError{Keyring: name, Type: op.schema.Type(), Version: op.schema.Version()}
	}
	key := op.keys.byID(ctx, ring, name, s.token.kid)
	if key.err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &KeyError{op.place(s), name, key.text, key.err}
	}
	text, err := op.decrypt(key, s)
	if err != nil {
		return nil, &OpenError{op.place(s), name, key.text}
	}
	in := op.inner
	in.reset(text, walkOpened, s.state, s.depth, op.core.limits)
	end, err := in.runOpened()
	if err != nil {
		return nil, op.openedFault(s, err)
	}
	if indexes != nil {
		if err := indexes.add(in, func(hit) Place { return op.place(s) }); err != nil {
			return nil, err
		}
	}
	return text[:end], nil
}

// decrypt does what a token's layout says. Its error is always the same.
func (op *opening) decrypt(key *eventKey, s *site) ([]byte, error) {
	body, err := bodyEncoding.AppendDecode(op.body[:0], s.token.body)
	if err != nil {
		return nil, err
	}
	op.body = body
	op.data = appendFieldData(op.data[:0], key.text, func(dst []byte) []byte { return op.walk.appendPointer(dst, s.path) })
	return key.aead.Open(body[nonceLen:nonceLen], body[:nonceLen], body[nonceLen:], op.data)
}

// openedFault tells what is wrong with an opened text by the token's place in the wire form: offsets within the plaintext would mean nothing there.
func (op *opening) openedFault(s *site, err error) error {
	place := op.place(s)
	var syntax *SyntaxError
	var limit *LimitError
	var location *LocationError
	switch {
	case errors.As(err, &syntax):
		return &LocationError{Place: place, Kind: KindOpenedText, Err: errors.New(syntax.Rule)}
	case errors.As(err, &limit):
		return &LimitError{place, limit.Limit, limit.Max}
	case errors.As(err, &location):
		location.Place = place
		return location
	}
	return err
}
