package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// rowQuery is the SELECT of whole rows of one shape, without its WHERE.
type rowQuery struct {
	sql    string
	single []string
	multi  []string
}

// newRowQuery reads everything as text. The payload of a row that no reader would take is not sent: $1 is the greatest
// length.
func newRowQuery(s *shape) rowQuery {
	var q rowQuery
	q.single, q.multi = s.indexes()
	selected := []string{
		"e.id::text", "e.aggregate_type", "e.aggregate_id", "e.aggregate_version::text", "e.event_type", "e.event_version::text",
		"CASE WHEN octet_length(e.payload::text) <= $1::text::bigint THEN e.payload::text END", "e.headers::text",
		timeText("e.occurred_at"), timeText("e.created_at"), timeText("e.published_at"), "to_json(e.key_ids)::text", "''",
	}
	if s.versioned {
		selected[len(selected)-1] = "e.xmin::text"
	}
	for _, index := range q.single {
		selected = append(selected, `encode(e."bidx_`+index+`", 'hex')`)
	}
	for _, index := range q.multi {
		selected = append(selected, `(SELECT json_agg(encode(v, 'hex'))::text FROM unnest(e."bidx_`+index+`") v)`)
	}
	q.sql = "SELECT " + strings.Join(selected, ", ") + " FROM " + s.names.quoted() + " e "
	return q
}

// timeText writes a time as FormatTime does. What that cannot write (infinity, years before 1 and after 9999) is the empty
// text.
func timeText(expression string) string {
	return "CASE WHEN " + expression + " >= '0001-01-01 00:00:00+00' AND " + expression + " < '10000-01-01 00:00:00+00'" +
		" THEN to_char(" + expression + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')` +
		" WHEN " + expression + " IS NOT NULL THEN '' END"
}

// defaultMaxWire is envelope's default limit of a wire form.
const defaultMaxWire = 8 << 20

func (w *Writer) maxPayload() string {
	if w.limits.MaxWire > 0 {
		return fmt.Sprint(w.limits.MaxWire)
	}
	return fmt.Sprint(defaultMaxWire)
}

const doingRead = "read the outbox"

// page reads rows in one statement until they are large; the arguments of rest begin with $2.
func (q *rowQuery) page(ctx context.Context, db querier, w *Writer, maxBytes int, rest string, args ...any) (page []*outboxstore.Row, err error) {
	r, err := db.query(ctx, q.sql+rest, append([]any{w.maxPayload()}, args...)...)
	if err != nil {
		return nil, fault(doingRead, err)
	}
	defer func() { err = fault(doingRead, errors.Join(err, r.Close())) }()
	size := 0
	for (maxBytes <= 0 || size < maxBytes) && r.Next() {
		row, err := q.scan(r, w.limits)
		if err != nil {
			return nil, err
		}
		size += row.Size()
		page = append(page, row)
	}
	return page, r.Err()
}

// all reads rows in one statement, however large.
func (q *rowQuery) all(ctx context.Context, db querier, w *Writer, rest string, args ...any) ([]*outboxstore.Row, error) {
	return q.page(ctx, db, w, 0, rest, args...)
}

// scan reads the row at hand.
func (q *rowQuery) scan(r rows, limits envelope.Limits) (*outboxstore.Row, error) {
	var s outboxstore.Stored
	var version, published, occurred, created, keyIDs *string
	var eventVersion string
	single, multi := make([]*string, len(q.single)), make([]*string, len(q.multi))
	into := []any{&s.ID, &s.AggregateType, &s.AggregateID, &version, &s.EventType, &eventVersion, &s.Payload, &s.Headers, &occurred, &created, &published, &keyIDs, &s.Version}
	for i := range single {
		into = append(into, &single[i])
	}
	for i := range multi {
		into = append(into, &multi[i])
	}
	if err := r.Scan(into...); err != nil {
		return nil, err
	}
	if err := readNumbers(&s, version, eventVersion); err != nil {
		return nil, err
	}
	if s.Payload == nil {
		damage(&s, "payload", "longer than the limit of a wire form")
	}
	readTimes(&s, occurred, created, published)
	if keyIDs == nil || !unmarshalTexts(*keyIDs, &s.KeyIDs) {
		damage(&s, "key_ids", "not a list of texts")
	}
	q.readIndexes(&s, single, multi)
	return outboxstore.NewRow(s, limits), nil
}

func readNumbers(s *outboxstore.Stored, version *string, eventVersion string) error {
	var err error
	if s.EventVersion, err = strconv.ParseInt(eventVersion, 10, 64); err != nil || version == nil {
		return err
	}
	n, err := strconv.ParseInt(*version, 10, 64)
	s.AggregateVersion = &n
	return err
}

func readTimes(s *outboxstore.Stored, occurred, created, published *string) {
	var err error
	if s.OccurredAt, err = outboxstore.ParseTime(deref(occurred)); err != nil {
		damage(s, "occurred_at", err.Error())
	}
	if s.CreatedAt, err = outboxstore.ParseTime(deref(created)); err != nil {
		damage(s, "created_at", err.Error())
	}
	if published == nil {
		return
	}
	if s.PublishedAt, err = outboxstore.ParseTime(*published); err != nil {
		damage(s, "published_at", err.Error())
	}
}

func (q *rowQuery) readIndexes(s *outboxstore.Stored, single, multi []*string) {
	s.Indexes = map[string][][]byte{}
	for i, text := range single {
		if text != nil {
			s.Indexes[q.single[i]] = appendHex(s, q.single[i], nil, *text)
		}
	}
	for i, text := range multi {
		var values []string
		if text == nil {
			continue
		}
		if !unmarshalTexts(*text, &values) {
			damage(s, "bidx_"+q.multi[i], "not a list of values")
		}
		for _, value := range values {
			s.Indexes[q.multi[i]] = appendHex(s, q.multi[i], s.Indexes[q.multi[i]], value)
		}
	}
}

func appendHex(s *outboxstore.Stored, index string, values [][]byte, text string) [][]byte {
	value, err := hex.DecodeString(text)
	if err != nil {
		damage(s, "bidx_"+index, "not bytes")
	}
	return append(values, value)
}

// unmarshalTexts reads a JSON list; NULL in it and lists of lists are none.
func unmarshalTexts(text string, into *[]string) bool {
	if plain, ok := strings.CutPrefix(text, `["`); ok && !strings.ContainsAny(plain, "\\[{\n ") { // what fieldcrypt writes, without the price of a decoder
		if plain, ok = strings.CutSuffix(plain, `"]`); ok && strings.Count(plain, `"`) == 2*strings.Count(plain, `","`) && strings.Count(plain, ",") == strings.Count(plain, `","`) {
			*into = strings.Split(plain, `","`)
			return true
		}
	}
	var values []*string
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return false
	}
	for _, value := range values {
		if value == nil {
			return false
		}
		*into = append(*into, *value)
	}
	return true
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func damage(s *outboxstore.Stored, columnName, reason string) {
	if s.Damage == nil {
		s.Damage = &outboxstore.ColumnError{Column: columnName, Reason: reason}
	}
}

// Get implements outboxstore.Store.
func (s *Store) Get(ctx context.Context, id string) (*outboxstore.Row, error) {
	key, err := uuid.Parse(id)
	if err != nil || key.String() != id {
		return nil, outboxstore.ErrNoRow // the column holds nothing else
	}
	page, err := s.readPage(ctx, s.direct(), pageQuery{rest: "WHERE e.id = $2::text::uuid", args: []any{id}})
	if err != nil {
		return nil, err
	}
	if len(page) == 0 {
		return nil, outboxstore.ErrNoRow
	}
	return page[0], nil
}

// Scan implements outboxstore.Store.
func (s *Store) Scan(ctx context.Context, opts outboxstore.ScanOptions) iter.Seq2[*outboxstore.Row, error] {
	return func(yield func(*outboxstore.Row, error) bool) {
		if !opts.Snapshot {
			s.scan(ctx, s.direct(), opts, yield)
			return
		}
		if err := s.snapshot(ctx, func(q querier) { s.scan(ctx, q, opts, yield) }); err != nil {
			yield(nil, err)
		}
	}
}

// snapshot runs f in a transaction that sees the database as it is at its first statement. An error says that f has not
// run.
func (s *Store) snapshot(ctx context.Context, f func(querier)) error {
	tx, err := s.begin(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	f(pgxQuerier{handle: tx, timeout: s.statementTimeout})
	return nil
}

func (s *Store) scan(ctx context.Context, q querier, opts outboxstore.ScanOptions, yield func(*outboxstore.Row, error) bool) {
	w := &where{}
	if err := w.after(opts.After); err != nil {
		yield(nil, err)
		return
	}
	if !opts.Since.IsZero() {
		since, err := outboxstore.FormatTime(opts.Since)
		if err != nil {
			yield(nil, fmt.Errorf("since: %w", err))
			return
		}
		w.add("e.created_at >= %s::text::timestamptz", since)
	}
	if len(opts.NotOnly) > 0 {
		w.add("NOT e.key_ids <@ %s::text[]", q.texts(pointers(opts.NotOnly)))
	}
	if opts.Sample > 0 {
		s.sample(ctx, q, w, opts, yield)
		return
	}
	s.pages(ctx, q, &pager{where: w, limit: opts.Limit, pageSize: opts.PageSize, query: scanPage}, yield)
}

// where is a condition with its arguments, which begin with $2.
type where struct {
	conditions []string
	args       []any
	key        string // the key to begin after
}

// add takes a condition in which %s stands for the argument.
func (w *where) add(condition string, arg any) {
	w.conditions = append(w.conditions, fmt.Sprintf(condition, w.parameter(arg)))
}

// parameter adds an argument alone.
func (w *where) parameter(arg any) string {
	w.args = append(w.args, arg)
	return fmt.Sprintf("$%d", len(w.args)+1)
}

// after sets the key to begin after.
func (w *where) after(key string) error {
	if key != "" {
		if _, err := uuid.Parse(key); err != nil {
			return errors.New("the key to begin after is no UUID")
		}
	}
	w.key = key
	return nil
}

// with is a copy with the key's condition and one more argument, the greatest number of rows.
func (w *where) page(limit int) (condition, limitParameter string, args []any) {
	c := where{conditions: append([]string{"true"}, w.conditions...), args: append([]any{}, w.args...)}
	if w.key != "" {
		c.add("e.id > %s::text::uuid", w.key)
	}
	limitParameter = c.parameter(fmt.Sprint(limit))
	return strings.Join(c.conditions, " AND "), limitParameter, c.args
}

// pageQuery is what follows a rowQuery's SELECT.
type pageQuery struct {
	rest string
	args []any
}

// scanPage walks the rows by key.
func scanPage(_ names, w *where, limit int) pageQuery {
	condition, most, args := w.page(limit)
	return pageQuery{rest: "WHERE " + condition + " ORDER BY e.id LIMIT " + most + "::text::bigint", args: args}
}

// pages yields rows page by page; no statement is open while a row is yielded.
func (s *Store) pages(ctx context.Context, q querier, p *pager, yield func(*outboxstore.Row, error) bool) {
	first, err := s.readPage(ctx, q, p.next(s.names))
	if err != nil {
		yield(nil, err)
		return
	}
	s.pagesFrom(ctx, q, p, first, yield)
}

// pagesFrom is pages, of which the first was read.
func (s *Store) pagesFrom(ctx context.Context, q querier, p *pager, page []*outboxstore.Row, yield func(*outboxstore.Row, error) bool) {
	for {
		for _, row := range page {
			if !yield(row, nil) {
				return
			}
		}
		if p.ends(page) {
			return
		}
		var err error
		if page, err = s.readPage(ctx, q, p.next(s.names)); err != nil {
			yield(nil, err)
			return
		}
	}
}

// pager is how rows are read page by page.
type pager struct {
	where    *where
	limit    int // of all rows; none if not positive
	pageSize int
	query    func(names, *where, int) pageQuery
	read     int // rows
}

// size is the greatest number of rows of the next page.
func (p *pager) size() int {
	size := p.pageSize
	if size <= 0 {
		size = outboxstore.DefaultPageSize
	}
	if p.limit > 0 {
		size = min(size, p.limit-p.read)
	}
	return size
}

func (p *pager) next(n names) pageQuery { return p.query(n, p.where, p.size()) }

// ends says that a page was the last, and goes on after it else.
func (p *pager) ends(page []*outboxstore.Row) bool {
	short := len(page) < p.size() && !isCut(page)
	p.read += len(page)
	if len(page) == 0 || short || p.limit > 0 && p.read >= p.limit {
		return true
	}
	p.where.key = page[len(page)-1].ID
	return false
}

// isCut says that a page may have ended for its size, before the rows did.
func isCut(page []*outboxstore.Row) bool {
	size := 0
	for _, row := range page {
		size += row.Size()
	}
	return size >= outboxstore.MaxPageBytes
}

// readPage looks at the shape anew for each page, since a migration may have come between.
func (s *Store) readPage(ctx context.Context, q querier, p pageQuery) ([]*outboxstore.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	shape, err := s.readyShape(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.readPageOf(ctx, q, shape, p)
}

// readPageOf reads a page of the table as it is known.
func (s *Store) readPageOf(ctx context.Context, q querier, shape *shape, p pageQuery) ([]*outboxstore.Row, error) {
	query := newRowQuery(shape)
	return query.page(ctx, q, s.Writer, outboxstore.MaxPageBytes, p.rest, p.args...)
}

// sample chooses keys at random, then yields their rows by key order. A row that is deleted in between is left out.
func (s *Store) sample(ctx context.Context, q querier, w *where, opts outboxstore.ScanOptions, yield func(*outboxstore.Row, error) bool) {
	ids, err := s.sampleIDs(ctx, q, w, opts.Sample)
	if err != nil {
		yield(nil, err)
		return
	}
	if opts.Limit > 0 && len(ids) > opts.Limit {
		ids = ids[:opts.Limit]
	}
	for _, id := range ids {
		page, err := s.readPage(ctx, q, pageQuery{rest: "WHERE e.id = $2::text::uuid", args: []any{id}})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, row := range page {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (s *Store) sampleIDs(ctx context.Context, q querier, w *where, n int) (ids []string, err error) {
	const doing = "choose rows at random"
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := s.readyShape(ctx, q); err != nil {
		return nil, err
	}
	condition, most, args := w.page(n)
	// $1 is the greatest length of a payload in every other query.
	r, err := q.query(ctx, "SELECT c.id::text FROM (SELECT e.id FROM "+s.names.quoted()+" e WHERE $1::text IS NOT NULL AND "+condition+
		" ORDER BY random() LIMIT "+most+"::text::bigint) c ORDER BY c.id", append([]any{""}, args...)...)
	if err != nil {
		return nil, fault(doing, err)
	}
	defer func() { err = fault(doing, errors.Join(err, r.Close())) }()
	for r.Next() {
		var id string
		if err := r.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, r.Err()
}

// RowEstimate implements outboxstore.Store: the statistics of a large table, a count of any other.
func (s *Store) RowEstimate(ctx context.Context) (int64, error) {
	const doing = "estimate the number of rows"
	q := s.direct()
	if _, err := s.readyShape(ctx, q); err != nil {
		return 0, err
	}
	var text string
	err := queryOne(ctx, q, "SELECT (CASE WHEN c.reltuples >= 100000 THEN c.reltuples::bigint ELSE (SELECT count(*) FROM "+s.names.quoted()+`) END)::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::name AND c.relname = $2::name`,
		[]any{s.names.schema, s.names.table}, &text)
	if err != nil {
		return 0, fault(doing, err)
	}
	return strconv.ParseInt(text, 10, 64)
}

// KeyCounts implements outboxstore.Store.
func (s *Store) KeyCounts(ctx context.Context) (counts map[string]int64, err error) {
	const doing = "count key ids"
	q := s.direct()
	if _, err := s.readyShape(ctx, q); err != nil {
		return nil, err
	}
	r, err := q.query(ctx, "SELECT k.id, count(*)::text FROM "+s.names.quoted()+" e, unnest(e.key_ids) k(id) WHERE k.id IS NOT NULL GROUP BY k.id")
	if err != nil {
		return nil, fault(doing, err)
	}
	defer func() { err = fault(doing, errors.Join(err, r.Close())) }()
	counts = map[string]int64{}
	for r.Next() {
		var id, count string
		if err := r.Scan(&id, &count); err != nil {
			return nil, err
		}
		var n int64
		if err := json.Unmarshal([]byte(count), &n); err != nil {
			return nil, err
		}
		counts[id] = n
	}
	return counts, r.Err()
}
