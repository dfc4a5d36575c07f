package envelope

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func TestAHostileRowHasALimitedReport(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	keyless, _, _ := b.verifiers(t)
	report, err := keyless.Verify(context.Background(), wireOf(customer, `{"phones":[`+strings.Repeat("1,", 1_000_000)+`1]}`), StoredIndexes{})
	if err != nil || len(report.Findings) != maxFound+1 {
		t.Fatalf("%d findings, %v", len(report.Findings), err)
	}
}

func TestALongNameAboveManyTokensIsMaskedAndBounded(t *testing.T) {
	t.Parallel()
	reg := loadOne(t, "open.map.v1.json", `{"type":"object","patternProperties":{"(a|b|ab)*$":{"type":"array","items":{"x-gdpr-sensitive":true}}}}`)
	set := setOf(t, keyringtest.New(t))
	sealer, err := NewSealer(reg, set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := NewOpener(reg, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	items := func(nameLen int) string {
		return `{"` + strings.Repeat("ab", nameLen/2) + `":[` + strings.Repeat("1,", 4_999) + `1]}`
	}
	sealed, err := sealer.Seal(context.Background(), event("open.map", items(1_500)))
	if err != nil {
		t.Fatal(err)
	}
	o, err := nobody.Open(context.Background(), received(t, sealed.Wire()), OpenOptions{})
	if err != nil || len(o.StillSealed) != 5000 || o.StillSealed[4999].Location != "/*/4999" {
		t.Fatalf("%d, %v", len(o.StillSealed), err)
	}
	var limit *LimitError
	if _, err := sealer.Seal(context.Background(), event("open.map", items(100_000))); !errors.As(err, &limit) || limit.Limit != LimitPointers {
		t.Errorf("a long name above many values: %v", err)
	}
}

func TestAConflictThatOnlyANameBringsAboutRefusesTheEvent(t *testing.T) {
	t.Parallel()
	conflict := &LocationError{Place: Place{"/a", 5}, Kind: KindConflict, Err: &schema.ConflictError{EventType: "x", Version: 1, Rule: "keyring-conflict", Message: "m"}}
	var as *schema.ConflictError
	if !errors.As(conflict, &as) || HintOf(conflict) == "" || conflict.Error() == "" {
		t.Errorf("%v", conflict)
	}
	reg, err := loadText("open.map.v1.json", `{"type":"object","patternProperties":{
		"^a[0-9]z?$": {"x-gdpr-sensitive":true}, "^[A-Za-z][0-9]z$": {"x-gdpr-sensitive":true,"x-gdpr-keyring":"health"}}}`) // loading finds no name of both
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := NewSealer(reg, setOf(t, keyringtest.New(t), keyringtest.New(t, keyringtest.Options{Name: "health"})), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealer.Seal(context.Background(), event("open.map", `{"a1":1,"b2z":2}`)); err != nil {
		t.Fatal(err)
	}
	_, err = sealer.Seal(context.Background(), event("open.map", `{"a1":1,"a1z":"Zyx#Wvu7"}`))
	var location *LocationError
	if !errors.As(err, &location) || location.Kind != KindConflict || location.Location != "/*" || !errors.As(err, &as) {
		t.Fatalf("%v", err)
	}
	checkError(t, err)
}

func TestOneSealerOpenerAndResealerServeManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, _, keyed := b.verifiers(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			ctx := context.Background()
			for n := range 40 {
				if i == 0 && n%10 == 0 {
					b.ring.Rotate(keyring.Seal)
				}
				payload := strings.Replace(full, "ada@", fmt.Sprintf("ada%d.%d@", i, n), 1)
				sealed, err := b.sealer.Seal(ctx, event(customer, payload))
				if err != nil {
					t.Error(err)
					return
				}
				r, err := Parse(sealed.Wire(), Limits{})
				if err != nil {
					t.Error(err)
					return
				}
				again, _, err := b.resealer.Reseal(ctx, r, sealed.BlindIndexes())
				if err != nil {
					t.Error(err)
					return
				}
				if r, err = Parse(again.Wire(), Limits{}); err != nil {
					t.Error(err)
					return
				}
				opened, err := b.opener.Open(ctx, r, OpenOptions{})
				if err != nil || string(opened.Event.Payload) != payload {
					t.Errorf("%s, %v", opened.Event.Payload, err)
				}
				report, err := keyed.Verify(ctx, again.Wire(), StoredIndexes{Values: again.BlindIndexes()})
				for _, f := range report.Findings {
					if f.Severity == SeverityFinding {
						t.Errorf("%+v", f)
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
