package main

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// actor is a place in the play: a process, and the one that takes its place when it is killed.
type actor struct {
	name  string
	start func(generation int) (*running, io.Closer)
	// repeats says that it ends by itself and is started again.
	repeats    bool
	generation int
	process    *running
	stdin      io.Closer
}

// chaos keeps the actors alive, and kills one of them now and then.
type chaos struct {
	t      *testing.T
	actors []*actor
	killed int
}

func (c *chaos) begin(a *actor) {
	a.process, a.stdin = a.start(a.generation)
	a.generation++
}

// tend starts again what has ended by itself, and fails if it ended with an error.
func (c *chaos) tend() {
	c.t.Helper()
	for _, a := range c.actors {
		select {
		case err := <-a.process.done:
			a.process.done <- err
			r := a.process.wait()
			if !a.repeats || r.code != failure.Done {
				c.t.Errorf("%s %d ended: %+v", a.name, a.generation, r)
			}
			c.begin(a)
		default:
		}
	}
}

// kill ends a process as a power failure does, and another takes its place.
func (c *chaos) kill() {
	c.t.Helper()
	a := c.actors[rand.IntN(len(c.actors))]
	if err := a.process.cmd.Process.Signal(syscall.SIGKILL); err == nil {
		c.killed++
	}
	<-a.process.done
	c.begin(a)
}

// end lets everybody end by themselves.
func (c *chaos) end() {
	c.t.Helper()
	for _, a := range c.actors {
		if a.stdin != nil {
			_ = a.stdin.Close()
		}
	}
	for _, a := range c.actors {
		if r := a.process.wait(); r.code != failure.Done {
			c.t.Errorf("%s at the end: %+v", a.name, r)
		}
	}
}

// Four producers, two readers, two resealers and a rotator, for a minute (a tenth under the race detector), with a rotation every five seconds; every two seconds
// one of them is killed. In the end every event that was committed is there once and opens, every search has found its row exactly once, no row needs a key that
// was retired, and the audit trail is one whole chain that holds every change of a key.
func TestLawNothingIsLostWhoeverIsKilled(t *testing.T) {
	t.Parallel()
	const whole, rotation, death = time.Minute, 5 * time.Second, 2 * time.Second
	lasting := whole
	if lawScale > 1 {
		lasting = 2 * rotation
	}
	p, loaded := loadProject(t)
	p.auditInTable()
	p.mustCall("keys", "stores", "--add", p.on.names["OUTBOX"])
	c := &chaos{t: t}
	add := func(name string, repeats bool, start func(generation int) (*running, io.Closer)) {
		c.actors = append(c.actors, &actor{name: name, repeats: repeats, start: start})
	}
	for i := range 4 {
		add("producer", false, func(generation int) (*running, io.Closer) {
			name := "p" + strconv.Itoa(i) + "g" + strconv.Itoa(generation)
			return loaded.service("produce", name, filepath.Join(p.dir, name+".committed"))
		})
	}
	for range 2 {
		add("reader", false, func(int) (*running, io.Closer) { return loaded.service("search", p.dir) })
	}
	for range 2 {
		add("resealer", true, func(int) (*running, io.Closer) { return p.start("", "rotate", "--re-encrypt-only"), nil })
	}
	// A killed rotation is continued by the next; between two, the keys that nothing needs are retired.
	add("rotator", true, func(generation int) (*running, io.Closer) {
		if generation%2 == 1 {
			return p.start("", "rotate", "--retire-only", "--purpose", "all", "--retire-after", "1s"), nil
		}
		return p.start("", "rotate", "--purpose", "all"), nil
	})
	for _, a := range c.actors {
		c.begin(a)
	}
	tick, kills, over := time.NewTicker(50*time.Millisecond), time.NewTicker(death), time.NewTimer(lasting)
	defer tick.Stop()
	defer kills.Stop()
	// On a slow machine it takes longer until a key is rotated.
	enough := func() bool {
		states := p.states(keyring.Seal)
		return states["active"]+states["disabled"] > 0 && c.killed >= int(lasting/death)/2
	}
	for timeOver := false; !timeOver || !enough(); {
		select {
		case <-over.C:
			timeOver = true
		case <-kills.C:
			c.kill()
		case <-tick.C:
			c.tend()
		}
		if t.Failed() {
			break
		}
	}
	c.end()
	p.mustCall("rotate", "--re-encrypt-only")
	p.checkPlay(t)
	p.checkTrail(t, c.killed)
	t.Logf("%d processes killed; seal keys: %v", c.killed, p.states(keyring.Seal))
}

// checkPlay holds the table against what the producers were told is committed.
func (p *project) checkPlay(t *testing.T) {
	t.Helper()
	if r := p.call("verify", "--strict"); r.code != failure.Done {
		t.Errorf("verify: %+v", r)
	}
	committed := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(p.dir, "*.committed"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, taxID := range strings.Fields(string(text)) {
			committed[taxID] = true
		}
	}
	// The aggregate ids say which events are there: NAME/NUMBER.
	stored := map[string]int{}
	for _, id := range p.column(t, "SELECT aggregate_id FROM outbox_events") {
		name, number, _ := strings.Cut(id, "/")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		stored[name+"-"+sixDigits(n)]++
	}
	unacknowledged := 0
	for taxID, n := range stored {
		if n != 1 {
			t.Errorf("event %s is there %d times", taxID, n)
		}
		if !committed[taxID] {
			unacknowledged++ // killed between the commit and the word of it
		}
	}
	for taxID := range committed {
		if stored[taxID] == 0 {
			t.Errorf("event %s was committed and is not there", taxID)
		}
	}
	t.Logf("%d events committed, %d more whose producer was killed at the moment", len(committed), unacknowledged)
	if len(committed) < 100 {
		t.Errorf("only %d events", len(committed))
	}
	retired := map[string]bool{}
	for _, key := range p.keys() {
		retired[key.ID] = key.State == "disabled"
	}
	for _, id := range p.column(t, "SELECT DISTINCT k FROM outbox_events, unnest(key_ids) k") {
		if _, kid, _ := strings.Cut(id, ":"); retired[kid] {
			t.Errorf("rows need key %s, which was retired", id)
		}
	}
}

// checkTrail holds the audit trail against the keys, and then damages it.
func (p *project) checkTrail(t *testing.T, killed int) {
	t.Helper()
	var checked struct {
		Entries    int      `json:"entries"`
		Head       string   `json:"head"`
		Whole      bool     `json:"whole"`
		Unfinished []uint64 `json:"unfinished"`
	}
	said := p.mustCall("audit", "trail", "--check", "--output", "json").stdout
	if err := json.Unmarshal([]byte(said), &checked); err != nil || !checked.Whole {
		t.Fatalf("the audit trail is not whole: %v: %s", err, said)
	}
	t.Logf("audit trail: %d entries, whole, %d operations without an outcome, head %s", checked.Entries, len(checked.Unfinished), checked.Head)
	// Nobody but a killed process leaves an operation without an outcome, and each at most one.
	if len(checked.Unfinished) > killed || checked.Entries < 12 {
		t.Errorf("%d operations without an outcome, %d processes killed, %d entries", len(checked.Unfinished), killed, checked.Entries)
	}
	p.mustCall("audit", "trail", "--check", "--head", checked.Head)

	p.expectKeysTold(p.trail())

	// Behind its back: the end cut off, which the noted head alone tells, and a line changed.
	damage := func(statement string) {
		t.Helper()
		if n, err := execPostgres(t.Context(), p.on.names["OUTBOX"], statement); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", statement, n, err)
		}
	}
	damage("DELETE FROM fieldcrypt_audit WHERE seq > (SELECT max(seq) - 3 FROM fieldcrypt_audit)")
	p.mustCall("audit", "trail", "--check")
	if r := p.call("audit", "trail", "--check", "--head", checked.Head); r.code != failure.Refused || !strings.HasPrefix(r.stdout, "cut: ") {
		t.Errorf("the last three entries are gone: %+v", r)
	}
	middle := strconv.Itoa(checked.Entries / 2)
	damage(`UPDATE fieldcrypt_audit SET entry = replace(entry, '"result":"', '"result":"not-') WHERE seq = ` + middle)
	if r := p.call("audit", "trail", "--check"); r.code != failure.Refused || !strings.HasPrefix(r.stdout, "changed at entry "+middle+": ") {
		t.Errorf("entry %s was changed: %+v", middle, r)
	}
}

func sixDigits(n int) string {
	text := strconv.Itoa(n)
	return strings.Repeat("0", max(6-len(text), 0)) + text
}
