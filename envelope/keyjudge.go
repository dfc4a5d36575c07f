package envelope

import (
	"context"
	"errors"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// keyJudge says what a key id beside data means: with keyrings from them, else from the clear parts of their documents.
type keyJudge struct {
	rings      *keyring.Set
	states     map[stateKey]keyring.State
	described  map[string]bool
	notChecked []NotChecked
}

type stateKey struct {
	ring    string
	purpose keyring.Purpose
	id      keyring.KeyID
}

// newKeyJudge reads the documents of the named keyrings once.
func newKeyJudge(rings *keyring.Set, states KeyStates, names []string) keyJudge {
	j := keyJudge{rings: rings, states: make(map[stateKey]keyring.State), described: make(map[string]bool)}
	seen := make(map[string]bool)
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		if _, ok := ringOf(rings, name); ok {
			continue
		}
		var keys []keyring.KeyInfo
		ok := false
		if states != nil {
			keys, ok = states.Keys(name)
		}
		if !ok {
			for _, kind := range []Kind{KindKeyUnknown, KindKeyDisabled, KindKeyStale, KindIndexKeyStale} {
				j.notChecked = append(j.notChecked, NotChecked{Kind: kind, Keyring: name, Reason: "the keyring's document is not at hand"})
			}
			continue
		}
		j.described[name] = true
		for _, k := range keys {
			j.states[stateKey{name, k.Purpose, k.ID}] = k.State
		}
	}
	return j
}

// judge adds what there is to say of a key: f has the place, the keyring and the index.
func (j *keyJudge) judge(ctx context.Context, report *Report, f Finding, purpose keyring.Purpose, id keyring.KeyID) error {
	state, known, err := j.state(ctx, f.Keyring, purpose, id)
	if err != nil || !known {
		return err
	}
	f.KeyID, f.Severity = id.String(), SeverityFinding
	switch state {
	case "":
		f.Kind = KindKeyUnknown
	case keyring.Disabled, keyring.Destroyed:
		f.Kind, f.Detail = KindKeyDisabled, string(state)
	case keyring.Primary:
		return nil
	default:
		f.Kind, f.Severity = KindKeyStale, SeverityWarning
		if purpose == keyring.Index {
			f.Kind = KindIndexKeyStale
		}
	}
	report.add(f)
	return nil
}

// state gives a key's state, "" for a key that is not there; known is false where nobody can tell.
func (j *keyJudge) state(ctx context.Context, name string, purpose keyring.Purpose, id keyring.KeyID) (state keyring.State, known bool, err error) {
	ring, ok := ringOf(j.rings, name)
	if !ok {
		return j.states[stateKey{name, purpose, id}], j.described[name], nil
	}
	key, err := ring.Key(ctx, purpose, id)
	var unknown *keyring.UnknownKeyError
	var unusable *keyring.KeyStateError
	switch {
	case err == nil:
		return key.State(), true, nil
	case errors.As(err, &unusable):
		return unusable.State, true, nil
	case errors.As(err, &unknown) && unknown.Err == nil:
		return "", true, nil
	}
	return "", false, err
}
