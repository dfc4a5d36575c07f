package strictjson_test

import (
	"errors"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring/internal/strictjson"
)

type sample struct {
	Name  string   `json:"name"`
	Count uint64   `json:"count"`
	Inner *sample  `json:"inner,omitempty"`
	List  []string `json:"list,omitempty"`
}

func TestWhatMarshalWritesUnmarshalReads(t *testing.T) {
	t.Parallel()
	want := sample{Name: "a\"\u00e7\u2028", Count: 1<<64 - 1, Inner: &sample{Name: "b"}}
	text, err := strictjson.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got sample
	if err := strictjson.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != want.Name || got.Count != want.Count || got.Inner.Name != "b" {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestEachFaultIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		kind    strictjson.Kind
		pointer string
	}{
		"empty":                {``, strictjson.Syntax, ""},
		"not JSON":             {`{name:1}`, strictjson.Syntax, ""},
		"a second value":       {`{}{}`, strictjson.Syntax, ""},
		"a duplicate name":     {`{"name":"a","name":"b"}`, strictjson.DuplicateName, "/name"},
		"escaped duplicate":    {`{"name":"a","n\u0061me":"b"}`, strictjson.DuplicateName, "/name"},
		"an unknown member":    {`{"inner":{"nam":"a"}}`, strictjson.UnknownMember, "/inner/nam"},
		"another case":         {`{"Name":"a"}`, strictjson.UnknownMember, "/Name"},
		"a number for a text":  {`{"name":1}`, strictjson.Type, "/name"},
		"a text for a number":  {`{"count":"1"}`, strictjson.Type, "/count"},
		"a fraction":           {`{"count":1.5}`, strictjson.Type, "/count"},
		"a negative number":    {`{"count":-1}`, strictjson.Type, "/count"},
		"a number too large":   {`{"count":18446744073709551616}`, strictjson.Type, "/count"},
		"an array for object":  {`[]`, strictjson.Type, ""},
		"invalid UTF-8":        {"{\"name\":\"\xff\"}", strictjson.Syntax, "/name"},
		"half a surrogate":     {`{"name":"\ud800"}`, strictjson.Syntax, "/name"},
		"a raw control letter": {"{\"name\":\"\n\"}", strictjson.Syntax, "/name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := strictjson.Unmarshal([]byte(tt.text), &sample{})
			var f *strictjson.Fault
			if !errors.As(err, &f) || f.Kind != tt.kind || f.Pointer != tt.pointer || f.Error() == "" {
				t.Fatalf("got %#v, want kind %d at %q", err, tt.kind, tt.pointer)
			}
		})
	}
}
