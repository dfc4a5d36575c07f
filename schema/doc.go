// Package schema turns JSON Schemas into validators and sensitivity plans.
//
// A schema flags personal data with words of the x-gdpr vocabulary (docs/vocabulary.md):
//
//	{
//	  "$schema": "https://json-schema.org/draft/2020-12/schema",
//	  "type": "object",
//	  "properties": {
//	    "number":  {"type": "string"},
//	    "tax_id":  {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["trim"]}},
//	    "address": {"type": "object", "x-gdpr-sensitive": true}
//	  }
//	}
//
// Load reads a directory of such files, LoadFS an embed.FS. A file named TYPE.vN.json is the schema of version N of event type TYPE; other
// files are there to be referred to. Nothing is fetched.
//
//	reg, err := schema.Load("schemas")
//	e, err := reg.Event("invoice.issued", 1)
//	err = e.Validate(payload)
//	state := e.Plan().Root()
//
// # What it promises
//
// A Plan never overlooks a flag: a location is sealed if any subschema that may apply there is flagged, whichever branch of anyOf, oneOf or
// if an instance takes. What the Plan cannot vouch for is refused when the schemas are loaded, with file, line, column, rule and hint: a
// misspelt word, a flag where the draft puts no schema, a flag that nothing can reach. The Plan is checked against what the validator
// compiled, by another route, each time schemas are loaded.
//
// Errors and findings speak of schemas. A ValidationError says where a payload is wrong and which rule it breaks; it never holds a value
// of the payload, nor a member name that the schema does not spell.
//
// # What it does not do
//
// It seals nothing: package envelope walks a payload along the Plan. It imports no other package of this module.
package schema
