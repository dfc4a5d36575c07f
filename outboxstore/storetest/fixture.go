package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The suite's events: an invoice with flagged values of several types, with single and multi indexes, and a ping without a
// flag.
const (
	invoiceType = "invoice.issued"
	pingType    = "ping"

	invoiceSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["number"],
  "properties": {
    "number": {"type": "string"},
    "note": {"type": ["string", "object"]},
    "customer": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "name": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "name", "normalize": ["nfkc", "casefold"]}},
        "tax_id": {"type": ["string", "null"], "x-gdpr-sensitive": true, "x-blind-index": {"name": "tax_id"}},
        "emails": {"type": "array", "items": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "email", "multi": true, "normalize": ["casefold"]}}},
        "score": {"type": "integer", "minimum": 0, "x-gdpr-sensitive": true}
      }
    }
  }
}`

	pingSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {"n": {"type": "integer"}}
}`
)

func loadRegistry() (*schema.Registry, error) {
	return schema.LoadFS(fstest.MapFS{
		invoiceType + ".v1.json": {Data: []byte(invoiceSchema)},
		pingType + ".v1.json":    {Data: []byte(pingSchema)},
	})
}

// suite is one test's database and store, schemas and keys.
type suite[Tx any] struct {
	t       *testing.T
	ctx     context.Context
	dialect Dialect[Tx]
	address string
	db      Database[Tx]
	store   Store[Tx]

	registry *schema.Registry
	ring     *keyringtest.Ring
	rings    *keyring.Set
	sealer   *envelope.Sealer
	opener   *envelope.Opener
	resealer *envelope.Resealer

	// impossible says that the dialect's types prevent the damage that the test was to make.
	impossible bool
}

// newSuite gives a test a database of its own, not migrated.
func newSuite[Tx any](t *testing.T, dialect Dialect[Tx]) *suite[Tx] {
	t.Helper()
	return newSuiteWithKeys(t, dialect, nil)
}

func newSuiteWithKeys[Tx any](t *testing.T, dialect Dialect[Tx], keys []keyringtest.Key) *suite[Tx] {
	t.Helper()
	s := &suite[Tx]{t: t, ctx: t.Context(), dialect: dialect, address: dialect.Create(t)}
	var err error
	s.db, err = dialect.Connect(context.Background(), s.address)
	s.must(err)
	t.Cleanup(func() { s.must(s.db.Close()) })
	s.store = s.open("")
	s.registry, err = loadRegistry()
	s.must(err)
	s.ring = keyringtest.NewRing(t, keyringtest.Options{Keys: keys})
	s.rings, err = keyring.NewSet(s.ring.Keyring)
	s.must(err)
	s.sealer, err = envelope.NewSealer(s.registry, s.rings, envelope.Options{})
	s.must(err)
	s.opener, err = envelope.NewOpener(s.registry, s.rings, envelope.Options{})
	s.must(err)
	s.resealer, err = envelope.NewResealer(s.registry, s.rings, envelope.Options{})
	s.must(err)
	return s
}

// newMigrated gives a test a migrated database with a table of business rows.
func newMigrated[Tx any](t *testing.T, dialect Dialect[Tx]) *suite[Tx] {
	t.Helper()
	s := newSuite(t, dialect)
	s.migrate()
	s.exec(businessTable)
	return s
}

// businessTable holds what a producer writes beside its events.
const businessTable = "CREATE TABLE business (n INTEGER NOT NULL PRIMARY KEY)"

func (s *suite[Tx]) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// open opens another store on the test's database, as another process would.
func (s *suite[Tx]) open(table string) Store[Tx] {
	s.t.Helper()
	store, err := s.db.Store(s.ctx, table)
	s.must(err)
	s.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return store
}

func (s *suite[Tx]) migrate() {
	s.t.Helper()
	_, err := s.store.Migrate(s.ctx, s.registry.Indexes())
	s.must(err)
}

func (s *suite[Tx]) exec(sql string) {
	s.t.Helper()
	s.must(s.db.Exec(s.ctx, sql))
}

func (s *suite[Tx]) query(sql string) []string {
	s.t.Helper()
	values, err := s.db.Query(s.ctx, sql)
	s.must(err)
	return values
}

// set damages a column.
func (s *suite[Tx]) set(id, column string, value any) {
	s.t.Helper()
	err := s.db.SetColumn(s.ctx, id, column, value)
	if errors.Is(err, ErrTyped) {
		s.impossible = true
		return
	}
	s.must(err)
}

// count counts the rows of a table.
func (s *suite[Tx]) count(table string) string {
	s.t.Helper()
	return s.query("SELECT count(*) FROM " + table)[0]
}

// inTx runs f in a producer's transaction and commits it, whatever Write said in it.
func (s *suite[Tx]) inTx(f func(tx Tx)) {
	s.t.Helper()
	tx, err := s.db.Begin(s.ctx)
	s.must(err)
	f(tx)
	s.must(s.db.Commit(s.ctx, tx))
}

func eventID(n int) string {
	return fmt.Sprintf("0190aaaa-0000-7000-8000-%012d", n)
}

// person is an invoice's flagged data; every value of it is long enough to be looked for in outputs.
type person struct {
	name, taxID string
	emails      []string
	score       int
}

func personOf(n int) person {
	return person{
		name:   fmt.Sprintf("Müşteri %06d", n),
		taxID:  fmt.Sprintf("TAX-%06d", n),
		emails: []string{fmt.Sprintf("first.%06d@example.org", n), fmt.Sprintf("second.%06d@example.org", n)},
		score:  1_000_000 + n,
	}
}

// payload is written by hand, with white space, so that it shows whether bytes are kept.
func (p person) payload(number string) []byte {
	return fmt.Appendf(nil, "{\"number\": %q,  \"customer\": {\"name\":%q ,\"tax_id\":%q,\"emails\":[%q, %q],\"score\":%d}}",
		number, p.name, p.taxID, p.emails[0], p.emails[1], p.score)
}

// secrets are the texts that may appear nowhere but in opened payloads.
func (p person) secrets() []string {
	return append([]string{p.name, p.taxID, fmt.Sprint(p.score)}, p.emails...)
}

// invoice is the suite's n-th event.
func invoice(n int) envelope.Event {
	version := int64(n)
	return envelope.Event{
		ID:               eventID(n),
		Type:             invoiceType,
		Version:          1,
		AggregateType:    "invoice",
		AggregateID:      "inv-7",
		AggregateVersion: &version,
		OccurredAt:       time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC),
		Headers:          map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "q": "a<b>&\"ü\\"},
		Payload:          personOf(n).payload(fmt.Sprintf("2026-%d", n)),
	}
}

func ping(n int) envelope.Event {
	return envelope.Event{ID: eventID(n), Type: pingType, Version: 1, AggregateID: "p", OccurredAt: time.Unix(1_800_000_000, 0), Payload: fmt.Appendf(nil, `{"n":%d}`, n)}
}

func (s *suite[Tx]) seal(e envelope.Event) envelope.Sealed {
	s.t.Helper()
	sealed, err := s.sealer.Seal(s.ctx, e)
	s.must(err)
	return sealed
}

// invoices seals and writes events first … last.
func (s *suite[Tx]) invoices(first, last int) {
	s.t.Helper()
	var batch []envelope.Sealed
	for n := first; n <= last; n++ {
		batch = append(batch, s.seal(invoice(n)))
	}
	_, err := s.store.WriteBatch(s.ctx, batch...)
	s.must(err)
}

func (s *suite[Tx]) get(id string) *outboxstore.Row {
	s.t.Helper()
	row, err := s.store.Get(s.ctx, id)
	s.must(err)
	return row
}

// payload opens a stored event.
func (s *suite[Tx]) payload(row *outboxstore.Row) []byte {
	s.t.Helper()
	s.must(row.Err)
	opened, err := s.opener.Open(s.ctx, row.Received, envelope.OpenOptions{})
	s.must(err)
	return opened.Event.Payload
}

// expectOpens checks that the rows are the events first … last, and that each opens to the bytes that went in.
func (s *suite[Tx]) expectOpens(first, last int) {
	s.t.Helper()
	n := first
	for row, err := range s.store.Scan(s.ctx, outboxstore.ScanOptions{}) {
		s.must(err)
		if row.ID != eventID(n) {
			s.t.Fatalf("row %s where %s should be", row.ID, eventID(n))
		}
		if got, want := s.payload(row), invoice(n).Payload; !bytes.Equal(got, want) {
			s.t.Fatalf("row %s opens to\n%s\nand was\n%s", row.ID, got, want)
		}
		n++
	}
	if n != last+1 {
		s.t.Fatalf("rows end before %s, last is to be %s", eventID(n), eventID(last))
	}
}

// raw is everything that the database holds of an event, as text, for comparing before and after.
func (s *suite[Tx]) raw(id string) string {
	s.t.Helper()
	row := s.get(id)
	w := row.Wire()
	version := "none"
	if w.AggregateVersion != nil {
		version = fmt.Sprint(*w.AggregateVersion)
	}
	return fmt.Sprintf("%s %s/%d %s %q %s %v %v\n%s\n%x %v %v %v\n", w.ID, w.Type, w.Version, w.AggregateType, w.AggregateID, version,
		w.OccurredAt, w.Headers, w.Payload, row.Indexes, row.KeyIDs, row.CreatedAt, row.PublishedAt)
}

// scan collects rows' ids.
func (s *suite[Tx]) scan(opts outboxstore.ScanOptions) []string {
	s.t.Helper()
	var ids []string
	for row, err := range s.store.Scan(s.ctx, opts) {
		s.must(err)
		ids = append(ids, row.ID)
	}
	return ids
}

func (s *suite[Tx]) find(matches ...outboxstore.Match) []string {
	s.t.Helper()
	var ids []string
	for row, err := range s.store.Find(s.ctx, matches, outboxstore.FindOptions{PageSize: 2}) {
		s.must(err)
		ids = append(ids, row.ID)
	}
	return ids
}

// match asks for a value as a search does: all usable keys.
func (s *suite[Tx]) match(index, value string) outboxstore.Match {
	s.t.Helper()
	at := slices.IndexFunc(s.registry.Indexes(), func(i *schema.Index) bool { return i.Name == index })
	if at < 0 {
		s.t.Fatalf("the suite's schemas have no index %s", index)
	}
	declared := s.registry.Indexes()[at]
	ix, err := blindindex.New(declared.Name, declared.Normalize, declared.Bits)
	s.must(err)
	candidates, err := ix.Candidates(s.ring.Keyring.Usable(keyring.Index), ix.Query(value, declared.String, declared.Integer))
	s.must(err)
	return outboxstore.Match{Index: index, Candidates: candidates}
}

// ids are the event ids first … last.
func ids(first, last int) []string {
	var all []string
	for n := first; n <= last; n++ {
		all = append(all, eventID(n))
	}
	return all
}

func (s *suite[Tx]) expectIDs(got, want []string) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Fatalf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// expectNoSecrets looks for flagged values in what may be shown.
func (s *suite[Tx]) expectNoSecrets(text string, people ...person) {
	s.t.Helper()
	for _, p := range people {
		for _, secret := range p.secrets() {
			if strings.Contains(text, secret) {
				s.t.Errorf("a flagged value (%d bytes) stands in what may be shown:\n%s", len(secret), text)
			}
		}
	}
}

// as finds a typed error.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), not %T", err, err, e)
	}
	return e
}

// randomUUID is an id that nothing else has.
func randomUUID() string { return uuid.NewString() }
