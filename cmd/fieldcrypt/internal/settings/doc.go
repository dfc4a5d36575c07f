// Package settings finds out what a command works with: schemas, keyrings, outboxes, the passphrase file and the form of the output.
//
// Flags win over environment variables, these over fieldcrypt.yaml (found upwards from the working directory), these over defaults. A repeatable setting is
// taken whole from the first of these places that has it. Paths in fieldcrypt.yaml are relative to that file, all others to the working directory.
//
// There is no setting for a secret: a passphrase comes from a variable, a file or a prompt, never from a flag.
package settings
