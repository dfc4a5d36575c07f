package outboxstore

import (
	"regexp"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
)

// tokenKey finds the key of every token in a wire payload. Sealing refuses an unflagged string that looks like a token, so
// in a well-formed event each match is one.
var tokenKey = regexp.MustCompile(`"fc1:([0-9a-f]{8}):[A-Za-z0-9_-]{59,}"`)

// neededKeyIDs are the keys that the row's tokens and stored indexes name, sorted.
func neededKeyIDs(row *Row) []string {
	var ids []string
	for _, m := range tokenKey.FindAllSubmatch(row.stored.Payload, -1) {
		ids = append(ids, "seal:"+string(m[1]))
	}
	for _, values := range row.Indexes {
		for _, value := range values {
			if id, err := blindindex.KeyID(value); err == nil { // else a fault of the index
				ids = append(ids, "index:"+id.String())
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// keyIDFault compares key_ids with what the row needs. A key that it does not name could be retired while the row still
// needs it; one that it names in vain can never be.
func keyIDFault(row *Row) string {
	needed := neededKeyIDs(row)
	var lacks, extra []string
	for _, id := range needed {
		if !slices.Contains(row.KeyIDs, id) {
			lacks = append(lacks, id)
		}
	}
	for _, id := range row.KeyIDs {
		if !slices.Contains(needed, id) {
			extra = append(extra, id)
		}
	}
	switch {
	case len(lacks) > 0:
		return "key_ids lacks " + joinNames(lacks)
	case len(extra) > 0:
		return "key_ids names keys that nothing in the row needs"
	}
	return ""
}
