package main

import (
	"strings"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
)

// trail reads the project's audit trail.
func (p *project) trail() (entries []audittrail.Entry) {
	p.t.Helper()
	for line := range strings.Lines(p.mustCall("audit", "trail", "--output", "json").stdout) {
		e, err := audittrail.Parse([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			p.t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// begun counts the operations of a name that were begun.
func begun(entries []audittrail.Entry, operation string) (n int) {
	for _, e := range entries {
		if e.Operation == operation && e.Result == audittrail.Begun {
			n++
		}
	}
	return n
}

// expectKeysTold holds keys that rotate made against the trail: a key is what it is because somebody began to make it so, and that is written down, even if he was
// killed before he could say what came of it.
func (p *project) expectKeysTold(entries []audittrail.Entry) {
	p.t.Helper()
	told := map[string]bool{}
	for _, e := range entries {
		for _, id := range e.KeyIDs {
			told[string(e.Result)+" "+e.Operation+" "+id] = true
		}
	}
	keys := p.keys()
	first := map[string]bool{} // made with the keyring, primary from the beginning
	for _, key := range keys {
		id := key.Purpose + ":" + key.ID
		switch {
		case key.State == "staged":
		case told["begun rotate.promote "+id]:
		case !first[key.Purpose]:
			first[key.Purpose] = true
		default:
			p.t.Errorf("key %s is %s, and no entry says that anybody began to promote it", id, key.State)
		}
		if key.State == "disabled" && !told["begun rotate.retire "+id] {
			p.t.Errorf("key %s is disabled, and no entry says that anybody began to retire it", id)
		}
	}
	if made, staged := len(keys)-len(first), begun(entries, "rotate.stage"); staged < made {
		p.t.Errorf("%d keys were made, and %d were begun to be staged", made, staged)
	}
}
