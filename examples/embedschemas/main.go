// Command embedschemas carries its schemas in the program and prints what they seal.
//
// A service that embeds its schemas cannot be started with others than it was tested with, and needs no file at run time.
package main

import (
	"embed"
	"fmt"
	"io"
	"os"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

//go:embed schemas
var schemas embed.FS

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embedschemas:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	registry, err := schema.LoadFS(schemas)
	if err != nil {
		return err
	}
	for _, event := range registry.Events() {
		fmt.Fprintf(out, "%s version %d\n", event.Type(), event.Version())
		for _, at := range event.Plan().Locations() {
			if !at.Sealed {
				continue
			}
			fmt.Fprintf(out, "  %s is sealed under keyring %s", at.Pointer, at.Keyring)
			if at.Index != nil {
				fmt.Fprintf(out, ", searchable as %s", at.Index.Name)
			}
			fmt.Fprintln(out)
		}
	}
	return nil
}
