package envelope

import (
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// BlindIndex makes what computes an index that the schemas declare: simple or compound, with the previous versions that a search asks for too.
//
//	search, err := index.Search(blindindex.Asked{Text: "1234567890", String: true})
//	candidates, err := search.Candidates(ring.Usable(keyring.Index))
//
// A Sealer and a Resealer write its own version.
func BlindIndex(ix *schema.Index) (*blindindex.Index, error) {
	var parts [][]string
	for _, part := range ix.Parts {
		parts = append(parts, part.Normalize)
	}
	made, err := newBlindIndex(ix.Name, ix.Normalize, parts, ix.Bits)
	if err != nil {
		return nil, err
	}
	var previous []*blindindex.Index
	for _, v := range ix.Previous {
		former, err := newBlindIndex(ix.Name, v.Normalize, v.PartNormalize, v.Bits)
		if err != nil {
			return nil, fmt.Errorf("a previous version: %w", err)
		}
		previous = append(previous, former)
	}
	if len(previous) == 0 {
		return made, nil
	}
	return made.WithPrevious(previous...)
}

func newBlindIndex(name string, steps []string, parts [][]string, bits int) (*blindindex.Index, error) {
	if len(parts) > 0 {
		return blindindex.NewCompound(name, parts, bits)
	}
	return blindindex.New(name, steps, bits)
}
