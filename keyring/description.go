package keyring

import (
	"encoding/hex"
	"slices"
	"time"
)

// Description is the clear part of a keyring document: which keys there are and
// in which states, without any key byte.
//
// One that [InspectDocument] made is not authentic: whoever can write the
// document can have changed it. One of a loaded [Keyring] or of a [Manager] is.
type Description struct {
	doc *document
}

// InspectDocument reads the clear part of a document without any KEK, for
// checks that have no keys. The document's form is checked fully, its name
// against the one asked for; what only the KEK can prove is not.
func InspectDocument(name string, document []byte) (*Description, error) {
	if !ValidName(name) {
		return nil, &NameFormError{Name: name}
	}
	d, err := parseDocument(name, document)
	if err != nil {
		return nil, err
	}
	return &Description{doc: d}, nil
}

// Name returns the keyring's name.
func (d *Description) Name() string { return d.doc.name }

// Revision returns the document's revision: one more with each write.
func (d *Description) Revision() uint64 { return d.doc.revision }

// Digest returns SHA-256 of the whole document in hex.
func (d *Description) Digest() string { return hex.EncodeToString(d.doc.digest[:]) }

// KEKURI names the KEK that seals the keysets.
func (d *Description) KEKURI() string { return d.doc.kek }

// Propagation is how long a key stays staged before it may become primary.
func (d *Description) Propagation() time.Duration { return d.doc.propagation }

// MovedTo names the KEK at the keyring's new place, if it was moved away from here
// or is about to be (see [Manager.Move]): it takes no change here. Else "".
func (d *Description) MovedTo() string { return d.doc.movedTo }

// Stores are the places whose data is under the keyring's keys, as far as its
// operators have listed them.
func (d *Description) Stores() []DataStore { return slices.Clone(d.doc.stores) }

// Lists says whether the keyring lists a store with this URL, whatever the user,
// the password and the query.
func (d *Description) Lists(storeURL string) bool {
	return slices.ContainsFunc(d.doc.stores, func(s DataStore) bool { return s.Is(storeURL) })
}

// Keys describes every key, destroyed ones too, in document order.
func (d *Description) Keys() []KeyInfo {
	infos := make([]KeyInfo, 0, len(d.doc.keys))
	for i := range d.doc.keys {
		infos = append(infos, d.info(&d.doc.keys[i]))
	}
	return infos
}

// Key describes one key.
func (d *Description) Key(p Purpose, id KeyID) (KeyInfo, bool) {
	for i := range d.doc.keys {
		if r := &d.doc.keys[i]; r.purpose == p && r.id == id {
			return d.info(r), true
		}
	}
	return KeyInfo{}, false
}

// Primary describes the primary key of a purpose.
func (d *Description) Primary(p Purpose) (KeyInfo, bool) {
	for i := range d.doc.keys {
		if r := &d.doc.keys[i]; r.purpose == p && r.state == Primary {
			return d.info(r), true
		}
	}
	return KeyInfo{}, false
}

// Staged describes the staged keys of a purpose, the one that was staged first
// first.
func (d *Description) Staged(p Purpose) []KeyInfo {
	var infos []KeyInfo
	for _, r := range d.doc.staged(p) {
		infos = append(infos, d.info(r))
	}
	return infos
}

// History returns the states that a key went through, the first one first.
func (d *Description) History(p Purpose, id KeyID) []StateChange {
	for _, r := range d.doc.keys {
		if r.purpose == p && r.id == id {
			return append([]StateChange(nil), r.history...)
		}
	}
	return nil
}

func (d *Description) info(r *keyRecord) KeyInfo {
	last := r.since()
	info := KeyInfo{Keyring: d.doc.name, ID: r.id, Purpose: r.purpose, State: r.state, Since: last.At, Author: last.Author}
	if r.hold != nil {
		hold := *r.hold
		info.Hold = &hold
	}
	if r.everywhere != nil {
		info.Everywhere = r.everywhere.At
	}
	info.Ceased, _ = r.ceased()
	return info
}
