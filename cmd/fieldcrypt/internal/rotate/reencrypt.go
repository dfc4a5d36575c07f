package rotate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// reencryption brings the rows of every configured outbox under the primaries.
type reencryption struct {
	flags    *flags
	session  *cli.Session
	registry *schema.Registry
	stores   []connect.OpenOutbox
}

// prepare opens the schemas and the outboxes. The keyrings are loaded when the new keys are primary.
func (f *flags) prepare(ctx context.Context, s *cli.Session) (*reencryption, error) {
	reg, err := connect.Schemas(s)
	if err != nil {
		return nil, err
	}
	stores, err := connect.Outboxes(ctx, s)
	if err != nil {
		return nil, err
	}
	re := &reencryption{flags: f, session: s, registry: reg, stores: stores}
	if err := re.checkTables(ctx); err != nil {
		re.close()
		return nil, err
	}
	return re, nil
}

// noEvent is no event's id: a UUIDv7 is never nil.
const noEvent = "00000000-0000-0000-0000-000000000000"

// checkTables asks each outbox for a row that is not there, so that tables that are missing, or must not be read, are named before a key is made; and so are
// blind indexes that are not those of the schemas.
func (re *reencryption) checkTables(ctx context.Context) error {
	for _, store := range re.stores {
		if _, err := store.Get(ctx, noEvent); err != nil && !errors.Is(err, outboxstore.ErrNoRow) {
			return err
		}
		if err := outboxstore.CheckIndexes(ctx, store, re.registry.Indexes()); err != nil {
			return err
		}
	}
	return nil
}

func (re *reencryption) close() { _ = connect.CloseOutboxes(re.stores) }

func (re *reencryption) run(ctx context.Context, dryRun bool) error {
	rings, err := connect.AllKeyrings(ctx, re.session, re.registry)
	if err != nil {
		return err
	}
	if dryRun {
		return re.count(ctx, rings)
	}
	resealer, err := envelope.NewResealer(re.registry, rings, envelope.Options{Now: re.session.Now})
	if err != nil {
		return err
	}
	primary, err := primaries(rings)
	if err != nil {
		return err
	}
	under := slices.Sorted(maps.Keys(primary))
	var fresh []string
	if re.flags.resume {
		fresh = under
	}
	var failed int64
	for _, store := range re.stores {
		var result outboxstore.ReencryptResult
		begin := audittrail.Entry{Operation: "re-encrypt", Store: audittrail.Fit(store.URL), KeyIDs: under}
		err := connect.Audited(ctx, re.session, begin, func(ctx context.Context, out *audittrail.Outcome) (err error) {
			result, err = re.store(ctx, store, resealer, fresh)
			tell(out, result)
			return err
		})
		failed += result.Failed
		if said := re.say(store, result, err == nil); err == nil {
			err = said
		}
		if err != nil {
			return err
		}
	}
	if failed > 0 {
		return failure.New(failure.Refused, "the rows are as they were; see `fieldcrypt verify`", "%s could not be re-encrypted", terminal.Plural(failed, "row", "rows"))
	}
	return nil
}

func (re *reencryption) store(ctx context.Context, store connect.OpenOutbox, resealer *envelope.Resealer, fresh []string) (outboxstore.ReencryptResult, error) {
	progress := re.session.Terminal.Progress()
	defer progress.Done()
	pace, err := connect.PaceOf(ctx, re.session, store)
	if err != nil {
		return outboxstore.ReencryptResult{}, err
	}
	workers := re.flags.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return outboxstore.Reencrypt(ctx, store, resealer, outboxstore.ReencryptOptions{
		Fresh:        fresh,
		Indexes:      re.registry.Indexes(),
		MaxRate:      re.flags.maxRate,
		MaxFailedIDs: -1, // cli.md: with their ids
		OnFailure: func(_ string, err error) {
			e := failure.Explain(err)
			re.session.Terminal.Report(e.Message, e.Hint)
		},
		Progress: func(r outboxstore.ReencryptResult) {
			progress.Set("re-encrypting: %d rotated, %d skipped, %d failed%s", r.Rotated, r.Skipped, r.Failed, pace.Tell(r.Rows()))
		},
		Workers: workers,
	})
}

type reencrypted struct {
	Step      string   `json:"step"`
	Outbox    string   `json:"outbox,omitempty"`
	Rotated   int64    `json:"rotated"`
	Skipped   int64    `json:"skipped"`
	Failed    int64    `json:"failed"`
	FailedIDs []string `json:"failed_ids"`
}

// say ends a store's re-encryption; one that was broken off is told apart, so that no script takes it for done.
func (re *reencryption) say(store connect.OpenOutbox, r outboxstore.ReencryptResult, whole bool) error {
	object := reencrypted{Step: "re-encrypted", Rotated: r.Rotated, Skipped: r.Skipped, Failed: r.Failed, FailedIDs: append([]string{}, r.FailedIDs...)}
	if !whole {
		object.Step = "re-encrypt-stopped"
	}
	if len(re.stores) > 1 {
		object.Outbox = store.URL
	}
	if re.session.JSON() {
		return re.session.Terminal.JSON(object)
	}
	text := fmt.Sprintf("%s: rotated %d, skipped %d, failed %d", strings.ReplaceAll(object.Step, "re-encrypt-stopped", "re-encryption stopped"), r.Rotated, r.Skipped, r.Failed)
	if object.Outbox != "" {
		text = object.Outbox + ": " + text
	}
	if err := re.session.Terminal.Printf("%s", text); err != nil {
		return err
	}
	for _, id := range r.FailedIDs {
		if err := re.session.Terminal.Printf("failed %s", id); err != nil {
			return err
		}
	}
	return nil
}

// tell is what the audit trail holds of a store's re-encryption: its rows are those that failed.
func tell(out *audittrail.Outcome, r outboxstore.ReencryptResult) {
	out.Count("rotated", r.Rotated)
	out.Count("skipped", r.Skipped)
	out.Count("failed", r.Failed)
	for _, id := range r.FailedIDs {
		out.Rows.Add(id)
	}
	if len(r.FailedIDs) > 0 {
		out.Detail = "rows are those that failed"
	}
}

// primaries are the keys that are written under today, as PURPOSE:KID.
func primaries(rings *keyring.Set) (map[string]bool, error) {
	all := map[string]bool{}
	for _, name := range rings.Names() {
		ring, _ := rings.Keyring(name)
		for _, purpose := range keyring.Purposes() {
			key, err := ring.Primary(purpose)
			if err != nil {
				return nil, err
			}
			all[string(purpose)+":"+key.ID().String()] = true
		}
	}
	return all, nil
}

// count says which keys the rows need beside the primaries of today.
func (re *reencryption) count(ctx context.Context, rings *keyring.Set) error {
	primary, err := primaries(rings)
	if err != nil {
		return err
	}
	for _, store := range re.stores {
		counts, err := store.KeyCounts(ctx)
		if err != nil {
			return err
		}
		keys := make([]string, 0, len(counts))
		for key := range counts {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if err := re.sayKey(store, key, counts[key], primary[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (re *reencryption) sayKey(store connect.OpenOutbox, key string, rows int64, primary bool) error {
	purpose, id, _ := strings.Cut(key, ":")
	if re.session.JSON() {
		return re.session.Terminal.JSON(struct {
			Step    string `json:"step"`
			Outbox  string `json:"outbox"`
			Purpose string `json:"purpose"`
			ID      string `json:"id"`
			Primary bool   `json:"primary"`
			Rows    int64  `json:"rows"`
		}{"would-re-encrypt", store.URL, purpose, id, primary, rows})
	}
	what := "not the primary today"
	if primary {
		what = "the primary today"
	}
	return re.session.Terminal.Printf("would look at %s: %s %s key %s, %s", store.URL, terminal.Plural(rows, "row holds", "rows hold"), purpose, id, what)
}
