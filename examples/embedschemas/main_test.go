package main

import (
	"strings"
	"testing"
)

func TestTheProgramPrintsWhatItsEmbeddedSchemasSeal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	want := `customer.moved version 1
  /address is sealed under keyring default
customer.registered version 1
  /person/address is sealed under keyring default
  /person/name is sealed under keyring default
  /person/tax_id is sealed under keyring default, searchable as tax_id
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
