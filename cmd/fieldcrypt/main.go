// Fieldcrypt seals the personal data in JSON events, writes them to an outbox, finds them again and rotates their keys. `fieldcrypt --help` says how.
package main

import (
	"os"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/root"
)

func main() { os.Exit(root.Main(os.Args[1:])) }
