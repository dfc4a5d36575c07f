// Package blindindex computes blind indexes: short keyed hashes of personal data, stored beside the ciphertext, by which a row is found
// without decrypting the others.
//
// An [Index] is made once from what a schema declares, and is then asked for messages and for values:
//
//	ix, err := blindindex.New("tax_id", []string{"trim", "casefold"}, 128)
//	messages, err := ix.Messages([]byte(`" TR-123 "`))   // what is hashed; it holds the value, so keep it in memory
//	stored, err := ix.Value(primaryIndexKey, messages[0]) // what the column bidx_tax_id holds
//
// and, to search,
//
//	search, err := ix.Search(blindindex.Asked{Text: "tr-123", String: true})
//	candidates, err := search.Candidates(ring.Usable(keyring.Index))
//	// SELECT … WHERE bidx_tax_id = ANY(candidates)
//
// [NewCompound] makes an index over several values together, [Index.WithPrevious] one that is searched in earlier versions too, and [NewPlan]
// says what a length costs and gives away.
//
// # What is computed
//
// A value becomes a message: a string is normalised and written as 's' and its UTF-8, an integer as 'i' and its digits. A key of the
// keyring's index purpose gives, by HKDF, a key of this index alone: its name, its normaliser and its length go into the derivation, so that
// equal values of two indexes have nothing in common. The message's HMAC-SHA256 under it, cut to the index's bits, is the value; the key id
// in front of it says which key a row needs, so that keys can be rotated while both are searched.
//
// # Normalisers
//
// A search finds what normalises to the same text: trim takes white space from both ends, nfkc unites compatible forms (ﬁ and fi, full-width
// letters), casefold ignores case, casefold-tr does so for Turkish (I is ı, İ is i), digits keeps decimal digits of any script, as ASCII, alnum
// letters and digits, last4 the end. email knows the two sides of an @, phone(TR) the forms of a telephone number, and argon2id(2,19456), as the
// last step, makes each hash slow.
// They run in the order given, and the order is part of the index: changing it makes another index, which needs a rebuild. Where both occur,
// nfkc belongs before a case fold, which would otherwise meet letters it does not know as such.
//
// Version 1 of every step means Unicode 15.0. A string with a code point that Unicode 15.0 does not assign passes all steps that ask for it, since
// a later version may say something else about it; so an index computed today is the one computed in ten years.
//
// # What it does not do
//
// It hides values from someone without the key; it does not hide that two rows hold the same value, nor how often one occurs. Fewer bits
// show less and match rows that do not hold the value: compare after opening. It does not know whether an index may hold several values; the
// store's columns do. [MeasureLeaks] sums up what a live column shows.
//
// An index's messages hold personal data. No error of this package does, and the package keeps neither messages nor keys.
package blindindex
