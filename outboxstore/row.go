package outboxstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Row is one event as it is stored. It is read only: what it shares with others must not be changed.
type Row struct {
	// ID is the row's key as it stands in the table. Show it through DisplayID.
	ID string
	// Received is the event; zero if Err is not nil.
	Received envelope.Received
	// Err says why the row is no well-formed event (a *RowError), else nil.
	Err error
	// Indexes holds the stored blind indexes by name, the several values of a multi index sorted. A name without a value
	// is absent.
	Indexes map[string][][]byte
	// KeyIDs holds "seal:KID" and "index:KID", sorted.
	KeyIDs []string
	// CreatedAt is when the row was written, on the database's clock; zero if it cannot be read.
	CreatedAt time.Time
	// PublishedAt is when a relay published the event; zero if none did.
	PublishedAt time.Time

	stored Stored
}

// Stored is a row's columns as a dialect reads them, before anything in them is believed.
type Stored struct {
	ID               string
	AggregateType    string
	AggregateID      string
	AggregateVersion *int64
	EventType        string
	EventVersion     int64
	Payload          []byte
	Headers          string // JSON text
	OccurredAt       time.Time
	CreatedAt        time.Time
	PublishedAt      time.Time
	Indexes          map[string][][]byte
	KeyIDs           []string
	// Version is the dialect's own mark of this version of the row, the same only while nothing at all in the row is changed. Defaults to none.
	Version string
	// Damage is the first column that could not be read into its field, else nil.
	Damage *ColumnError
}

// sameEvent says whether two readings of a row found the same event, indexes and key ids. What a relay changes (attempts,
// lease, published_at) does not count.
func (s *Stored) sameEvent(o *Stored) bool {
	if s.Damage != nil || o.Damage != nil {
		return false
	}
	return s.ID == o.ID && s.AggregateType == o.AggregateType && s.AggregateID == o.AggregateID &&
		equalPointers(s.AggregateVersion, o.AggregateVersion) &&
		s.EventType == o.EventType && s.EventVersion == o.EventVersion &&
		bytes.Equal(s.Payload, o.Payload) && s.Headers == o.Headers && s.OccurredAt.Equal(o.OccurredAt) &&
		slices.Equal(s.KeyIDs, o.KeyIDs) &&
		maps.EqualFunc(s.Indexes, o.Indexes, func(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) })
}

func equalPointers(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// NewRow checks what a dialect has read. It is for dialects; a row that is no event is a Row with Err, not an error.
func NewRow(s Stored, limits envelope.Limits) *Row {
	slices.Sort(s.KeyIDs)
	for _, values := range s.Indexes {
		slices.SortFunc(values, bytes.Compare)
	}
	row := &Row{ID: s.ID, Indexes: s.Indexes, KeyIDs: s.KeyIDs, CreatedAt: s.CreatedAt, PublishedAt: s.PublishedAt, stored: s}
	received, err := s.parse(limits)
	if err != nil {
		row.Err = &RowError{ID: s.ID, Err: err}
		return row
	}
	row.Received = received
	return row
}

func (s *Stored) parse(limits envelope.Limits) (envelope.Received, error) {
	if s.Damage != nil {
		return envelope.Received{}, s.Damage
	}
	if DisplayID(s.ID) != s.ID {
		return envelope.Received{}, &ColumnError{Column: "id", Reason: "not a canonical UUID"}
	}
	headers, err := DecodeHeaders(s.Headers)
	if err != nil {
		return envelope.Received{}, err
	}
	if s.EventVersion < 1 || s.EventVersion > maxEventVersion {
		return envelope.Received{}, &ColumnError{Column: "event_version", Reason: "not in 1 to 2147483647"}
	}
	return envelope.Parse(envelope.Wire{
		ID:               s.ID,
		Type:             s.EventType,
		Version:          int(s.EventVersion),
		AggregateType:    s.AggregateType,
		AggregateID:      s.AggregateID,
		AggregateVersion: s.AggregateVersion,
		OccurredAt:       s.OccurredAt,
		Headers:          headers,
		Payload:          s.Payload,
	}, limits)
}

// maxEventVersion is the bound that docs/format.md sets for a version, 2^31 − 1.
const maxEventVersion = 1<<31 - 1

// Size is about what the row takes of memory, in bytes.
func (r *Row) Size() int { return len(r.stored.Payload) + len(r.stored.Headers) + rowOverhead }

// rowOverhead is about what a Row takes beside its payload and headers, in bytes.
const rowOverhead = 1024

// Wire is the event as it is stored, believed or not: a Verifier takes it. Headers that cannot be read are left out.
func (r *Row) Wire() envelope.Wire {
	s := &r.stored
	headers, _ := DecodeHeaders(s.Headers) // Err has it
	version := int(min(max(s.EventVersion, -1), maxEventVersion+1))
	return envelope.Wire{
		ID: s.ID, Type: s.EventType, Version: version,
		AggregateType: s.AggregateType, AggregateID: s.AggregateID, AggregateVersion: s.AggregateVersion,
		OccurredAt: s.OccurredAt, Headers: headers, Payload: s.Payload,
	}
}

// Version is Stored.Version. It is for dialects' Replace: a row with the version that was read needs no comparison.
func (r *Row) Version() string { return r.stored.Version }

// SameAs says whether the row, read again, still is what it was: same event, same ciphertexts, same indexes and key ids.
// It is for dialects' Replace.
func (r *Row) SameAs(again *Row) bool { return r.stored.sameEvent(&again.stored) }

// EncodeHeaders writes headers as the JSON text of the headers column.
func EncodeHeaders(headers map[string]string) (string, error) {
	if len(headers) == 0 {
		return "{}", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(headers); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// DecodeHeaders reads the headers column: a JSON object of strings. The error names no value.
func DecodeHeaders(text string) (map[string]string, error) {
	damaged := &ColumnError{Column: "headers", Reason: "not a JSON object of strings"}
	var members map[string]*string
	if err := json.Unmarshal([]byte(text), &members); err != nil || members == nil {
		return nil, damaged
	}
	if len(members) == 0 {
		return nil, nil
	}
	headers := make(map[string]string, len(members))
	for name, value := range members {
		if value == nil { // null: encoding/json would have made it ""
			return nil, damaged
		}
		headers[name] = *value
	}
	return headers, nil
}

// asRowError gives an error its row.
func asRowError(id string, err error) error {
	var e *RowError
	if errors.As(err, &e) {
		return err
	}
	return &RowError{ID: id, Err: err}
}
