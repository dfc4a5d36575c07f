// Command derive writes the table of dialling rules of the normaliser step phone, version 1, to standard output, from the metadata of Google's
// libphonenumber as github.com/nyaruka/phonenumbers v1.8.1 carries it.
//
// It ran once. The table is part of the format: an index that was stored by it must be found by it for ever, so nothing in CI runs this again, and a
// better table would be phone.2.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

type table struct {
	Format, Description, Source string
	Regions                     map[string]region
	Codes                       map[string]code
}

// region is what a number without a country code is read by.
type region struct {
	Code          string   `json:"code"`
	Lengths       []int    `json:"lengths"`
	International []string `json:"international"`
}

// code is a country code with the trunk prefixes of its numbers.
type code struct {
	Lengths []int    `json:"lengths"`
	Trunk   []string `json:"trunk"`
}

func main() {
	collection, err := phonenumbers.MetadataCollection()
	if err != nil {
		panic(err)
	}
	t := table{
		Format:      "fieldcrypt-phone/1",
		Description: "Dialling rules of the normaliser step phone.1. lengths count the digits of national numbers of fixed lines and mobile phones.",
		Source:      "metadata of libphonenumber (Apache-2.0), as in github.com/nyaruka/phonenumbers v1.8.1",
		Regions:     map[string]region{},
		Codes:       map[string]code{},
	}
	for _, m := range collection.Metadata {
		lengths := append(lengthsOf(m, m.FixedLine), lengthsOf(m, m.Mobile)...)
		slices.Sort(lengths)
		lengths = slices.Compact(lengths)
		cc := strconv.Itoa(int(m.GetCountryCode()))
		if m.GetId() != "001" {
			t.Regions[m.GetId()] = region{Code: cc, Lengths: lengths, International: international(m.GetInternationalPrefix())}
		}
		c := t.Codes[cc]
		c.Lengths = append(c.Lengths, lengths...)
		slices.Sort(c.Lengths)
		c.Lengths = slices.Compact(c.Lengths)
		c.Trunk = trunk(m, c.Trunk)
		t.Codes[cc] = c
	}
	fmt.Printf("{\n \"format\": %s,\n \"description\": %s,\n \"source\": %s,\n \"regions\": {\n", text(t.Format), text(t.Description), text(t.Source))
	printLines(t.Regions)
	fmt.Println(" },\n \"codes\": {")
	printLines(t.Codes)
	fmt.Println(" }\n}")
}

// printLines writes one entry a line, sorted.
func printLines[V any](entries map[string]V) {
	names := slices.Sorted(maps.Keys(entries))
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Printf("  %s: %s%s\n", text(name), text(entries[name]), comma)
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	// The spaces of the committed file.
	return strings.NewReplacer(`":`, `": `, `","`, `", "`, `],"`, `], "`).Replace(string(b))
}

// lengthsOf gives the lengths of one kind of number; none stated means those of all kinds, -1 that the kind does not exist.
func lengthsOf(m *phonenumbers.PhoneMetadata, d *phonenumbers.PhoneNumberDesc) (lengths []int) {
	list := d.GetPossibleLength()
	if len(list) == 0 {
		list = m.GetGeneralDesc().GetPossibleLength()
	}
	for _, n := range list {
		if n > 0 {
			lengths = append(lengths, int(n))
		}
	}
	return lengths
}

// trunk adds the national prefix. Belarus and Lithuania have an old and a new one in use.
func trunk(m *phonenumbers.PhoneMetadata, known []string) []string {
	prefixes := []string{m.GetNationalPrefix()}
	switch m.GetId() {
	case "BY":
		prefixes = []string{"80", "8", "0"}
	case "LT":
		prefixes = []string{"0", "8"}
	}
	for _, p := range prefixes {
		if p != "" && !slices.Contains(known, p) {
			known = append(known, p)
		}
	}
	if known == nil {
		known = []string{}
	}
	return known
}

// international writes out what a pattern of international prefixes matches, up to five digits, longest first. 00 is one everywhere: many write it
// who have another.
func international(pattern string) []string {
	re := regexp.MustCompile("^(?:" + pattern + ")$")
	prefixes := []string{"00"}
	for length, last := 1, 10; length <= 5; length, last = length+1, last*10 {
		for n := range last {
			p := fmt.Sprintf("%0*d", length, n)
			if re.MatchString(p) && p != "00" {
				prefixes = append(prefixes, p)
			}
		}
	}
	slices.SortFunc(prefixes, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return prefixes
}
