package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// maxCandidates bounds one search; SQLite takes 32,766 parameters in a statement.
const maxCandidates = 10_000

// rowQuery is the SELECT of whole rows of one shape, without its WHERE.
type rowQuery struct {
	sql    string
	single []string
	multi  []string
}

// newRowQuery reads key ids and multi indexes as JSON in the same statement, so that a row is of one moment. The payload of
// a row that no reader would take is not loaded: ?1 is the greatest length.
func newRowQuery(s *shape) rowQuery {
	q := rowQuery{single: s.single(), multi: s.multi()}
	selected := []string{
		"e.id", "e.aggregate_type", "e.aggregate_id", "e.aggregate_version", "e.event_type", "e.event_version",
		"CASE WHEN octet_length(e.payload) <= ?1 THEN e.payload END", "e.headers", "e.occurred_at", "e.created_at", "e.published_at",
		"(SELECT json_group_array(k.key_id) FROM " + quoted(s.names.keyIDs()) + " k WHERE k.event_id = e.id)",
	}
	for _, index := range q.single {
		selected = append(selected, `e."bidx_`+index+`"`)
	}
	for _, index := range q.multi {
		selected = append(selected, "(SELECT json_group_array(hex(m.value)) FROM "+quoted(s.names.multi(index))+" m WHERE m.event_id = e.id)")
	}
	q.sql = "SELECT " + strings.Join(selected, ", ") + " FROM " + quoted(s.names.table) + " e"
	return q
}

// text is the whole statement; its last parameter is the greatest number of rows.
func (q *rowQuery) text(where, order string) string {
	return q.sql + " WHERE " + where + order + " LIMIT ?"
}

// defaultMaxWire is envelope's default limit of a wire form.
const defaultMaxWire = 8 << 20

func (w *Writer) maxPayload() int {
	if w.limits.MaxWire > 0 {
		return w.limits.MaxWire
	}
	return defaultMaxWire
}

// scan reads the row at hand.
func (q *rowQuery) scan(rows *sql.Rows, limits envelope.Limits) (*outboxstore.Row, error) {
	var s outboxstore.Stored
	var version sql.NullInt64
	var payload, published sql.NullString
	var occurred, created, keyIDs string
	single := make([][]byte, len(q.single))
	multi := make([]string, len(q.multi))
	into := []any{&s.ID, &s.AggregateType, &s.AggregateID, &version, &s.EventType, &s.EventVersion, &payload, &s.Headers, &occurred, &created, &published, &keyIDs}
	for i := range single {
		into = append(into, &single[i])
	}
	for i := range multi {
		into = append(into, &multi[i])
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	if version.Valid {
		s.AggregateVersion = &version.Int64
	}
	if err := json.Unmarshal([]byte(keyIDs), &s.KeyIDs); err != nil {
		return nil, fmt.Errorf("read key ids: %w", err)
	}
	var err error
	if s.Indexes, err = q.indexes(single, multi); err != nil {
		return nil, err
	}
	s.Payload = []byte(payload.String)
	if !payload.Valid {
		damage(&s, "payload", "longer than the limit of a wire form")
	}
	if s.OccurredAt, err = outboxstore.ParseTime(occurred); err != nil {
		damage(&s, "occurred_at", err.Error())
	}
	if s.CreatedAt, err = outboxstore.ParseTime(created); err != nil {
		damage(&s, "created_at", err.Error())
	}
	if published.Valid {
		if s.PublishedAt, err = outboxstore.ParseTime(published.String); err != nil {
			damage(&s, "published_at", err.Error())
		}
	}
	return outboxstore.NewRow(s, limits), nil
}

func damage(s *outboxstore.Stored, columnName, reason string) {
	if s.Damage == nil {
		s.Damage = &outboxstore.ColumnError{Column: columnName, Reason: reason}
	}
}

func (q *rowQuery) indexes(single [][]byte, multi []string) (map[string][][]byte, error) {
	indexes := map[string][][]byte{}
	for i, value := range single {
		if value != nil {
			indexes[q.single[i]] = [][]byte{value}
		}
	}
	for i, text := range multi {
		var values []string
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return nil, fmt.Errorf("read a multi index: %w", err)
		}
		for _, v := range values {
			value, err := hex.DecodeString(v)
			if err != nil {
				return nil, fmt.Errorf("read a multi index: %w", err)
			}
			indexes[q.multi[i]] = append(indexes[q.multi[i]], value)
		}
	}
	return indexes, nil
}

// row reads one row in the transaction of q.
func (w *Writer) row(ctx context.Context, q querier, s *shape, id string) (*outboxstore.Row, error) {
	found, err := w.page(ctx, q, s, "e.id = ?", []any{id}, "", 1)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, outboxstore.ErrNoRow
	}
	return found[0], nil
}

// page reads rows in one statement, which is one read transaction: at most limit of them, and fewer if they are large.
func (w *Writer) page(ctx context.Context, q querier, s *shape, where string, args []any, order string, limit int) (page []*outboxstore.Row, err error) {
	query := newRowQuery(s)
	all := append([]any{w.maxPayload()}, args...)
	rows, err := q.QueryContext(ctx, query.text(where, order), append(all, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	size := 0
	for size < outboxstore.MaxPageBytes && rows.Next() {
		row, err := query.scan(rows, w.limits)
		if err != nil {
			return nil, fmt.Errorf("read the outbox: %w", err)
		}
		size += row.Size()
		page = append(page, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return page, nil
}

// Get implements outboxstore.Store.
func (s *Store) Get(ctx context.Context, id string) (*outboxstore.Row, error) {
	shape, err := s.readyShape(ctx, s.db)
	if err != nil {
		return nil, err
	}
	return s.row(ctx, s.db, shape, id)
}

func (w *Writer) readyShape(ctx context.Context, q querier) (*shape, error) {
	s, err := readShape(ctx, q, w.names)
	if err != nil {
		return nil, err
	}
	return s, s.require()
}

// Scan implements outboxstore.Store.
func (s *Store) Scan(ctx context.Context, opts outboxstore.ScanOptions) iter.Seq2[*outboxstore.Row, error] {
	return func(yield func(*outboxstore.Row, error) bool) {
		if !opts.Snapshot {
			s.scan(ctx, s.db, opts, yield)
			return
		}
		err := s.snapshot(ctx, func(q querier) { s.scan(ctx, q, opts, yield) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// snapshot runs f in a read transaction. An error says that f has not run.
func (s *Store) snapshot(ctx context.Context, f func(querier)) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
		return beginError(err)
	}
	defer rollback(ctx, conn)
	f(conn)
	return nil
}

func (s *Store) scan(ctx context.Context, q querier, opts outboxstore.ScanOptions, yield func(*outboxstore.Row, error) bool) {
	where, args := []string{}, []any{}
	if !opts.Since.IsZero() {
		since, err := outboxstore.FormatTime(opts.Since)
		if err != nil {
			yield(nil, fmt.Errorf("since: %w", err))
			return
		}
		where, args = append(where, "e.created_at >= ?"), append(args, since)
	}
	if len(opts.NotOnly) > 0 {
		where = append(where, "EXISTS (SELECT 1 FROM "+quoted(s.names.keyIDs())+" k WHERE k.event_id = e.id AND k.key_id NOT IN (SELECT value FROM json_each(?)))")
		list, err := json.Marshal(opts.NotOnly)
		if err != nil {
			yield(nil, err)
			return
		}
		args = append(args, string(list))
	}
	if opts.Sample > 0 {
		s.sample(ctx, q, where, args, opts, yield)
		return
	}
	s.pages(ctx, q, pageQuery{where: where, args: args, after: opts.After, limit: opts.Limit, pageSize: opts.PageSize}, yield)
}

// pageQuery is what a sequence of pages asks.
type pageQuery struct {
	where    []string
	args     []any
	after    string
	limit    int
	pageSize int
}

// conditions are the parts of the statement of one page; the last parameter of where is the key to begin after.
func (p *pageQuery) conditions() (where, order string) {
	return strings.Join(append(slices.Clone(p.where), "e.id > ?"), " AND "), " ORDER BY e.id"
}

// pages yields rows page by page; no statement is open while a row is yielded.
func (s *Store) pages(ctx context.Context, q querier, p pageQuery, yield func(*outboxstore.Row, error) bool) {
	where, order := p.conditions()
	left := p.limit
	for after := p.after; ; {
		size := pageSize(p.pageSize)
		if p.limit > 0 {
			size = min(size, left)
		}
		page, err := s.readPage(ctx, q, where, append(slices.Clone(p.args), after), order, size)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, row := range page {
			if !yield(row, nil) {
				return
			}
		}
		left -= len(page)
		if len(page) == 0 || p.limit > 0 && left == 0 {
			return
		}
		after = page[len(page)-1].ID
	}
}

// readPage looks at the shape anew for each page, since a migration may have come between.
func (s *Store) readPage(ctx context.Context, q querier, where string, args []any, order string, limit int) ([]*outboxstore.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	shape, err := s.readyShape(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, q, shape, where, args, order, limit)
}

func pageSize(n int) int {
	if n <= 0 {
		return outboxstore.DefaultPageSize
	}
	return n
}

// sample chooses keys at random, then yields their rows by key order. A row that is deleted in between is left out.
func (s *Store) sample(ctx context.Context, q querier, where []string, args []any, opts outboxstore.ScanOptions, yield func(*outboxstore.Row, error) bool) {
	ids, err := s.sampleIDs(ctx, q, append(where, "e.id > ?"), append(args, opts.After), opts.Sample)
	if err != nil {
		yield(nil, err)
		return
	}
	if opts.Limit > 0 && len(ids) > opts.Limit {
		ids = ids[:opts.Limit]
	}
	for _, id := range ids {
		page, err := s.readPage(ctx, q, "e.id = ?", []any{id}, "", 1)
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

func (s *Store) sampleIDs(ctx context.Context, q querier, where []string, args []any, n int) (ids []string, err error) {
	if _, err := s.readyShape(ctx, q); err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "SELECT e.id FROM "+quoted(s.names.table)+" e WHERE "+strings.Join(where, " AND ")+
		" ORDER BY random() LIMIT ?", append(args, n)...)
	if err != nil {
		return nil, fmt.Errorf("choose rows at random: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("choose rows at random: %w", err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, rows.Err()
}

// Find implements outboxstore.Store.
func (s *Store) Find(ctx context.Context, matches []outboxstore.Match, opts outboxstore.FindOptions) iter.Seq2[*outboxstore.Row, error] {
	return func(yield func(*outboxstore.Row, error) bool) {
		p, some, err := s.search(ctx, matches)
		if err != nil {
			yield(nil, err)
			return
		}
		if !some {
			return
		}
		p.after, p.limit, p.pageSize = opts.After, opts.Limit, opts.PageSize
		s.pages(ctx, s.db, p, yield)
	}
}

// search is the pageQuery of a Find; some is false if nothing can match.
func (s *Store) search(ctx context.Context, matches []outboxstore.Match) (p pageQuery, some bool, err error) {
	if len(matches) == 0 {
		return p, false, errors.New("find needs at least one blind index")
	}
	shape, err := s.readyShape(ctx, s.db)
	if err != nil {
		return p, false, err
	}
	some = true
	for _, m := range matches {
		columnName, multi, err := shape.place(m.Index)
		if err != nil {
			return p, false, err
		}
		p.where = append(p.where, matchCondition(s.names, m, columnName, multi))
		for _, c := range m.Candidates {
			p.args = append(p.args, c)
		}
		some = some && len(m.Candidates) > 0
	}
	if len(p.args) > maxCandidates {
		return p, false, fmt.Errorf("find takes at most %d candidates", maxCandidates)
	}
	return p, some, nil
}

func matchCondition(n names, m outboxstore.Match, columnName string, multi bool) string {
	list := "(" + strings.TrimPrefix(strings.Repeat(", ?", len(m.Candidates)), ", ") + ")"
	if multi {
		return "e.id IN (SELECT m.event_id FROM " + quoted(n.multi(m.Index)) + " m WHERE m.value IN " + list + ")"
	}
	return `e."` + columnName + `" IN ` + list
}

// RowEstimate implements outboxstore.Store.
func (s *Store) RowEstimate(ctx context.Context) (n int64, err error) {
	if _, err := s.readyShape(ctx, s.db); err != nil {
		return 0, err
	}
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM "+quoted(s.names.table)).Scan(&n); err != nil {
		return 0, fmt.Errorf("estimate the number of rows: %w", err)
	}
	return n, nil
}

// KeyCounts implements outboxstore.Store.
func (s *Store) KeyCounts(ctx context.Context) (counts map[string]int64, err error) {
	if _, err := s.readyShape(ctx, s.db); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, "SELECT key_id, count(*) FROM "+quoted(s.names.keyIDs())+" GROUP BY key_id")
	if err != nil {
		return nil, fmt.Errorf("count key ids: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counts = map[string]int64{}
	for rows.Next() {
		var id string
		var n int64
		if err := rows.Scan(&id, &n); err != nil {
			return nil, fmt.Errorf("count key ids: %w", err)
		}
		counts[id] = n
	}
	return counts, rows.Err()
}
