package audittrail

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// Result says what became of an operation.
type Result string

// The results.
const (
	// Begun is written before the operation; the entry of its outcome names this one in Of.
	Begun Result = "begun"
	OK    Result = "ok"
	// Refused: a guard, a person or the input said no.
	Refused Result = "refused"
	// Failed: it could not go on. It may have been done in part.
	Failed Result = "failed"
)

// Hash is a SHA-256 hash.
type Hash [sha256.Size]byte

// String is the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what String wrote.
func ParseHash(text string) (h Hash, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(h) || hex.EncodeToString(raw) != text {
		return h, errors.New("not a hash of 64 lower-case hex digits")
	}
	return Hash(raw), nil
}

// Genesis is the hash that the first entry of a chain holds as the one before it.
var Genesis = Hash{}

// Entry is one line of a trail. Append sets Seq, Previous and Hash.
type Entry struct {
	// Seq counts from 1 without a gap.
	Seq uint64
	// Time is that of the process that wrote it, in UTC, to microseconds. Clocks differ: only Seq says what came first.
	Time time.Time
	// Actor is who did it, as far as the process could tell.
	Actor string
	// Operation is what was done, such as open or keys.promote.
	Operation string
	// Of is the Seq of the Begun entry whose outcome this is; 0 for none.
	Of     uint64
	Result Result
	// Error is the class of the error of a Refused or Failed operation, never its text.
	Error string
	// Keyring is the name of the keyring; KeyIDs are PURPOSE:KID.
	Keyring string
	KeyIDs  []string
	// Store is the URL of the store, without a password.
	Store string
	// Detail is what the operation needs beside: names of indexes, a digest. Never a value.
	Detail string
	Rows   Rows
	// Counts are numbers by name, such as rotated, or type:invoice.issued.
	Counts map[string]int64

	Previous Hash
	Hash     Hash
}

// The bounds of an entry.
const (
	MaxRowIDs    = 1000
	maxKeyIDs    = 1000
	maxCounts    = 1000
	maxTextBytes = 1024
	// maxLineBytes is above what an entry within the bounds takes.
	maxLineBytes = 4 << 20
)

// EntryError refuses an entry that a trail does not hold. It names the member, never what stands in it.
type EntryError struct{ Member, Detail string }

func (e *EntryError) Error() string {
	return fmt.Sprintf("not an entry of an audit trail: %s %s", e.Member, e.Detail)
}

func (e Entry) check() error {
	switch {
	case e.Operation == "":
		return &EntryError{"operation", "is missing"}
	case e.Actor == "":
		return &EntryError{"actor", "is missing"}
	case e.Time.Before(time.Unix(0, 0)) || e.Time.Year() > 9999:
		return &EntryError{"time", "is outside the years 1970 to 9999"}
	case e.Result != Begun && e.Result != OK && e.Result != Refused && e.Result != Failed:
		return &EntryError{"result", "is none of begun, ok, refused, failed"}
	case len(e.KeyIDs) > maxKeyIDs:
		return &EntryError{"key_ids", fmt.Sprintf("are more than %d", maxKeyIDs)}
	case len(e.Counts) > maxCounts:
		return &EntryError{"counts", fmt.Sprintf("are more than %d", maxCounts)}
	case e.Seq > math.MaxInt64 || e.Of > math.MaxInt64:
		return &EntryError{"seq", "is too large"}
	}
	texts := []struct{ member, text string }{
		{"actor", e.Actor}, {"operation", e.Operation}, {"error", e.Error}, {"keyring", e.Keyring}, {"store", e.Store}, {"detail", e.Detail},
	}
	for _, id := range e.KeyIDs {
		texts = append(texts, struct{ member, text string }{"key_ids", id})
	}
	for name, n := range e.Counts {
		texts = append(texts, struct{ member, text string }{"counts", name})
		if n < 0 {
			return &EntryError{"counts", "hold a negative number"}
		}
	}
	for _, t := range texts {
		if !fits(t.text) {
			return &EntryError{t.member, fmt.Sprintf("is not printable text of at most %d bytes", maxTextBytes)}
		}
	}
	return e.Rows.check()
}

func fits(text string) bool {
	if len(text) > maxTextBytes || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Fit makes any text one that an entry may hold.
func Fit(text string) string {
	var b []byte
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '?'
		}
		if len(b)+utf8.RuneLen(r) > maxTextBytes {
			break
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// domain begins what is hashed, so that no other structure has the same bytes.
const domain = "fieldcrypt.audit.v1"

// sum is the SHA-256 hash of the entry's bytes, docs/format.md, section 9.1. Every text is preceded by its length and every list by its number of elements, each
// four bytes, big-endian, so that two entries have the same bytes only if they are the same; numbers take eight:
//
//	domain ‖ seq ‖ µs ‖ actor ‖ operation ‖ of ‖ result ‖ error ‖ keyring ‖ [key id …] ‖ store ‖ detail ‖
//	rows.count ‖ [id …] ‖ rows.last ‖ rows.digest ‖ [name ‖ number …] ‖ previous (32 bytes)
func (e Entry) sum() Hash {
	var b []byte
	text := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	number := func(n uint64) { b = binary.BigEndian.AppendUint64(b, n) }
	list := func(all []string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(all)))
		for _, s := range all {
			text(s)
		}
	}
	text(domain)
	number(e.Seq)
	number(uint64(e.Time.UnixMicro()))
	text(e.Actor)
	text(e.Operation)
	number(e.Of)
	text(string(e.Result))
	text(e.Error)
	text(e.Keyring)
	list(e.KeyIDs)
	text(e.Store)
	text(e.Detail)
	number(uint64(e.Rows.Count))
	list(e.Rows.IDs)
	text(e.Rows.Last)
	text(string(e.Rows.digest()))
	names := slices.Sorted(maps.Keys(e.Counts))
	b = binary.BigEndian.AppendUint32(b, uint32(len(names)))
	for _, name := range names {
		text(name)
		number(uint64(e.Counts[name]))
	}
	b = append(b, e.Previous[:]...)
	return sha256.Sum256(b)
}

// Chain makes an entry the next one after last, which is the zero Entry for the first. It is what a Log does in Append.
func Chain(last, e Entry) (Entry, error) {
	if last.Seq >= math.MaxInt64 {
		return Entry{}, &EntryError{"seq", "has reached its end"}
	}
	e.Seq, e.Previous = last.Seq+1, Genesis
	if last.Seq > 0 {
		e.Previous = last.Hash
	}
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	if err := e.check(); err != nil {
		return Entry{}, err
	}
	e.Hash = e.sum()
	return e, nil
}

// timeLayout is of one width, so that times compare as text.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// line is the form in JSON.
type line struct {
	Seq       uint64           `json:"seq"`
	Time      string           `json:"time"`
	Actor     string           `json:"actor"`
	Operation string           `json:"operation"`
	Of        uint64           `json:"of,omitempty"`
	Result    Result           `json:"result"`
	Error     string           `json:"error,omitempty"`
	Keyring   string           `json:"keyring,omitempty"`
	KeyIDs    []string         `json:"key_ids,omitempty"`
	Store     string           `json:"store,omitempty"`
	Detail    string           `json:"detail,omitempty"`
	Rows      *rows            `json:"rows,omitempty"`
	Counts    map[string]int64 `json:"counts,omitempty"`
	Previous  string           `json:"previous"`
	Hash      string           `json:"hash"`
}

type rows struct {
	Count  int64    `json:"count"`
	IDs    []string `json:"ids,omitempty"`
	Last   string   `json:"last,omitempty"`
	Digest string   `json:"digest,omitempty"`
}

// Text is the entry as it is stored: one line of JSON, without its end.
func (e Entry) Text() []byte {
	l := line{
		Seq: e.Seq, Time: e.Time.UTC().Format(timeLayout), Actor: e.Actor, Operation: e.Operation, Of: e.Of, Result: e.Result, Error: e.Error, Keyring: e.Keyring,
		KeyIDs: e.KeyIDs, Store: e.Store, Detail: e.Detail, Counts: e.Counts, Previous: e.Previous.String(), Hash: e.Hash.String(),
	}
	if e.Rows.Count > 0 {
		l.Rows = &rows{Count: e.Rows.Count, IDs: e.Rows.IDs, Last: e.Rows.Last, Digest: hex.EncodeToString(e.Rows.digest())}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(l) // texts and numbers alone: it cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// errLine says that a line is not what Text wrote. What stands in it is not said: it may be anything.
var errLine = errors.New("not a line that fieldcrypt wrote")

// Parse reads an entry as Text wrote it, to the byte, and proves its hash.
func Parse(text []byte) (Entry, error) {
	if len(text) > maxLineBytes {
		return Entry{}, errLine
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var l line
	if dec.Decode(&l) != nil {
		return Entry{}, errLine
	}
	if _, err := dec.Token(); err != io.EOF {
		return Entry{}, errLine
	}
	e := Entry{Seq: l.Seq, Actor: l.Actor, Operation: l.Operation, Of: l.Of, Result: l.Result, Error: l.Error, Keyring: l.Keyring, KeyIDs: l.KeyIDs, Store: l.Store, Detail: l.Detail, Counts: l.Counts}
	var errs [4]error
	e.Time, errs[0] = time.Parse(timeLayout, l.Time)
	e.Previous, errs[1] = ParseHash(l.Previous)
	e.Hash, errs[2] = ParseHash(l.Hash)
	if l.Rows != nil {
		e.Rows, errs[3] = l.Rows.parse()
	}
	if errors.Join(errs[:]...) != nil || e.check() != nil || !bytes.Equal(e.Text(), text) {
		return e, errLine
	}
	if e.sum() != e.Hash {
		return e, fmt.Errorf("the hash of entry %s is not that of what it holds", strconv.FormatUint(e.Seq, 10))
	}
	return e, nil
}
