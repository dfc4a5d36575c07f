// Package choose finds what an argument TYPE or TYPE@VERSION means.
package choose

import (
	"strconv"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Event finds the schema of TYPE@VERSION, or of the newest version of TYPE.
func Event(reg *schema.Registry, text string) (*schema.EventSchema, error) {
	typ, versionText, versioned := strings.Cut(text, "@")
	if versioned {
		version, err := strconv.Atoi(versionText)
		if err != nil || version < 1 {
			return nil, failure.New(failure.Usage, "write TYPE or TYPE@VERSION", "%q is no version", versionText)
		}
		event, err := reg.Event(typ, version)
		if err != nil {
			return nil, failure.New(failure.Usage, known(reg), "%w", err)
		}
		return event, nil
	}
	var newest *schema.EventSchema
	for _, event := range reg.Events() {
		if event.Type() == typ {
			newest = event // events are sorted by version
		}
	}
	if newest == nil {
		return nil, failure.New(failure.Usage, known(reg), "no schema for event type %q", typ)
	}
	return newest, nil
}

func known(reg *schema.Registry) string {
	var names []string
	for _, event := range reg.Events() {
		names = append(names, event.Type()+"@"+strconv.Itoa(event.Version()))
	}
	if len(names) == 0 {
		return "the configured schemas hold no event's"
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "the schemas are of " + strings.Join(names, ", ")
}
