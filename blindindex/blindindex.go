// Package blindindex: see doc.go (being written by the blindindex owner).
package blindindex

import "github.com/fieldcrypt/fieldcrypt/keyring"

// Normalizer is a list of steps, such as nfkc then casefold.
type Normalizer struct{}

// ParseNormalizer reads step names ("trim", "nfkc", "casefold", "casefold-tr", "digits"; empty or "raw" for none). Unknown or not yet built steps are an *UnknownStepError.
func ParseNormalizer(steps []string) (*Normalizer, error) { panic("contract") }

// ID is the normaliser id of format.md 4: raw.1, nfkc.1+casefold.1, ...
func (n *Normalizer) ID() string { panic("contract") }

// Normalize applies the steps.
func (n *Normalizer) Normalize(s string) string { panic("contract") }

// Index computes one blind index; immutable, safe for concurrent use.
type Index struct{}

// New checks name, steps and bits.
func New(name string, steps []string, bits int) (*Index, error) { panic("contract") }

func (ix *Index) Name() string { panic("contract") }

// Messages gives the messages (format.md 4) of a JSON value's text: none for null or a string that normalises to nothing,
// one for a string or an integer, the distinct ones sorted by their bytes for an array of these. Any other value is a *TypeError (which holds no value).
func (ix *Index) Messages(jsonText []byte) ([][]byte, error) { panic("contract") }

// Query gives the messages that a search for text must ask: as a string and, if allowed and text is an integer, as an integer.
func (ix *Index) Query(text string, asString, asInteger bool) [][]byte { panic("contract") }

// Value computes the stored form, uint32(kid) ‖ the first bits of HMAC-SHA256(IK, message), under an index key.
func (ix *Index) Value(key *keyring.Key, message []byte) ([]byte, error) { panic("contract") }

// Candidates computes the stored forms of all messages under all given keys: what a WHERE column = ANY($1) asks.
func (ix *Index) Candidates(keys []*keyring.Key, messages [][]byte) ([][]byte, error) {
	panic("contract")
}

// Text writes a stored value as bi1:<kid>:<base64url>; ParseText reads it.
func Text(stored []byte) string             { panic("contract") }
func ParseText(text string) ([]byte, error) { panic("contract") }

// KeyID reads the key id of a stored value.
func KeyID(stored []byte) (keyring.KeyID, error) { panic("contract") }
