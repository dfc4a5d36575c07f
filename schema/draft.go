package schema

import "strings"

// place says how a keyword's value holds subschemas.
type place uint8

const (
	placeSelf place = 1 << iota // the value is a schema
	placeMap                    // the value is an object of schemas
	placeList                   // the value is an array of schemas
)

// draft is what the Plan must know of a JSON Schema draft: where it puts schemas. It agrees with what jsonschema/v5 compiles, not with
// what that library lists: a flag where the validator never looks must be refused.
type draft struct {
	name       string
	number     int // 4, 6, 7, 2019, 2020
	id         string
	subschemas map[string]place
}

// refHidesSiblings reports that keywords beside $ref are ignored.
func (d *draft) refHidesSiblings() bool { return d.number <= 7 }

func draftFor(metaschema string) *draft {
	u := strings.TrimSuffix(strings.TrimSuffix(metaschema, "/"), "#")
	u = strings.TrimPrefix(strings.TrimPrefix(u, "http://"), "https://")
	switch u {
	case "json-schema.org/draft-04/schema":
		return newDraft("draft-04", 4)
	case "json-schema.org/draft-06/schema":
		return newDraft("draft-06", 6)
	case "json-schema.org/draft-07/schema":
		return newDraft("draft-07", 7)
	case "json-schema.org/draft/2019-09/schema":
		return newDraft("2019-09", 2019)
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema":
		return newDraft("2020-12", 2020)
	}
	return nil
}

// defaultDraft is the validator's draft for a document without $schema.
func defaultDraft() *draft { return newDraft("2020-12", 2020) }

func newDraft(name string, number int) *draft {
	d := &draft{name: name, number: number, id: "$id"}
	s := map[string]place{
		"definitions": placeMap, "not": placeSelf, "allOf": placeList, "anyOf": placeList, "oneOf": placeList,
		"properties": placeMap, "additionalProperties": placeSelf, "patternProperties": placeMap,
		"items": placeSelf | placeList, "additionalItems": placeSelf, "dependencies": placeMap,
	}
	if number == 4 {
		d.id = "id"
	}
	if number >= 6 {
		s["propertyNames"], s["contains"] = placeSelf, placeSelf
	}
	if number >= 7 {
		s["if"], s["then"], s["else"] = placeSelf, placeSelf, placeSelf
	}
	if number >= 2019 {
		s["$defs"], s["dependentSchemas"] = placeMap, placeMap
		s["unevaluatedProperties"], s["unevaluatedItems"], s["contentSchema"] = placeSelf, placeSelf, placeSelf
	}
	if number >= 2020 {
		s["prefixItems"] = placeList
		s["items"] = placeSelf
		delete(s, "additionalItems")
	}
	d.subschemas = s
	return d
}

// asserts reports an assertion that the draft has. What a later draft brought is ignored, and says nothing.
func (d *draft) asserts(keyword string) bool {
	switch keyword {
	case "const":
		return d.number >= 6
	case "contentEncoding", "contentMediaType":
		return d.number >= 7
	case "maxContains", "minContains", "dependentRequired":
		return d.number >= 2019
	}
	return isAssertion(keyword)
}

// annotations are the keywords that neither assert nor apply anything: a schema of these alone says nothing about a value.
func isAnnotation(keyword string) bool {
	switch keyword {
	case "title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly",
		"$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions":
		return true
	}
	return false
}

// asserts are the assertion keywords of all drafts; with the applicators they are what makes a schema say something, and what tells a
// schema file from any other JSON file.
func isAssertion(keyword string) bool {
	switch keyword {
	case "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength",
		"pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required",
		"dependentRequired", "format", "contentEncoding", "contentMediaType":
		return true
	}
	return false
}
