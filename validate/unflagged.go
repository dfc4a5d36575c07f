package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// personalFindings finds the fields that look personal and are not sealed. Each place in a schema file is reported once, however many event
// types reach it; of fields inside each other only the outermost, since flagging that one covers the rest.
func personalFindings(reg *schema.Registry) []Finding {
	dict := newDictionary()
	type place struct{ file, location string }
	reported := map[place]bool{}
	var found []Finding
	for _, event := range reg.Events() {
		fields := event.Plan().Fields()
		slices.SortFunc(fields, func(a, b schema.Field) int { return cmp.Compare(a.Pointer, b.Pointer) }) // the outer before the inner
		siblings := map[place][]string{}
		for _, f := range fields {
			object := place{f.File, enclosing(f.Location)}
			siblings[object] = append(siblings[object], f.Name)
		}
		var outer []string // payload pointers of what looks personal
		for _, f := range fields {
			looks := dict.looksLike(property{
				name: f.Name, parent: parentName(f.Pointer, event.Type()), siblings: siblings[place{f.File, enclosing(f.Location)}], typ: f.Type, format: f.Format,
			})
			// Where something below is sealed, the schema's author has looked here: what is below is judged by its own name.
			if looks == "" || f.Sealed || f.SealedBelow || insideAny(f.Pointer, outer) {
				continue
			}
			outer = append(outer, f.Pointer)
			if at := (place{f.File, f.Location}); !reported[at] {
				reported[at] = true
				found = append(found, Finding{
					File: f.File, Line: f.Line, Column: f.Column, Location: f.Location, Rule: RulePersonalUnflagged, Severity: severityOf(RulePersonalUnflagged),
					Message: fmt.Sprintf("%q looks like %s, and is not flagged", f.Name, looks),
					Hint:    `add "x-gdpr-sensitive": true, or an entry with the reason why not to lint.ignore in fieldcrypt.yaml`,
				})
			}
		}
	}
	return found
}

// enclosing is the location of the schema object whose properties the schema at a location is one of.
func enclosing(location string) string {
	object, _ := strings.CutSuffix(upOne(location), "/properties")
	return object
}

func upOne(pointer string) string { return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)] }

// parentName is the nearest name above a member in the payload: items and open names (*) have none of their own.
func parentName(pointer, eventType string) string {
	for up := upOne(pointer); up != ""; up = upOne(up) {
		if name := up[strings.LastIndexByte(up, '/')+1:]; name != "*" {
			return name
		}
	}
	return eventType
}

func insideAny(pointer string, outer []string) bool {
	for _, o := range outer {
		if strings.HasPrefix(pointer, o+"/") {
			return true
		}
	}
	return false
}
