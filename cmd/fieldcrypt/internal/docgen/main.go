// Docgen writes docs/cli.md from the commands themselves:
//
//	go run ./cmd/fieldcrypt/internal/docgen > docs/cli.md
package main

import (
	"fmt"
	"os"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/reference"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/root"
)

func main() {
	if _, err := fmt.Print(reference.Markdown(root.New(&cli.App{}))); err != nil {
		os.Exit(1)
	}
}
