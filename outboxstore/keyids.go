package outboxstore

import "slices"

// keyIDFault compares key_ids with the keys that the row needs. A key that it does not name could be retired while the row still
// needs it; one that it names in vain can never be.
func keyIDFault(row *Row, needed []string) string {
	if slices.Equal(row.KeyIDs, needed) { // both are sorted
		return ""
	}
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
