package envelope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// told writes a report in short: kind, severity where it is a warning, place or index, key.
func told(r Report) []string {
	var list []string
	for _, f := range r.Findings {
		s := string(f.Kind)
		if f.Severity == SeverityWarning {
			s = "(" + s + ")"
		}
		if f.Location != "" {
			s += " " + f.Location
		}
		if f.Index != "" {
			s += " index " + f.Index
		}
		list = append(list, s)
	}
	return list
}

func (b *bench) verifiers(t testing.TB) (keyless, described, keyed *Verifier) {
	t.Helper()
	infos := KeyInfos{"default": b.ring.Keyring.Keys(), "health": b.health.Keyring.Keys()}
	for i, opts := range []VerifierOptions{{}, {KeyStates: infos}, {Keyrings: b.rings}} {
		v, err := NewVerifier(b.reg, opts)
		if err != nil {
			t.Fatal(err)
		}
		*[]**Verifier{&keyless, &described, &keyed}[i] = v
	}
	return keyless, described, keyed
}

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed := b.seal(t, customer, full)
	good := string(sealed.Wire().Payload)
	tokens := oneToken.FindAllString(good, -1)
	email, age := tokens[0], tokens[1]
	indexes := sealed.BlindIndexes()
	without := func(names ...string) map[string][][]byte {
		m := sealed.BlindIndexes()
		for _, name := range names {
			delete(m, name)
		}
		return m
	}
	with := func(name string, values ...[]byte) map[string][][]byte {
		m := sealed.BlindIndexes()
		m[name] = values
		return m
	}
	other := b.seal(t, customer, `{"email":"eve@b.example","phones":["3"]}`).BlindIndexes()
	unknownKey := append([]byte{0xff, 0xff, 0xff, 0xfe}, indexes["email"][0][4:]...)
	noIndex := []string{"index-mismatch index email"}
	for name, c := range map[string]struct {
		typ, payload    string
		stored          map[string][][]byte
		keyless, both   []string // what the form without any keys, and both others say
		described, keys []string // what the described and the keyed form say in addition
	}{
		"nothing": {customer, good, indexes, nil, nil, nil, nil},
		"a plaintext": {customer, strings.Replace(good, email, `"Zyx#Wvu7"`, 1), without("email"),
			[]string{"plaintext /email"}, []string{"plaintext /email"}, nil, nil},
		"a plaintext that is invalid, too": {customer, strings.Replace(good, email, `7`, 1), without("email"),
			[]string{"plaintext /email"}, []string{"plaintext /email"}, nil, []string{"invalid /email"}},
		"several": {customer, `{"vip":null,"Zyx#Wvu7":` + age + `,"id":` + age + `,"phones":[1,"fc1:"]}`, nil,
			[]string{"plaintext /vip", "undeclared /*", "misplaced /id", "plaintext /phones/0", "malformed /phones/1"},
			[]string{"plaintext /vip", "undeclared /*", "misplaced /id", "plaintext /phones/0", "malformed /phones/1"},
			nil, []string{"invalid /vip", "invalid /phones/0"}},
		"no JSON":         {customer, `{"Zyx#Wvu7"`, nil, []string{"malformed /*"}, []string{"malformed /*"}, nil, nil},
		"a duplicate":     {customer, `{"id":"1","id":2}`, nil, []string{"malformed /id"}, []string{"malformed /id"}, nil, nil},
		"an unknown type": {"no.such", `{}`, nil, []string{"schema-unknown"}, []string{"schema-unknown"}, nil, nil},
		"a per-subject token": {customer, `{"secret":"` + tokenText("s0123456789abcdef", 44) + `"}`, nil,
			[]string{"malformed /secret"}, []string{"malformed /secret"}, nil, nil},
		"an unknown key": {customer, `{"secret":"` + tokenText("fffffffe", 44) + `"}`, nil,
			nil, []string{"key-unknown /secret"}, nil, nil},
		"a swapped token": {customer, strings.Replace(strings.Replace(good, email, age, 1), `"age":`+age, `"age":`+email, 1), indexes,
			nil, nil, nil, []string{"unopenable /email", "unopenable /age"}},
		"an invalid value": {customer, `{"vip":` + b.forge(t, customer, "/vip", `"Zyx#Wvu7"`, 16) + `}`, nil,
			nil, nil, nil, []string{"invalid /vip"}},
		"an opened text that is not strict": {customer, `{"vip":` + b.forge(t, customer, "/vip", `true Zyx#Wvu7`, 16) + `}`, nil,
			nil, nil, nil, []string{"unopenable /vip"}},
		"an index without a token": {customer, `{"id":"1"}`, map[string][][]byte{"email": indexes["email"], "tax_id": indexes["tax_id"]},
			[]string{"index-orphan index email", "index-orphan index tax_id"}, []string{"index-orphan index email", "index-orphan index tax_id"}, nil, nil},
		"an index of no schema": {customer, `{"id":"1"}`, map[string][][]byte{"nosuch": indexes["email"]},
			[]string{"index-orphan index nosuch"}, []string{"index-orphan index nosuch"}, nil, nil},
		"an index without a value": {customer, string(b.seal(t, customer, `{"email":null}`).Wire().Payload), map[string][][]byte{"email": indexes["email"]},
			nil, nil, nil, []string{"index-mismatch index email"}},
		"a missing index": {customer, good, without("email"), []string{"(index-missing) /email index email"}, nil,
			[]string{"(index-missing) /email index email"}, []string{"index-missing index email"}},
		"a missing index in a flagged object": {customer, good, without("tax_id"), nil, nil, nil, []string{"index-missing index tax_id"}},
		"a missing index of nothing": {customer, string(b.seal(t, customer, `{"email":null}`).Wire().Payload), nil,
			[]string{"(index-missing) /email index email"}, nil, []string{"(index-missing) /email index email"}, nil},
		"another value's index":            {customer, good, with("email", other["email"]...), nil, nil, nil, []string{"index-mismatch index email"}},
		"a multi index, one too few":       {customer, good, with("phone", indexes["phone"][0]), nil, nil, nil, []string{"index-mismatch index phone"}},
		"a multi index, one too many":      {customer, good, with("phone", append(other["phone"], indexes["phone"]...)...), nil, nil, nil, []string{"index-mismatch index phone"}},
		"a stored value of no form":        {customer, good, with("email", []byte{1}), noIndex, noIndex, nil, nil},
		"a plaintext as a stored value":    {customer, good, with("email", []byte("Zyx#Wvu7")), noIndex, noIndex, nil, nil},
		"a stored value that is too short": {customer, good, with("email", indexes["email"][0][:19]), noIndex, noIndex, nil, nil},
		"a stored value under no key":      {customer, good, with("email", append([]byte{0, 0, 0, 0}, indexes["email"][0][4:]...)), noIndex, noIndex, nil, nil},
		"two stored values of one":         {customer, good, with("email", indexes["email"][0], other["email"][0]), noIndex, noIndex, nil, nil},
		"a stored value twice": {customer, good, with("phone", slices.Concat(indexes["phone"], indexes["phone"][:1])...),
			[]string{"index-mismatch index phone"}, []string{"index-mismatch index phone"}, nil, nil},
		"an index under an unknown key": {customer, good, with("email", unknownKey), nil, []string{"key-unknown index email"}, nil, nil},
		"a flagged object in clear": {customer, `{"person":{"tax_id":"Zyx#Wvu7"}}`, map[string][][]byte{"tax_id": indexes["tax_id"]},
			[]string{"plaintext /person", "index-orphan index tax_id"}, []string{"plaintext /person", "index-orphan index tax_id"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keyless, described, keyed := b.verifiers(t)
			for form, v := range map[string]*Verifier{"keyless": keyless, "described": described, "keyed": keyed} {
				want := c.both
				switch form {
				case "keyless":
					want = c.keyless
				case "described":
					want = append(slices.Clone(want), c.described...)
				case "keyed":
					want = append(slices.Clone(want), c.keys...)
				}
				report, err := v.Verify(context.Background(), wireOf(c.typ, c.payload), StoredIndexes{Values: c.stored})
				if err != nil {
					t.Fatal(err)
				}
				got := told(report)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q", form, got, want)
				}
				if text := fmt.Sprintf("%+v", report); strings.Contains(text, canary) {
					t.Errorf("the report holds a value: %s", text)
				}
			}
		})
	}
}

func TestVerifyTellsTheStatesOfKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed := b.seal(t, customer, `{"email":"ada@b.example"}`)
	seal, index := primaryID(t, b.ring.Keyring, keyring.Seal), primaryID(t, b.ring.Keyring, keyring.Index)
	b.ring.Rotate(keyring.Seal)
	b.ring.Rotate(keyring.Index)
	check := func(want ...string) {
		t.Helper()
		_, described, keyed := b.verifiers(t)
		for form, v := range map[string]*Verifier{"described": described, "keyed": keyed} {
			report, err := v.Verify(context.Background(), sealed.Wire(), StoredIndexes{Values: sealed.BlindIndexes()})
			if got := told(report); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v; %v", form, got, want, err)
			}
			for _, f := range report.Findings {
				if f.Keyring != "default" || f.KeyID != seal && f.KeyID != index {
					t.Errorf("%+v", f)
				}
			}
		}
	}
	check("(key-stale) /email", "(index-key-stale) index email")
	for purpose, text := range map[keyring.Purpose]string{keyring.Seal: seal, keyring.Index: index} {
		id, err := keyring.ParseKeyID(text)
		if err != nil {
			t.Fatal(err)
		}
		b.ring.SetState(purpose, id, keyring.Disabled)
	}
	b.ring.Refresh()
	check("key-disabled /email", "key-disabled index email")
}

func TestVerifyListsWhatItCouldNotCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	keyless, described, keyed := b.verifiers(t)
	kinds := func(list []NotChecked) (got []string) {
		for _, n := range list {
			got = append(got, strings.TrimSpace(string(n.Kind)+" "+n.Keyring))
		}
		return got
	}
	for _, c := range []struct {
		v    *Verifier
		want []string
	}{
		{keyed, nil},
		{described, []string{"unopenable", "invalid", "index-mismatch"}},
		{keyless, []string{"unopenable", "invalid", "index-mismatch",
			"key-unknown default", "key-disabled default", "key-stale default", "index-key-stale default",
			"key-unknown health", "key-disabled health", "key-stale health", "index-key-stale health"}},
	} {
		if got := kinds(c.v.NotChecked()); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	noted := b.seal(t, health, `{"email":"a@b.example","blood":"0+"}`)
	partly, err := NewVerifier(b.reg, VerifierOptions{Keyrings: setOf(t, b.ring.Keyring)})
	if err != nil {
		t.Fatal(err)
	}
	report, err := partly.Verify(context.Background(), noted.Wire(), StoredIndexes{Values: noted.BlindIndexes()})
	if got := kinds(report.NotChecked); err != nil || len(report.Findings) > 0 || !slices.Equal(got, []string{"unopenable health", "invalid", "index-mismatch health"}) {
		t.Errorf("%q, %v, %v", got, told(report), err)
	}
	if report, err = partly.Verify(context.Background(), noted.Wire(), StoredIndexes{}); err != nil || len(report.Findings) > 0 || !slices.Contains(kinds(report.NotChecked), "index-missing health") {
		t.Errorf("%q, %v, %v", kinds(report.NotChecked), told(report), err)
	}
	report, err = keyed.Verify(context.Background(), noted.Wire(), StoredIndexes{Unknown: true})
	if got := kinds(report.NotChecked); err != nil || len(report.Findings) > 0 || !slices.Equal(got, []string{"index-orphan", "index-key-stale", "index-missing", "index-mismatch"}) {
		t.Errorf("%q, %v, %v", got, told(report), err)
	}
}

func TestAnOrphanIsFoundBesideTokensThatCannotHoldIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	keyless, _, keyed := b.verifiers(t)
	sealed := b.seal(t, customer, `{"email":"ada@b.example"}`)
	stored := b.seal(t, customer, full).BlindIndexes()
	for name, v := range map[string]*Verifier{"keyless": keyless, "keyed": keyed} {
		report, err := v.Verify(context.Background(), sealed.Wire(), StoredIndexes{Values: stored})
		want := []string{"index-orphan index age", "index-orphan index phone", "index-orphan index tax_id"}
		if got := told(report); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestVerifySaysWhenItCouldNotLook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, _, keyed := b.verifiers(t)
	w := b.seal(t, customer, full).Wire()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := keyed.Verify(ctx, w, StoredIndexes{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ring := keyringtest.New(t)
	closed, err := NewVerifier(loadTwin(t), VerifierOptions{Keyrings: setOf(t, ring)})
	if err != nil {
		t.Fatal(err)
	}
	ring.Close()
	if _, err := closed.Verify(context.Background(), w, StoredIndexes{}); !errors.Is(err, keyring.ErrClosed) {
		t.Errorf("a closed keyring: %v", err)
	}
}
