package outboxstore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

func TestWhatAMigrationWritesDownOfAnIndex(t *testing.T) {
	t.Parallel()
	declared := &schema.Index{Name: "tax_id", Normalize: []string{"digits"}, Bits: 64, Previous: []schema.IndexVersion{{Bits: 128}, {Normalize: []string{"trim"}, Bits: 128}}}
	current := IndexVersion{"tax_id", "digits.1", 64}
	raw, trim, other := IndexVersion{"tax_id", "raw.1", 128}, IndexVersion{"tax_id", "trim.1", 128}, IndexVersion{"name", "raw.1", 8}
	for name, c := range map[string]struct {
		recorded  []IndexVersion
		hasColumn bool
		want      []IndexVersion
	}{
		"a new column holds what is written":                            {nil, false, []IndexVersion{current}},
		"a column of which nothing is known holds all that is declared": {nil, true, []IndexVersion{current, raw, trim}},
		"another index says nothing":                                    {[]IndexVersion{other}, true, []IndexVersion{current, raw, trim}},
		"a changed index holds both":                                    {[]IndexVersion{other, raw}, true, []IndexVersion{current}},
		"what is known already":                                         {[]IndexVersion{raw, current}, true, nil},
	} {
		got, err := PlanIndexVersions(RecordedIndexes{"t", c.recorded}, declared, c.hasColumn, func() (bool, error) {
			t.Errorf("%s: whether the table is empty does not matter", name)
			return false, nil
		})
		if err != nil || !slices.Equal(got.Add, c.want) || got.Drop != nil {
			t.Errorf("%s: %v, error %v, want %v", name, got, err, c.want)
		}
	}
}

func TestAChangedIndexThatIsNotCalledPreviousIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored IndexVersion
		entry  string
	}{
		"steps":     {IndexVersion{"x", "nfkc.1+casefold-tr.1", 128}, `{"normalize": ["nfkc", "casefold-tr"], "bits": 128}`},
		"none":      {IndexVersion{"x", "raw.1", 9}, `{"normalize": [], "bits": 9}`},
		"parameter": {IndexVersion{"x", "phone.1(TR)+argon2id.1(2,19456)", 32}, `{"normalize": ["phone(TR)", "argon2id(2,19456)"], "bits": 32}`},
		"compound":  {IndexVersion{"x", "casefold.1,raw.1,digits.1+argon2id.1(2,19456)", 128}, `{"normalize": [["casefold"], [], ["digits", "argon2id(2,19456)"]], "bits": 128}`},
	} {
		recorded, declared := RecordedIndexes{"t", []IndexVersion{c.stored}}, &schema.Index{Name: "x", Normalize: []string{"trim"}, Bits: 128}
		got, err := PlanIndexVersions(recorded, declared, true, func() (bool, error) { return true, nil })
		if err != nil || !slices.Equal(got.Drop, recorded.Versions) || !slices.Equal(got.Add, []IndexVersion{{"x", "trim.1", 128}}) {
			t.Errorf("%s, of a table without a row: %v, error %v", name, got, err)
		}
		unknown := errors.New("unknown")
		if _, err := PlanIndexVersions(recorded, declared, true, func() (bool, error) { return false, unknown }); !errors.Is(err, unknown) {
			t.Errorf("%s: %v", name, err)
		}
		_, err = PlanIndexVersions(recorded, declared, true, func() (bool, error) { return false, nil })
		var changed *IndexChangedError
		if !errors.As(err, &changed) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(changed.Hint(), c.entry) || !strings.Contains(err.Error(), c.stored.String()) || !strings.Contains(err.Error(), "trim.1 at 128 bits") {
			t.Errorf("%s: %v; hint: %s", name, err, changed.Hint())
		}
	}
}

func TestOnlyPreviousVersionsAreSettled(t *testing.T) {
	t.Parallel()
	declared := []*schema.Index{{Name: "x", Normalize: []string{"trim"}, Bits: 128, Previous: []schema.IndexVersion{{Bits: 128}}}, {Name: "y", Bits: 128}}
	recorded := RecordedIndexes{Table: "t", Versions: []IndexVersion{{"x", "raw.1", 128}, {"x", "trim.1", 128}, {"x", "digits.1", 128}, {"y", "trim.1", 128}, {"z", "raw.1", 128}}}
	got, err := recorded.rebuilt(declared)
	if err != nil || !slices.Equal(got, []IndexVersion{{"x", "raw.1", 128}}) {
		t.Errorf("%v, error %v", got, err)
	}
	if err := recorded.check(declared[:1]); !errors.As(err, new(*IndexChangedError)) {
		t.Errorf("digits is not declared: %v", err)
	}
	recorded.Versions = recorded.Versions[:1]
	var pending *IndexPendingError
	if err := recorded.check(declared); !errors.As(err, &pending) || pending.Declared != (IndexVersion{"x", "trim.1", 128}) || !strings.HasSuffix(err.Error(), ": run fieldcrypt migrate") {
		t.Errorf("trim is not written down: %v", err)
	}
	recorded.Versions = append(recorded.Versions, IndexVersion{"x", "trim.1", 128})
	if err := recorded.check(declared); err != nil {
		t.Error(err)
	}
}
