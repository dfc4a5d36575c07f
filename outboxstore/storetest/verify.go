package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// damage is one fault made behind the store's back, in rows 2 and 4 of five.
type damage[Tx any] struct {
	make    func(s *suite[Tx], id string)
	with    kinds // with keys
	without kinds // without keys, with the keyring's document
}

// kinds are what a row's damage is to be reported as: kind and severity.
type kinds []string

func testVerify[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "a clean table gives nothing", func(s *suite[Tx]) {
		s.invoices(1, 7)
		s.writePings(8, 9)
		for _, workers := range []int{0, 1, 4} {
			var log bytes.Buffer
			r := s.verify(outboxstore.VerifyOptions{Workers: workers, Logger: debugLogger(&log)})
			if r.Rows != 9 || r.Findings != 0 || r.Warnings != 0 || len(r.Kinds) != 0 || log.Len() != 0 {
				s.t.Errorf("%+v, logged %s", r, &log)
			}
			for _, n := range r.NotChecked {
				s.t.Errorf("not checked: %+v", n)
			}
		}
		r, err := outboxstore.Verify(s.ctx, s.store, s.verifier(false), outboxstore.VerifyOptions{})
		s.must(err)
		if r.Rows != 9 || r.Findings != 0 || r.Warnings != 0 {
			s.t.Errorf("without keys: %+v", r)
		}
		for _, kind := range []envelope.Kind{envelope.KindUnopenable, envelope.KindInvalid, envelope.KindIndexMismatch} {
			if !slices.ContainsFunc(r.NotChecked, func(n envelope.NotChecked) bool { return n.Kind == kind }) {
				s.t.Errorf("without keys %s is not listed as not checked: %+v", kind, r.NotChecked)
			}
		}
	})

	run(t, d, "a summary by event type and by key", func(s *suite[Tx]) {
		s.invoices(1, 120)
		s.writePings(121, 123)
		s.set(eventID(7), "event_version", 9)
		want := []outboxstore.TypeCount{
			{Rows: 1, Findings: 1},
			{Type: invoiceType, Version: 1, Rows: 119, Findings: 1},
			{Type: pingType, Version: 1, Rows: 3},
		}
		s.must(s.db.SetIndex(s.ctx, eventID(9), "tax_id", false, nil))
		primaries := s.primaries()
		for _, workers := range []int{1, 4} {
			r := s.verify(outboxstore.VerifyOptions{Workers: workers})
			if !slices.Equal(r.Types, want) {
				s.t.Errorf("types %+v, want %+v", r.Types, want)
			}
			if len(r.Keys) != 2 || r.Keys[0].KeyID != primaries[1] || r.Keys[1].KeyID != primaries[0] || r.Keys[0].Rows != 119 || r.Keys[1].Rows != 119 {
				s.t.Errorf("keys %+v of %v", r.Keys, primaries)
			}
		}
	})

	run(t, d, "an index of a former version is index-stale", func(s *suite[Tx]) {
		s.invoices(1, 3)
		changed := strings.Replace(invoiceSchema, `{"name": "tax_id"}`, `{"name": "tax_id", "normalize": ["trim"], "previous": [{"normalize": []}]}`, 1)
		if changed == invoiceSchema {
			s.t.Fatal("the schema was not changed")
		}
		reg, err := schema.LoadFS(fstest.MapFS{invoiceType + ".v1.json": {Data: []byte(changed)}, pingType + ".v1.json": {Data: []byte(pingSchema)}})
		s.must(err)
		s.registry = reg
		s.expectFound(s.verifier(true), map[string]string{"index-stale warning": "3 1,2,3"})
		r, err := outboxstore.Verify(s.ctx, s.store, s.verifier(false), outboxstore.VerifyOptions{})
		s.must(err)
		if r.Findings+r.Warnings != 0 || !slices.ContainsFunc(r.NotChecked, func(n envelope.NotChecked) bool { return n.Kind == envelope.KindIndexStale }) {
			s.t.Errorf("without keys: %+v", r)
		}
	})

	run(t, d, "a destroyed key is key-disabled", func(s *suite[Tx]) {
		s.invoices(1, 2)
		former, err := s.ring.Keyring.Primary(keyring.Seal)
		s.must(err)
		s.ring.Rotate(keyring.Seal)
		s.ring.SetState(keyring.Seal, former.ID(), keyring.Disabled)
		s.ring.SetState(keyring.Seal, former.ID(), keyring.Destroyed)
		s.ring.Refresh()
		want := map[string]string{"key-disabled finding": "10 1,2"}
		s.expectFound(s.verifier(true), want)
		s.expectFound(s.verifier(false), want)
	})

	run(t, d, "every kind there is was found by some test here", func(s *suite[Tx]) {
		covered := map[string]bool{"key-stale": true, "index-key-stale": true, "key-disabled": true, "index-stale": true} // tests of their own
		for _, damage := range damages[Tx]() {
			for _, kind := range append(slices.Clone(damage.with), damage.without...) {
				covered[strings.Fields(kind)[0]] = true
			}
		}
		for _, kind := range []envelope.Kind{
			envelope.KindPlaintext, envelope.KindMisplaced, envelope.KindMalformed, envelope.KindUndeclared, envelope.KindSchemaUnknown,
			envelope.KindSchemaMismatch, envelope.KindIndexOrphan, envelope.KindKeyUnknown, envelope.KindKeyDisabled, envelope.KindKeyStale,
			envelope.KindIndexKeyStale, envelope.KindIndexStale, envelope.KindIndexMissing, envelope.KindUnopenable, envelope.KindInvalid, envelope.KindIndexMismatch,
		} {
			if !covered[string(kind)] {
				s.t.Errorf("no damage shows %s", kind)
			}
		}
	})

	for name, damage := range damages[Tx]() {
		run(t, d, name, func(s *suite[Tx]) {
			s.invoices(1, 5)
			for _, n := range []int{2, 4} {
				damage.make(s, eventID(n))
			}
			s.expectKinds("with keys", s.verifier(true), damage.with)
			s.expectKinds("without keys", s.verifier(false), damage.without)
		})
	}

	run(t, d, "a key that is no more primary is a warning, a disabled one a finding", func(s *suite[Tx]) {
		s.invoices(1, 3)
		former, err := s.ring.Keyring.Primary(keyring.Seal)
		s.must(err)
		s.rotate()
		stale := map[string]string{"key-stale warning": "15 1,2,3", "index-key-stale warning": "9 1,2,3"}
		s.expectFound(s.verifier(true), stale)
		s.expectFound(s.verifier(false), stale)
		s.ring.SetState(keyring.Seal, former.ID(), keyring.Disabled)
		s.ring.Refresh()
		disabled := map[string]string{"key-disabled finding": "15 1,2,3", "index-key-stale warning": "9 1,2,3"}
		s.expectFound(s.verifier(true), disabled)
		s.expectFound(s.verifier(false), disabled)
	})

	run(t, d, "a plaintext that violates its schema is found with keys", func(s *suite[Tx]) {
		s.invoices(1, 1)
		lax, err := schema.LoadFS(fstest.MapFS{invoiceType + ".v1.json": {Data: []byte(strings.Replace(invoiceSchema, `"minimum": 0, `, "", 1))}})
		s.must(err)
		sealer, err := envelope.NewSealer(lax, s.rings, envelope.Options{})
		s.must(err)
		e := invoice(2)
		p := personOf(2)
		p.score = -7654321
		e.Payload = p.payload("2026-2")
		sealed, err := sealer.Seal(s.ctx, e)
		s.must(err)
		_, err = s.store.WriteBatch(s.ctx, sealed)
		s.must(err)
		s.expectFound(s.verifier(true), map[string]string{"invalid finding": "1 2"})
		s.expectFound(s.verifier(false), nil)
	})

	run(t, d, "an id that is no UUID is found and not shown", func(s *suite[Tx]) {
		s.invoices(1, 2)
		address := personOf(1).emails[0]
		s.must(s.db.SetKeyIDs(s.ctx, eventID(1), nil))
		s.must(s.db.SetIndex(s.ctx, eventID(1), "email", true, nil))
		s.set(eventID(1), "id", address)
		if s.impossible {
			return
		}
		var log bytes.Buffer
		var found []string
		r := s.verify(outboxstore.VerifyOptions{Logger: debugLogger(&log), OnFinding: func(id string, f envelope.Finding) { found = append(found, fmt.Sprint(id, f.Place, f.Detail)) }})
		if r.Findings != 1 || len(r.Kinds) != 1 || r.Kinds[0].Kind != envelope.KindMalformed || !slices.Equal(r.Kinds[0].Rows, []string{"*"}) {
			s.t.Errorf("%+v", r)
		}
		s.expectNoSecrets(fmt.Sprint(r)+log.String()+strings.Join(found, ""), personOf(1))
	})

	run(t, d, "the first rows are kept, whatever worker finds them", func(s *suite[Tx]) {
		s.invoices(1, 40)
		s.exec("UPDATE outbox_events SET headers = '[]'")
		r := s.verify(outboxstore.VerifyOptions{Workers: 4, FirstRows: 3})
		if len(r.Kinds) != 1 || r.Kinds[0].Count != 40 || !slices.Equal(r.Kinds[0].Rows, ids(1, 3)) {
			s.t.Errorf("%+v", r)
		}
	})

	run(t, d, "sample, since, snapshot and progress", func(s *suite[Tx]) {
		s.invoices(1, 250)
		s.exec("UPDATE outbox_events SET created_at = '2026-01-01T00:00:00.000000Z' WHERE aggregate_version <= 100")
		if r := s.verify(outboxstore.VerifyOptions{Sample: 12}); r.Rows != 12 {
			s.t.Errorf("sample: %+v", r)
		}
		if r := s.verify(outboxstore.VerifyOptions{Since: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), Snapshot: true}); r.Rows != 150 {
			s.t.Errorf("since: %+v", r)
		}
		var progress []int64
		s.verify(outboxstore.VerifyOptions{Workers: 2, Progress: func(n int64) { progress = append(progress, n) }})
		if !slices.Equal(progress, []int64{100, 200}) {
			s.t.Errorf("progress %v", progress)
		}
	})

	run(t, d, "what keeps the check from its end is an error", func(s *suite[Tx]) {
		s.invoices(1, 30)
		away := errors.New("the keyring's store is away")
		_, err := outboxstore.Verify(s.ctx, s.store, &failingVerifier{Verifier: s.verifier(true), at: eventID(7), err: away}, outboxstore.VerifyOptions{Workers: 3})
		if e := as[*outboxstore.RowError](s.t, err); !errors.Is(err, away) || e.ID != eventID(7) {
			s.t.Errorf("error is %v", err)
		}
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		if _, err := outboxstore.Verify(ctx, s.store, s.verifier(true), outboxstore.VerifyOptions{}); !errors.Is(err, context.Canceled) {
			s.t.Errorf("error is %v", err)
		}
	})
}

// damages are all faults that Verify can name in this release and that SQL can make.
func damages[Tx any]() map[string]damage[Tx] {
	edit := func(pattern, replacement string) func(*suite[Tx], string) {
		expression := regexp.MustCompile(pattern)
		return func(s *suite[Tx], id string) {
			s.t.Helper()
			payload := string(s.get(id).Wire().Payload)
			edited := expression.ReplaceAllString(payload, replacement)
			if edited == payload {
				s.t.Fatalf("%s is nowhere in the payload", pattern)
			}
			s.set(id, "payload", edited)
		}
	}
	column := func(name string, value any) func(*suite[Tx], string) {
		return func(s *suite[Tx], id string) { s.set(id, name, value) }
	}
	// A secret in what the damage leaves behind: it must not be shown.
	secret := personOf(1).name
	return map[string]damage[Tx]{
		"plaintext": {
			edit(`"name":"fc1:[^"]+"`, `"name":"`+secret+`"`),
			kinds{"plaintext finding", "index-orphan finding"}, kinds{"plaintext finding", "index-orphan finding"},
		},
		"null in place of a token": {
			edit(`"score":"fc1:[^"]+"`, `"score":null`),
			kinds{"plaintext finding", "invalid finding"}, kinds{"plaintext finding"},
		},
		"misplaced": {
			edit(`"number": "[^"]+"(.*"name":)("fc1:[^"]+")`, `"number": $2$1$2`),
			kinds{"misplaced finding"}, kinds{"misplaced finding"},
		},
		"malformed token": {
			edit(`"score":"fc1:[^"]+"`, `"score":"fc1:00000001:short"`),
			kinds{"malformed finding", "invalid finding"}, kinds{"malformed finding"},
		},
		"malformed JSON": {
			edit(`\}\}$`, `}`),
			kinds{"malformed finding"}, kinds{"malformed finding"},
		},
		"undeclared": {
			edit(`^\{`, `{"`+secret+`": "`+secret+`", `),
			kinds{"undeclared finding", "invalid finding"}, kinds{"undeclared finding"},
		},
		"schema-mismatch, a clear value of another type": {
			edit(`"number": "[^"]+"`, `"number": 8675309`),
			kinds{"invalid finding", "schema-mismatch finding"}, kinds{"schema-mismatch finding"},
		},
		"schema-mismatch, a clear member that is missing": {
			edit(`"number": "[^"]+" *,`, ``),
			kinds{"invalid finding", "schema-mismatch finding"}, kinds{"schema-mismatch finding"},
		},
		"schema-unknown": {
			column("event_version", 9),
			kinds{"schema-unknown finding"}, kinds{"schema-unknown finding"},
		},
		"a version out of bounds": {
			column("event_version", 0),
			kinds{"malformed finding"}, kinds{"malformed finding"},
		},
		"headers that are none": {
			column("headers", `{"a": {"b": "`+secret+`"}}`),
			kinds{"malformed finding"}, kinds{"malformed finding"},
		},
		"index-orphan": {
			edit(`"tax_id":"fc1:[^"]+",`, ``),
			kinds{"index-orphan finding"}, kinds{"index-orphan finding"},
		},
		"key-unknown": {
			edit(`"score":"fc1:[0-9a-f]{8}:`, `"score":"fc1:00000001:`),
			kinds{"key-unknown finding"}, kinds{"key-unknown finding"},
		},
		"unknown index key": {
			func(s *suite[Tx], id string) {
				value := slices.Clone(s.get(id).Indexes["name"][0])
				copy(value, []byte{0, 0, 0, 1})
				s.must(s.db.SetIndex(s.ctx, id, "name", false, [][]byte{value}))
			},
			kinds{"key-unknown finding"}, kinds{"key-unknown finding"},
		},
		"index-missing": {
			func(s *suite[Tx], id string) { s.must(s.db.SetIndex(s.ctx, id, "tax_id", false, nil)) },
			kinds{"index-missing finding"}, kinds{"index-missing warning"},
		},
		"index-missing, multi": {
			func(s *suite[Tx], id string) { s.must(s.db.SetIndex(s.ctx, id, "email", true, nil)) },
			kinds{"index-missing finding"}, kinds{"index-missing warning"},
		},
		"index-mismatch": {
			func(s *suite[Tx], id string) {
				s.must(s.db.SetIndex(s.ctx, id, "tax_id", false, s.get(eventID(1)).Indexes["tax_id"]))
			},
			kinds{"index-mismatch finding"}, nil,
		},
		"index-mismatch, multi": {
			func(s *suite[Tx], id string) {
				s.must(s.db.SetIndex(s.ctx, id, "email", true, s.get(id).Indexes["email"][:1]))
			},
			kinds{"index-mismatch finding"}, nil,
		},
		"an index that is none": {
			func(s *suite[Tx], id string) { s.must(s.db.SetIndex(s.ctx, id, "tax_id", false, [][]byte{{1}})) },
			kinds{"index-mismatch finding"}, kinds{"index-mismatch finding"},
		},
		"a plaintext in the column of an index": {
			func(s *suite[Tx], id string) {
				s.must(s.db.SetIndex(s.ctx, id, "tax_id", false, [][]byte{[]byte(secret)}))
			},
			kinds{"index-mismatch finding"}, kinds{"index-mismatch finding"},
		},
		"a plaintext among the values of an index": {
			func(s *suite[Tx], id string) {
				s.must(s.db.SetIndex(s.ctx, id, "email", true, append(s.get(id).Indexes["email"], []byte(secret))))
			},
			kinds{"index-mismatch finding"}, kinds{"index-mismatch finding"},
		},
		"an index that was cut short": {
			func(s *suite[Tx], id string) {
				value := s.get(id).Indexes["tax_id"][0]
				s.must(s.db.SetIndex(s.ctx, id, "tax_id", false, [][]byte{value[:len(value)-1]}))
			},
			kinds{"index-mismatch finding"}, kinds{"index-mismatch finding"},
		},
		"unopenable": {
			func(s *suite[Tx], id string) {
				s.set(id, "payload", breakToken(string(s.get(id).Wire().Payload)))
			},
			kinds{"unopenable finding"}, nil,
		},
		"a token moved within its event": {
			edit(`"name":("fc1:[^"]+") ,"tax_id":("fc1:[^"]+")`, `"name":$2,"tax_id":$1`),
			kinds{"unopenable finding", "unopenable finding"}, nil,
		},
		"a payload moved to another event": {
			func(s *suite[Tx], id string) {
				s.set(id, "payload", string(s.get(eventID(1)).Wire().Payload))
			},
			kinds{"unopenable finding", "unopenable finding", "unopenable finding", "unopenable finding", "unopenable finding"}, nil,
		},
		"key ids that lack one": {
			func(s *suite[Tx], id string) { s.must(s.db.SetKeyIDs(s.ctx, id, s.get(id).KeyIDs[:1])) },
			kinds{"malformed finding"}, kinds{"malformed finding"},
		},
		"key ids that name one in vain": {
			func(s *suite[Tx], id string) {
				s.must(s.db.SetKeyIDs(s.ctx, id, append(s.get(id).KeyIDs, "seal:00000001")))
			},
			kinds{"malformed finding"}, kinds{"malformed finding"},
		},
	}
}

// verifier has the test's keys, or the clear part of the keyring's document alone.
func (s *suite[Tx]) verifier(keys bool) *envelope.Verifier {
	s.t.Helper()
	opts := envelope.VerifierOptions{Keyrings: s.rings}
	if !keys {
		opts = envelope.VerifierOptions{KeyStates: envelope.KeyInfos{s.ring.Keyring.Name(): s.ring.Keyring.Keys()}}
	}
	v, err := envelope.NewVerifier(s.registry, opts)
	s.must(err)
	return v
}

func (s *suite[Tx]) verify(opts outboxstore.VerifyOptions) outboxstore.VerifyResult {
	s.t.Helper()
	r, err := outboxstore.Verify(s.ctx, s.store, s.verifier(true), opts)
	s.must(err)
	return r
}

// expectKinds checks that rows 2 and 4, and no others, have these kinds.
func (s *suite[Tx]) expectKinds(mode string, v outboxstore.Verifier, want kinds) {
	s.t.Helper()
	if s.impossible {
		want = nil
	}
	counts := map[string]string{}
	for _, kind := range want {
		n := 0
		for _, other := range want {
			if other == kind {
				n += 2
			}
		}
		counts[kind] = fmt.Sprintf("%d 2,4", n)
	}
	s.t.Log(mode)
	s.expectFound(v, counts)
}

// expectFound compares, for each "KIND SEVERITY", "COUNT ROWS", and looks for values in everything that Verify says.
func (s *suite[Tx]) expectFound(v outboxstore.Verifier, want map[string]string) {
	s.t.Helper()
	var log bytes.Buffer
	var told strings.Builder
	r, err := outboxstore.Verify(s.ctx, s.store, v, outboxstore.VerifyOptions{
		Workers: 2,
		Logger:  debugLogger(&log),
		OnFinding: func(id string, f envelope.Finding) {
			fmt.Fprintln(&told, id, f.Kind, f.Severity, f.Place, f.Keyring, f.KeyID, f.Index, f.Detail)
		},
	})
	s.must(err)
	got := map[string]string{}
	var findings, warnings int64
	for _, k := range r.Kinds {
		var rows []string
		for _, id := range k.Rows {
			rows = append(rows, strings.TrimLeft(id[len(id)-12:], "0"))
		}
		got[fmt.Sprint(k.Kind, " ", k.Severity)] = fmt.Sprint(k.Count, " ", strings.Join(rows, ","))
		if k.Severity == envelope.SeverityWarning {
			warnings += k.Count
		} else {
			findings += k.Count
		}
	}
	if !maps.Equal(got, want) || r.Findings != findings || r.Warnings != warnings {
		s.t.Errorf("found %v (%d findings, %d warnings), want %v\n%s", got, r.Findings, r.Warnings, want, &told)
	}
	shown := fmt.Sprintf("%+v", r) + log.String() + told.String()
	s.expectNoSecrets(shown, personOf(1), personOf(2), personOf(3), personOf(4), personOf(5))
	if strings.Contains(shown, "7654321") {
		s.t.Errorf("a flagged number stands in what may be shown:\n%s", shown)
	}
}

// failingVerifier cannot do its work at one row.
type failingVerifier struct {
	outboxstore.Verifier
	at  string
	err error
}

func (v *failingVerifier) Verify(ctx context.Context, w envelope.Wire, stored envelope.StoredIndexes) (envelope.Report, error) {
	if w.ID == v.at {
		return envelope.Report{}, v.err
	}
	return v.Verifier.Verify(ctx, w, stored)
}

func debugLogger(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
