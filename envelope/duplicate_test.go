package envelope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// A duplicate is found wherever its name stands among the declared members, and among others, in objects within objects too.
func TestADuplicateIsFoundAmongAnyNumberOfDeclaredMembers(t *testing.T) {
	t.Parallel()
	const declared = 200
	var properties []string
	for i := range declared {
		properties = append(properties, fmt.Sprintf(`"n%d": {"type": "integer", "x-gdpr-sensitive": true}`, i))
	}
	text := `{"x-gdpr-undeclared": "clear", "properties": {` + strings.Join(properties, ",") + `, "in": {"$ref": "#"}}}`
	sealer, err := NewSealer(loadOne(t, "many.members.v1.json", text), setOf(t, keyringtest.New(t)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	object := func(extra ...string) string {
		var members []string
		for i := range declared {
			members = append(members, fmt.Sprintf(`"n%d":%d`, i, i))
		}
		return `{` + strings.Join(slices.Concat(members, extra), ",") + `}`
	}
	seal := func(payload string) error {
		_, err := sealer.Seal(context.Background(), event("many.members", payload))
		return err
	}
	for _, payload := range []string{object(), object(`"in":` + object(`"in":`+object())), object(`"other":1`, `"in":`+object(), `"another":2`)} {
		if err := seal(payload); err != nil {
			t.Errorf("%.60s…: %v", payload, err)
		}
	}
	for _, i := range []int{0, 1, 62, 63, 64, 65, 127, 128, 191, 192, 199} {
		for _, again := range []string{fmt.Sprintf(`"n%d":-1`, i), fmt.Sprintf(`"\u006e%d":-1`, i)} {
			for _, payload := range []string{object(again), object(`"in":`+object(), again), object(`"in":` + object(again)), object(`"o":1`, again, `"in":`+object())} {
				var syntax *SyntaxError
				if err := seal(payload); !errors.As(err, &syntax) || syntax.Offset != strings.Index(payload, again) {
					t.Errorf("%s twice: %v", again, err)
				}
			}
		}
	}
	var syntax *SyntaxError
	if err := seal(object(`"o":1`, `"in":`+object(), `"o":2`)); !errors.As(err, &syntax) {
		t.Errorf("an undeclared one twice: %v", err)
	}
}
