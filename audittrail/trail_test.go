package audittrail_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
)

// appendTo makes the test binary a process that appends to a file.
const appendTo = "FIELDCRYPT_AUDITTRAIL_APPEND_TO"

func TestMain(m *testing.M) {
	path := os.Getenv(appendTo)
	if path == "" {
		os.Exit(m.Run())
	}
	log := audittrail.OpenFile(path, audittrail.FileOptions{LockWait: time.Minute})
	for i := range 50 {
		if _, err := log.Append(context.Background(), entry(fmt.Sprintf("%d in process %d", i, os.Getpid()))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(i + 1)
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)

func entry(detail string) audittrail.Entry {
	return audittrail.Entry{Time: noon, Actor: "ada@ops1", Operation: "keys.promote", Result: audittrail.OK, Keyring: "default", KeyIDs: []string{"seal:0f3a9c01"}, Detail: detail}
}

func newFile(t *testing.T) (*audittrail.File, string) {
	path := filepath.Join(t.TempDir(), "audit.ndjson")
	return audittrail.OpenFile(path, audittrail.FileOptions{Now: func() time.Time { return noon }}), path
}

func fill(t *testing.T, log audittrail.Log, n int) []audittrail.Entry {
	t.Helper()
	var all []audittrail.Entry
	for i := range n {
		e, err := log.Append(t.Context(), entry(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func check(t *testing.T, log audittrail.Log, head audittrail.Hash) audittrail.Report {
	t.Helper()
	report, err := audittrail.Check(t.Context(), log, audittrail.CheckOptions{Head: head})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func read(t *testing.T, path string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func write(t *testing.T, path string, lines [][]byte) {
	t.Helper()
	text := bytes.Join(lines, nil)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	want := entry("<é> & 'x'")
	want.Counts = map[string]int64{"rotated": 3, "type:invoice.issued": 2}
	want.Rows.Add("01938a52-7c00-7000-8000-000000000001")
	want.Rows.Add("Ada Lovelace")
	written, err := log.Append(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	for got, err := range audittrail.Entries(t.Context(), log) {
		if err != nil || !bytes.Equal(got.Text(), written.Text()) || got.Seq != 1 || got.Rows.Count != 2 || got.Detail != want.Detail {
			t.Errorf("read %s, %v, want %s", got.Text(), err, written.Text())
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text := string(read(t, path)[0]); strings.Contains(text, "Lovelace") {
		t.Errorf("an id that is no UUID is in the trail: %s", text)
	}
}

func TestAnEntryOutsideTheBoundsIsRefused(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	for what, change := range map[string]func(*audittrail.Entry){
		"no actor":         func(e *audittrail.Entry) { e.Actor = "" },
		"no operation":     func(e *audittrail.Entry) { e.Operation = "" },
		"no time":          func(e *audittrail.Entry) { e.Time = time.Time{} },
		"no result":        func(e *audittrail.Entry) { e.Result = "" },
		"a control":        func(e *audittrail.Entry) { e.Detail = "a\nb" },
		"a long text":      func(e *audittrail.Entry) { e.Store = strings.Repeat("x", 2000) },
		"not UTF-8":        func(e *audittrail.Entry) { e.Keyring = "\xff" },
		"a negative count": func(e *audittrail.Entry) { e.Counts = map[string]int64{"n": -1} },
		"many keys":        func(e *audittrail.Entry) { e.KeyIDs = make([]string, 1001) },
		"other ids":        func(e *audittrail.Entry) { e.Rows = audittrail.Rows{Count: 1, IDs: []string{"Ada"}, Last: "Ada"} },
	} {
		e := entry("x")
		change(&e)
		if _, err := log.Append(t.Context(), e); !errors.As(err, new(*audittrail.EntryError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		t.Error("something was written")
	}
}

func TestOfManyRowsTheFirstThousandAreNamedAndAllAreInTheDigest(t *testing.T) {
	t.Parallel()
	digests := map[string]bool{}
	for _, last := range []int{2000, 2001} {
		var rows audittrail.Rows
		for n := range 1999 {
			rows.Add(fmt.Sprintf("01938a52-7c00-7000-8000-%012d", n))
		}
		rows.Add(fmt.Sprintf("01938a52-7c00-7000-8000-%012d", last))
		if rows.Count != 2000 || len(rows.IDs) != audittrail.MaxRowIDs || !strings.HasSuffix(rows.Last, fmt.Sprint(last)) {
			t.Errorf("%d rows, %d ids, last %s", rows.Count, len(rows.IDs), rows.Last)
		}
		digests[string(rows.Digest())] = true
	}
	if len(digests) != 2 {
		t.Error("the digest does not depend on the last row")
	}
}

// Whatever one byte, line or pair of lines is changed, it is found, and at the entry where it is or the next.
func TestLawEveryChangeOfATrailIsFound(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	all := fill(t, log, 12)
	head := all[len(all)-1].Hash
	whole := read(t, path)
	if r := check(t, log, head); r.Finding != nil || r.Entries != 12 || r.Head != head {
		t.Fatalf("%+v", r)
	}
	scratch := filepath.Join(t.TempDir(), "changed.ndjson")
	changed := audittrail.OpenFile(scratch, audittrail.FileOptions{})
	found := map[audittrail.Kind]int{}
	expect := func(what string, lines [][]byte, at uint64) {
		t.Helper()
		write(t, scratch, lines)
		r := check(t, changed, head)
		if r.Finding == nil {
			t.Errorf("%s: not found", what)
			return
		}
		if at > 0 && r.Finding.Seq != at {
			t.Errorf("%s: %v, want it at entry %d", what, r.Finding, at)
		}
		found[r.Finding.Kind]++
	}
	for i := range whole {
		expect(fmt.Sprintf("line %d removed", i), slices.Delete(slices.Clone(whole), i, i+1), map[bool]uint64{true: uint64(i + 1)}[i < len(whole)-1])
		expect(fmt.Sprintf("line %d doubled", i), slices.Insert(slices.Clone(whole), i, whole[i]), uint64(i+1))
		expect(fmt.Sprintf("all from line %d removed", i), whole[:i], 0)
		for j := i + 1; j < len(whole); j++ {
			swapped := slices.Clone(whole)
			swapped[i], swapped[j] = append(bytes.TrimSuffix(swapped[j], []byte("\n")), '\n'), append(bytes.TrimSuffix(swapped[i], []byte("\n")), '\n')
			expect(fmt.Sprintf("lines %d and %d swapped", i, j), swapped, uint64(i+1))
		}
		// Somebody who computes the hash anew.
		forged, err := audittrail.Parse(bytes.TrimSuffix(whole[i], []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		forged.Actor = "mallory"
		var last audittrail.Entry
		if i > 0 {
			last = all[i-1]
		}
		if forged, err = audittrail.Chain(last, forged); err != nil {
			t.Fatal(err)
		}
		replaced := slices.Clone(whole)
		replaced[i] = append(forged.Text(), '\n')
		expect(fmt.Sprintf("line %d forged", i), replaced, 0)
	}
	rapid.Check(t, func(rt *rapid.T) {
		i := rapid.IntRange(0, len(whole)-1).Draw(rt, "line")
		text := bytes.Clone(bytes.TrimSuffix(whole[i], []byte("\n")))
		at := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
		text[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		lines := slices.Clone(whole)
		lines[i] = append(text, '\n')
		write(t, scratch, lines)
		r := check(t, changed, audittrail.Hash{})
		if r.Finding == nil || r.Finding.Seq != uint64(i+1) {
			rt.Fatalf("a changed byte of line %d: %v", i+1, r.Finding)
		}
	})
	for _, kind := range []audittrail.Kind{audittrail.Missing, audittrail.OutOfOrder, audittrail.Unlinked, audittrail.Cut} {
		if found[kind] == 0 {
			t.Errorf("no case is found as %s: %v", kind, found)
		}
	}
}

func TestWhoeverRewritesTheWholeChainIsFoundByTheHeadAlone(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	noted := fill(t, log, 3)[2].Hash
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), entry("forged")); err != nil {
		t.Fatal(err)
	}
	fill(t, log, 4)
	if r := check(t, log, audittrail.Hash{}); r.Finding != nil {
		t.Errorf("without a head: %v", r.Finding)
	}
	if r := check(t, log, noted); r.Finding == nil || r.Finding.Kind != audittrail.Cut {
		t.Errorf("with the head: %v", r.Finding)
	}
}

func TestOfSeveralProcessesThatAppendThereIsOneChain(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), appendTo+"="+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for range 4 {
		wg.Go(func() { fill(t, log, 25) })
	}
	wg.Wait()
	if r := check(t, log, audittrail.Hash{}); r.Finding != nil || r.Entries != 4*50+4*25 {
		t.Errorf("%+v", r)
	}
}

// told counts the lines that a process writes, and says after how many it is to be killed.
type told struct {
	lines, killAt int
	kill          func()
}

func (w *told) Write(p []byte) (int, error) {
	w.lines += bytes.Count(p, []byte("\n"))
	if w.lines >= w.killAt {
		w.kill()
	}
	return len(p), nil
}

func TestKilledProcessesLeaveOneChainInWhichAllIsThatTheyToldOf(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	const rounds, together = 8, 3
	killed, all := 0, 0
	for range rounds {
		var processes []*exec.Cmd
		for range together {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), appendTo+"="+path, "GORACE=atexit_sleep_ms=0")
			cmd.Stdout = &told{killAt: rand.IntN(45), kill: func() { _ = cmd.Process.Kill() }}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			processes = append(processes, cmd)
		}
		for _, cmd := range processes {
			if err := cmd.Wait(); err != nil {
				killed++
			}
			all += cmd.Stdout.(*told).lines
		}
		// A killed one may have written an entry that it told nobody of, and a torn one is told of by the next.
		r := check(t, log, audittrail.Hash{})
		if r.Finding != nil || r.Entries < uint64(all) || r.Entries > uint64(all+2*killed) {
			t.Fatalf("%d killed, %d entries told of: %+v", killed, all, r)
		}
	}
	if t.Logf("%d of %d processes killed, %d entries told of", killed, rounds*together, all); killed < rounds {
		t.Errorf("only %d were killed", killed)
	}
}

// A process can be killed after any byte of a line.
func TestATornLineIsCutOffAndTold(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	fill(t, log, 3)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.IndexByte(whole, '\n') + 1
	third := second + bytes.IndexByte(whole[second:], '\n') + 1
	for n := third + 1; n < len(whole); n++ {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		complete := n == len(whole)-1 // all but its end
		if r := check(t, log, audittrail.Hash{}); r.Finding != nil || r.Torn == complete {
			t.Fatalf("%d bytes: %+v", n-third, r)
		}
		e, err := log.Append(t.Context(), entry("next"))
		if err != nil {
			t.Fatal(err)
		}
		if r := check(t, log, e.Hash); r.Finding != nil || r.Torn || r.Entries != 4 {
			t.Fatalf("%d bytes: %+v", n-third, r)
		}
		if told := bytes.Contains(read(t, path)[2], []byte(audittrail.TornOperation)); told == complete {
			t.Fatalf("%d bytes: told %v", n-third, told)
		}
	}
}

func TestAfterAChangedLastEntryNothingIsAdded(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	fill(t, log, 2)
	lines := read(t, path)
	lines[1] = bytes.Replace(lines[1], []byte("ada@ops1"), []byte("eve@ops1"), 1)
	write(t, path, lines)
	if _, err := log.Append(t.Context(), entry("x")); !errors.As(err, new(*audittrail.BrokenError)) {
		t.Error(err)
	}
}

func TestDoWritesBeforeAndAfter(t *testing.T) {
	t.Parallel()
	log, _ := newFile(t)
	r := &audittrail.Recorder{Actor: "ada", Log: log, Now: func() time.Time { return noon }, Refuses: func(err error) bool { return errors.Is(err, os.ErrPermission) }}
	ctx, cancel := context.WithCancel(t.Context())
	var errs []error
	errs = append(errs, r.Do(ctx, audittrail.Entry{Operation: "open"}, func(ctx context.Context, out *audittrail.Outcome) error {
		if report := check(t, log, audittrail.Hash{}); !slices.Equal(report.Unfinished, []uint64{1}) {
			t.Errorf("meanwhile: %+v", report)
		}
		out.Count("rows", 2)
		cancel()
		return ctx.Err()
	}))
	errs = append(errs, r.Do(t.Context(), audittrail.Entry{Operation: "open"}, func(context.Context, *audittrail.Outcome) error { return os.ErrPermission }))
	errs = append(errs, r.Do(t.Context(), audittrail.Entry{Operation: "open"}, func(context.Context, *audittrail.Outcome) error {
		return &os.PathError{Op: "open", Path: "secret", Err: os.ErrClosed}
	}))
	if err := r.Do(t.Context(), audittrail.Entry{Operation: "open"}, func(context.Context, *audittrail.Outcome) error { return nil }); err != nil {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = r.Do(t.Context(), audittrail.Entry{Operation: "open"}, func(context.Context, *audittrail.Outcome) error { panic("x") })
	}()
	for i, want := range []error{context.Canceled, os.ErrPermission, os.ErrClosed} {
		if !errors.Is(errs[i], want) {
			t.Errorf("error %d: %v", i, errs[i])
		}
	}
	var got []string
	for e, err := range audittrail.Entries(t.Context(), log) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e.Text()), "secret") {
			t.Errorf("an error's text: %s", e.Text())
		}
		got = append(got, fmt.Sprintf("%s %d %s", e.Result, e.Of, e.Error))
	}
	want := []string{"begun 0 ", "failed 1 interrupted", "begun 0 ", "refused 3 error", "begun 0 ", "failed 5 fs.PathError", "begun 0 ", "ok 7 ", "begun 0 ", "failed 9 panic"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOfTooManyCountsTheRestIsAddedUp(t *testing.T) {
	t.Parallel()
	log, _ := newFile(t)
	r := &audittrail.Recorder{Actor: "ada", Log: log}
	err := r.Do(t.Context(), audittrail.Entry{Operation: "open"}, func(_ context.Context, out *audittrail.Outcome) error {
		for n := range 1500 {
			out.Count(fmt.Sprint("type:", n), 2)
			out.Count("type:0", 1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	var last audittrail.Entry
	for e := range audittrail.Entries(t.Context(), log) {
		last = e
	}
	for _, n := range last.Counts {
		sum += n
	}
	if len(last.Counts) != 1000 || sum != 1500*3 || last.Counts["type:0"] != 1502 || last.Counts["other"] != 2*(1500-999) {
		t.Errorf("%d counts, %d in all, %d of the first, %d others", len(last.Counts), sum, last.Counts["type:0"], last.Counts["other"])
	}
}

// failing is a trail that takes some entries and no more.
type failing struct {
	audittrail.Log
	left int
}

func (f *failing) Append(ctx context.Context, e audittrail.Entry) (audittrail.Entry, error) {
	if f.left--; f.left < 0 {
		return audittrail.Entry{}, os.ErrClosed
	}
	return f.Log.Append(ctx, e)
}

func TestMetricsCountWhatWasWrittenAndWhatWasNot(t *testing.T) {
	t.Parallel()
	log, _ := newFile(t)
	reader := metric.NewManualReader()
	r := &audittrail.Recorder{Actor: "ada", Log: &failing{log, 3}, MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))}
	nothing := func(context.Context, *audittrail.Outcome) error { return nil }
	if err := r.Do(t.Context(), audittrail.Entry{Operation: "open"}, nothing); err != nil {
		t.Fatal(err)
	}
	if err := r.Do(t.Context(), audittrail.Entry{Operation: "find"}, nothing); !errors.As(err, new(*audittrail.UnrecordedError)) {
		t.Error(err)
	}
	if err := r.Do(t.Context(), audittrail.Entry{Operation: "find"}, nothing); !errors.As(err, new(*audittrail.NotBegunError)) {
		t.Error(err)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
			operation, _ := point.Attributes.Value("operation")
			result, _ := point.Attributes.Value("result")
			got[m.Name+" "+operation.AsString()+" "+result.AsString()] = point.Value
		}
	}
	want := map[string]int64{
		"fieldcrypt.audit.entries open begun": 1, "fieldcrypt.audit.entries open ok": 1, "fieldcrypt.audit.entries find begun": 1,
		"fieldcrypt.audit.failures find ok": 1, "fieldcrypt.audit.failures find begun": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWhatCannotBeWrittenIsNotBegun(t *testing.T) {
	t.Parallel()
	log := audittrail.OpenFile(filepath.Join(t.TempDir(), "no", "such", "file"), audittrail.FileOptions{})
	r := &audittrail.Recorder{Actor: "ada", Log: log}
	err := r.Do(t.Context(), audittrail.Entry{Operation: "open"}, func(context.Context, *audittrail.Outcome) error {
		t.Error("begun all the same")
		return nil
	})
	if !errors.As(err, new(*audittrail.NotBegunError)) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	e, err := audittrail.Chain(audittrail.Entry{}, entry("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(e.Text())
	f.Add([]byte(`{"seq":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := audittrail.Parse(text)
		if err == nil && (!bytes.Equal(e.Text(), text) || !json.Valid(text)) {
			t.Errorf("%q is taken and written as %q", text, e.Text())
		}
	})
}
