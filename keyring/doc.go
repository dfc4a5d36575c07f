// Package keyring holds named sets of keys with states, sealed by a
// key-encryption key (KEK) and kept in a store.
//
// # Reading keys
//
// A service opens each keyring once and shares it:
//
//	ring, err := keyring.Open(ctx, "default", store, kek, keyring.Options{})
//	…
//	rings, err := keyring.NewSet(ring)
//
// where store and kek come from a package below this one, such as filekeyring.
// A keyring holds keys for two purposes: Seal, from which each event's key is
// derived, and Index, from which each blind index's key is derived. Writing uses
// the primary key of a purpose; staged, primary and active keys open and are
// searched, since another process may be a refresh ahead.
//
// # Changing keys
//
// A [Manager] changes what is stored, each change as one check-and-set:
//
//	m, err := keyring.NewManager("default", store, kek, keyring.ManagerOptions{Actor: "ops@example.com"})
//	_, err = m.Create(ctx, keyring.CreateOptions{})
//	_, err = m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
//	… // every process loads the staged key
//	_, err = m.Promote(ctx, keyring.Seal, keyring.PromoteOptions{})
//
// [Description.Plan] says which of these steps a rotation needs next, so that a
// rotation which was killed at any point can be run again.
//
// # What it promises
//
//   - A document is used only if its keysets open under the configured KEK, for
//     the name that was asked for, with the clear part as it stands. Edited
//     clear parts, swapped keysets, another name, revision or KEK are refused.
//   - A running process refuses a document that is older than the one it has,
//     or another one with the same revision, and goes on with what it has.
//   - Of two writers one wins; the other changes nothing and is told who did.
//   - Using a loaded keyring makes no call, except for one refresh when a key id
//     is unknown.
//   - Key bytes are in no error, log line or formatted value, and are wiped when
//     a key is disabled or the keyring is closed. Copies that Tink, the protobuf
//     decoder or the garbage collector made are beyond reach.
//
// # What it does not do
//
// It gives out no key bytes, only what [Key.Derive] derives from them. It does
// not protect from who holds the KEK and can write the store.
package keyring
