package eventline

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Form is one of the two forms of an event line.
type Form int

const (
	// Plaintext lines hold a payload as a producer wrote it.
	Plaintext Form = iota
	// Sealed lines hold a payload in wire form, key_ids, and perhaps blind_indexes.
	Sealed
)

// Line is one event line that was read. It stays valid when the Reader goes on.
type Line struct {
	// Position of the line's first byte that is no white space.
	Position

	ID               string // "" where a plaintext line has none
	Type             string
	Version          int       // 1 where the line has none
	AggregateType    string    // the type up to its first dot where the line has none
	AggregateID      string    //
	AggregateVersion *int64    // nil where the line has none
	OccurredAt       time.Time // the reader's clock where the line has none
	Headers          map[string]string
	// Payload is the line's own bytes.
	Payload []byte

	// KeyIDs are a sealed line's key ids; empty where nothing is flagged, or the line does not say.
	KeyIDs []string
	// BlindIndexes are a sealed line's stored forms by index name; nil where the line does not say.
	BlindIndexes map[string][][]byte

	payloadColumn int
	columns       [memberCount]int // of each member's value, 0 where it is absent
}

// Event is the line as an event to seal.
func (l *Line) Event() envelope.Event { return envelope.Event(l.Wire()) }

// Wire is the line as an event in wire form, for envelope.Parse.
func (l *Line) Wire() envelope.Wire {
	return envelope.Wire{
		ID: l.ID, Type: l.Type, Version: l.Version,
		AggregateType: l.AggregateType, AggregateID: l.AggregateID, AggregateVersion: l.AggregateVersion,
		OccurredAt: l.OccurredAt, Headers: l.Headers, Payload: l.Payload,
	}
}

// Format keeps payloads, aggregate ids and headers out of logs, whatever the verb.
func (l Line) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%v: %v", l.Position, l.Event()) }

// LogValue is what Format prints, for slog.
func (l Line) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(l)) }

// fill gives absent members their defaults.
func (l *Line) fill(now func() time.Time) {
	if l.columns[memberVersion] == 0 {
		l.Version = 1
	}
	if l.columns[memberAggregateType] == 0 {
		l.AggregateType, _, _ = strings.Cut(l.Type, ".")
	}
	if l.columns[memberOccurredAt] == 0 {
		l.OccurredAt = now()
	}
}

// columnOf gives the column of a member's value, or the line's own where it is absent.
func (l *Line) columnOf(name string) int {
	if m, ok := memberOf([]byte(name)); ok && l.columns[m] > 0 {
		return l.columns[m]
	}
	return l.Column
}

// member is a name that a line may have.
type member int

const (
	memberID member = iota
	memberType
	memberVersion
	memberAggregateType
	memberAggregateID
	memberAggregateVersion
	memberOccurredAt
	memberHeaders
	memberPayload
	memberKeyIDs
	memberBlindIndexes
	memberCount
)

var memberNames = [memberCount]string{
	"id", "type", "version", "aggregate_type", "aggregate_id", "aggregate_version", "occurred_at", "headers", "payload", "key_ids", "blind_indexes",
}

func (m member) String() string { return memberNames[m] }

// sealedOnly tells members that a plaintext line does not have.
func (m member) sealedOnly() bool { return m == memberKeyIDs || m == memberBlindIndexes }

func memberOf(name []byte) (member, bool) {
	for m, known := range memberNames {
		if string(name) == known {
			return member(m), true
		}
	}
	return 0, false
}
