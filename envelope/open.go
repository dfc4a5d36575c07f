package envelope

import (
	"context"
	"errors"
	"slices"

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
	// Validate holds the opened payload against its schema, for a consumer that does not trust its producers to. It needs the whole payload: not
	// together with Fields or Redact, and an event of which a location stays sealed is refused with a *MissingKeyringError. Defaults to false.
	Validate bool
}

func (o OpenOptions) check() error {
	switch {
	case o.Redact && o.Fields != nil:
		return &OptionError{"Redact", "does not go together with Fields"}
	case o.Validate && (o.Redact || o.Fields != nil):
		return &OptionError{"Validate", "needs the whole payload: it does not go together with Fields or Redact"}
	}
	return nil
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
	_, opened, err := o.AppendOpen(ctx, nil, r, opts)
	return opened, err
}

// AppendOpen is Open into the caller's memory, for who opens many events: the payload is appended to dst, and opened.Event.Payload is that part of it.
// It allocates nothing but the AES-256-GCM key of the event, headers apart. With an error nothing was appended, and what dst's spare room held is zero.
func (o *Opener) AppendOpen(ctx context.Context, dst []byte, r Received, opts OpenOptions) (out []byte, opened Opened, err error) {
	if err := opts.check(); err != nil {
		return dst, Opened{}, err
	}
	op, err := o.core.opening(ctx, &r)
	if err != nil {
		return dst, Opened{}, err
	}
	defer op.close()
	if out, opened.StillSealed, err = op.openAs(ctx, dst, opts); err != nil {
		return dst, Opened{}, err
	}
	r.wire.Payload = out[len(dst):len(out):len(out)]
	r.wire.unshare()
	opened.Event = Event(r.wire)
	return out, opened, nil
}

// openAs appends the payload, opened as the options say.
func (op *opening) openAs(ctx context.Context, dst []byte, opts OpenOptions) ([]byte, []StillSealed, error) {
	asked, err := op.asked(opts.Fields)
	if err != nil {
		return nil, nil, err
	}
	leave := keepToken
	if opts.SealedAsNull {
		leave = showNull
	}
	var still []StillSealed
	err = op.sites(ctx, func(i int, s *site) (action, error) {
		switch {
		case opts.Redact:
			return showNull, nil
		case asked != nil && !asked[i]:
			still = append(still, op.still(s, ReasonNotAsked))
			return leave, nil
		case !op.hasRing(s):
			if opts.Validate {
				return 0, op.missingRing(s)
			}
			still = append(still, op.still(s, ReasonNoKeyring))
			return leave, nil
		}
		return openToken, nil
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	out := op.appendPayload(dst)
	if opts.Validate {
		if err := op.schema.Validate(out[len(dst):]); err != nil {
			clear(out[len(dst):])
			return nil, nil, err
		}
	}
	return out, still, nil
}

// Holds opens the event in memory and says whether the blind index of that name meets one of the messages (blindindex.Index.Query or Messages): the
// full comparison behind a truncated index. An event whose type has no such index holds none. The index's keyring must be at hand.
func (o *Opener) Holds(ctx context.Context, r Received, index string, messages [][]byte) (bool, error) {
	op, err := o.core.opening(ctx, &r)
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
	m := op.work
	m.indexes.reset(o.core)
	err = op.sites(ctx, func(_ int, s *site) (action, error) {
		if s.state.Keyring() != declared.Keyring {
			return keepToken, nil // an index takes only what its own keyring seals
		}
		return openToken, nil
	}, &m.indexes)
	if err != nil {
		return false, err
	}
	for _, held := range m.indexes.messagesOf(index) {
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

// openEach decides to open every token.
func openEach(int, *site) (action, error) { return openToken, nil }

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
	work   *work // its walk is over the wire form
	size   int   // of the payload as the sites say
}

// opening finds the tokens of an event in wire form. The caller closes it.
func (c *core) opening(ctx context.Context, r *Received) (opening, error) {
	if err := ctx.Err(); err != nil {
		return opening{}, err
	}
	if r.IsZero() {
		return opening{}, ErrZero
	}
	if len(r.wire.Payload) > c.limits.MaxWire {
		return opening{}, sizeError(LimitWire, c.limits.MaxWire)
	}
	m := c.work()
	es, err := c.event(m, r.wire.Type, r.wire.Version)
	if err != nil {
		c.release(m)
		return opening{}, err
	}
	op := c.newOpening(m, es, &r.wire)
	if err := m.walk.run(); err != nil {
		op.close()
		return opening{}, err
	}
	return op, nil
}

// newOpening prepares the walk.
func (c *core) newOpening(m *work, es *schema.EventSchema, wire *Wire) opening {
	m.keys.reset(c.rings, wire.Type, wire.Version, wire.ID)
	m.walk.reset(wire.Payload, walkWire, es.Plan().Root(), 0, c.limits)
	return opening{core: c, schema: es, work: m}
}

func (op *opening) close() { op.core.release(op.work) }

func (op *opening) hasRing(s *site) bool {
	if op.work.keys.find(s.state.Keyring(), s.token.kid) != nil {
		return true
	}
	_, ok := ringOf(op.core.rings, s.state.Keyring())
	return ok
}

func (op *opening) place(s *site) Place { return op.work.walk.placeOf(s.path, s.start) }

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
	w := &op.work.walk
	for i := range w.sites {
		pointer = w.appendPointer(pointer[:0], w.sites[i].path)
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

// sites does with each token as decide says: what is opened stands in the sites' texts. indexes, if not nil, take what the opened values give.
// The plaintext's size is counted without the tokens that stay.
func (op *opening) sites(ctx context.Context, decide func(i int, s *site) (action, error), indexes *indexing) error {
	w := &op.work.walk
	most := op.core.limits.MaxPlaintext
	op.size = len(w.Buf)
	before, from := 0, 0
	for i := range w.sites {
		if i%everySites == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s := &w.sites[i]
		do, err := decide(i, s)
		if err != nil {
			return err
		}
		before += s.start - from
		from = s.end
		token := s.end - s.start
		switch s.do = do; do {
		case keepToken:
			most += token
			before += token
		case showNull:
			before += len(nullText)
			op.size += len(nullText) - token
		case openToken:
			if s.text == nil { // a Verifier has opened it before
				if err := op.open(ctx, s, indexes); err != nil {
					return err
				}
			}
			before += len(s.text)
			op.size += len(s.text) - token
		}
		if before > most {
			return &LimitError{op.place(s), LimitPlaintext, op.core.limits.MaxPlaintext}
		}
	}
	if op.size > most {
		return sizeError(LimitPlaintext, op.core.limits.MaxPlaintext)
	}
	return nil
}

const nullText = "null"

// appendPayload copies the wire form, and in the place of each token what sites made of it.
func (op *opening) appendPayload(dst []byte) []byte {
	w := &op.work.walk
	out, from := slices.Grow(dst, op.size), 0
	for i := range w.sites {
		s := &w.sites[i]
		out = append(out, w.Buf[from:s.start]...)
		from = s.end
		switch s.do {
		case keepToken:
			out = append(out, w.Buf[s.start:s.end]...)
		case showNull:
			out = append(out, nullText...)
		case openToken:
			out = append(out, s.text...)
		}
	}
	return append(out, w.Buf[from:]...)
}

// open puts the value's text behind a token into the site.
func (op *opening) open(ctx context.Context, s *site, indexes *indexing) error {
	m, name := op.work, s.state.Keyring()
	key := m.keys.byID(ctx, name, s.token.kid)
	if key == nil {
		return op.missingRing(s)
	}
	if key.err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &KeyError{op.place(s), name, key.text(), key.err}
	}
	// In place: a token's body is not needed again. Its plaintext goes when the walk is cleared.
	body := m.walk.bodies[s.token.from:s.token.to]
	m.data = m.walk.appendFieldData(m.data[:0], &key.head, s.path)
	text, err := key.aead.Open(body[nonceLen:nonceLen], body[:nonceLen], body[nonceLen:], m.data)
	if err != nil {
		return &OpenError{op.place(s), name, key.text()}
	}
	in := &m.inner
	if indexes == nil {
		// Most values are strings; with no index asked for, nothing else is to be looked at in them. What is wrong, the walk below says.
		if end := in.openedString(text, op.core.limits); end > 0 {
			s.text = text[:end]
			return nil
		}
	}
	in.reset(text, walkOpened, s.state, s.depth, op.core.limits)
	end, err := in.runOpened()
	if err != nil {
		return op.openedFault(s, err)
	}
	s.text = text[:end]
	if indexes != nil {
		return indexes.add(in, func(hit) Place { return op.place(s) })
	}
	return nil
}

func (op *opening) missingRing(s *site) error {
	return &MissingKeyringError{Keyring: s.state.Keyring(), Type: op.schema.Type(), Version: op.schema.Version()}
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
