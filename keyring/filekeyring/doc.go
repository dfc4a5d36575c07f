// Package filekeyring keeps a keyring in one file, sealed under a passphrase:
// the embedded default, for one machine or a shared volume.
//
//	file, err := filekeyring.New("default.keyring", filekeyring.Options{
//		Passphrase: filekeyring.PassphraseFile("/run/secrets/keyring-passphrase"),
//	})
//	ring, err := keyring.Open(ctx, "default", file, file, keyring.Options{})
//
// A [File] is both the store and the key-encryption key: a 32-byte key that
// Argon2id derives from the passphrase seals the keysets with AES-256-GCM.
//
// # The file
//
//	{"format":"fieldcrypt-keyring-file/1",
//	 "argon2id":{"time":3,"memory_kib":65536,"threads":4,"salt":"<base64>"},
//	 "document":"<the keyring document as a JSON string>"}
//
// The salt is random for each file (one that a keyring is moved to has it from the
// keyring's secrets and its path, so that a move finds it again). It names the key-encryption key, so a file
// can be moved, and two keyrings that are copies of one file are noticed.
//
// # What it promises
//
//   - A reader sees the old file or the new one, never a part: a new one is
//     written beside it, synced, renamed over it, and the directory synced. A
//     process that is killed at any point leaves at worst a temporary file,
//     which the next writer removes.
//   - Of two writers one wins: they exclude each other by a lock on PATH.lock,
//     and the loser sees that the file is not the one that it read. The lock
//     file stays; removing it would let two writers hold one lock each.
//   - A file that its group or others can access, a symbolic link, or anything
//     that is no regular file is refused.
//   - Argon2id runs once for each salt and parameters, not with each refresh.
//
// # What it does not do
//
// A passphrase is as strong as it is long. Who can read the file can try
// passphrases at the cost that the Argon2id parameters set. On a network file
// system the lock is as good as that file system's.
package filekeyring
