// Package keyringtest gives tests a real keyring in memory: the same documents,
// states, refreshes and life cycle as in production, without a file, a
// passphrase or a Vault, and fast.
//
//	ring := keyringtest.New(t) // "default", one primary key of each purpose
//	rings, err := keyring.NewSet(ring)
//
// A test that rotates, or needs keys in other states, takes a [Ring]:
//
//	ring := keyringtest.NewRing(t, keyringtest.Options{})
//	id := ring.Stage(keyring.Seal) // stored, but not loaded yet
//	ring.Refresh()
//	ring.Promote(keyring.Seal)
//
// Known-answer tests give keys, ids and states themselves:
//
//	keyringtest.New(t, keyringtest.Options{Keys: []keyringtest.Key{
//		{ID: 0x0f3a9c01, Purpose: keyring.Seal, State: keyring.Primary, Bytes: k},
//		{ID: 0x5b2e77d0, Purpose: keyring.Index, State: keyring.Primary, Bytes: i},
//	}})
//
// Keys made here protect nothing.
package keyringtest
