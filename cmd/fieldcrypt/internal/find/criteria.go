package find

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lines"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// maxValue bounds what is read as a value: no indexed value is longer than a payload may be.
const maxValue = 1 << 20

// criterion is one index and the value that is looked for in it.
type criterion struct {
	index   *schema.Index
	compute *blindindex.Index
	search  *blindindex.Search // nil until a value was read
}

// criteria must all be met.
type criteria []*criterion

func (f *flags) criteria(reg *schema.Registry) (criteria, error) {
	if len(f.indexes) == 0 {
		return nil, failure.New(failure.Usage, known(reg), "--index is missing")
	}
	var all criteria
	for i, name := range f.indexes {
		if slices.Contains(f.indexes[:i], name) {
			return nil, failure.New(failure.Usage, "", "--index %s is given twice", name)
		}
		at := slices.IndexFunc(reg.Indexes(), func(ix *schema.Index) bool { return ix.Name == name })
		if at < 0 {
			return nil, failure.New(failure.Usage, known(reg), "no schema declares a blind index %q", name)
		}
		index := reg.Indexes()[at]
		compute, err := envelope.BlindIndex(index)
		if err != nil {
			return nil, err
		}
		all = append(all, &criterion{index: index, compute: compute})
	}
	return all, nil
}

func known(reg *schema.Registry) string {
	var names []string
	for _, ix := range reg.Indexes() {
		names = append(names, ix.Name)
	}
	if len(names) == 0 {
		return "the schemas declare no blind index: see x-blind-index in docs/vocabulary.md"
	}
	return "the schemas declare " + strings.Join(names, ", ")
}

// read reads the values: several indexes take an object on standard input, one takes a text.
func (c criteria) read(ctx context.Context, s *cli.Session, args []string) error {
	if len(c) > 1 {
		if len(args) > 0 && args[0] != lines.Stdin {
			return failure.New(failure.Usage, `give {"NAME": VALUE} on standard input`, "several --index take no VALUE as an argument")
		}
		text, err := readAll(ctx, s)
		if err != nil {
			return err
		}
		return c.readObject(text)
	}
	text, err := value(ctx, s, args)
	if err != nil {
		return err
	}
	one := c[0]
	if len(one.index.Parts) > 0 {
		err = one.readParts([]byte(text))
	} else {
		err = one.ask(blindindex.Asked{Text: text, String: one.index.String, Integer: one.index.Integer})
	}
	if err != nil {
		return err
	}
	if len(one.search.Messages()) == 0 {
		if len(one.index.Parts) == 0 && !one.index.String {
			return failure.New(failure.Usage, "", "the index %s takes integers alone, and the value is none", one.index.Name)
		}
		s.Terminal.Note("note: nothing is left of the value once it is normalised, and nothing is indexed for that")
	}
	return nil
}

func (c *criterion) ask(values ...blindindex.Asked) (err error) {
	c.search, err = c.compute.Search(values...)
	return err
}

// value is the one value that is looked for.
func value(ctx context.Context, s *cli.Session, args []string) (string, error) {
	switch {
	case len(args) == 0:
		text, err := terminal.Secret(ctx, s.Stdin, s.Stderr, "value to find: ")
		if errors.Is(err, terminal.ErrNoTerminal) {
			return "", failure.New(failure.Usage, "give - as VALUE to read it from standard input", "a VALUE is missing, and there is no terminal to ask on")
		}
		return string(text), err
	case args[0] != lines.Stdin:
		s.Terminal.Warn("a value on the command line stands in ps and in the shell's history; give - and write it to standard input")
		return args[0], nil
	}
	text, err := readAll(ctx, s)
	if err != nil {
		return "", err
	}
	line, _ := bytes.CutSuffix(text, []byte("\n"))
	line, _ = bytes.CutSuffix(line, []byte("\r"))
	return string(line), nil
}

func readAll(ctx context.Context, s *cli.Session) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(s.Stdin, maxValue+1))
		read <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-read:
		if a.err == nil && len(a.text) > maxValue {
			a.err = failure.New(failure.Usage, "", "the value is longer than %d bytes", maxValue)
		}
		return a.text, a.err
	}
}

// readObject reads {"NAME": VALUE} with a value for each index. Its errors repeat nothing of the input.
func (c criteria) readObject(text []byte) error {
	bad := func(format string, args ...any) error {
		return failure.New(failure.Usage, `several --index take {"NAME": VALUE} on standard input, with each index once`, "standard input: "+format, args...)
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != '{' {
		return bad("not a JSON object")
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return bad("not strict JSON at byte %d", d.InputOffset())
		}
		at := slices.IndexFunc(c, func(one *criterion) bool { return one.index.Name == name.String() })
		if at < 0 {
			return bad("a member at byte %d is none of the indexes", d.InputOffset())
		}
		value, err := d.ReadValue()
		if err != nil {
			return bad("not strict JSON at byte %d", d.InputOffset())
		}
		if err := c[at].readJSON(value); err != nil {
			return bad("%w", err)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return bad("not strict JSON at byte %d", d.InputOffset())
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return bad("something follows the object")
	}
	for _, one := range c {
		if one.search == nil {
			return bad("no value for the index %s", one.index.Name)
		}
	}
	return nil
}

// readJSON takes the value of one index: of a compound index an array with a value for each part.
func (c *criterion) readJSON(value jsontext.Value) error {
	if len(c.index.Parts) > 0 {
		return c.readParts(value)
	}
	asked, err := c.asked(value, c.index.String, c.index.Integer)
	if err != nil {
		return err
	}
	return c.ask(asked)
}

// readParts reads a JSON array. Its errors repeat nothing of it.
func (c *criterion) readParts(text []byte) error {
	bad := func(format string, args ...any) error {
		names := make([]string, len(c.index.Parts))
		for i, part := range c.index.Parts {
			names[i] = part.Pointer
		}
		return failure.New(failure.Usage, "give a JSON array with the values of "+strings.Join(names, ", "), format, args...)
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != '[' {
		return bad("the index %s is a compound index, and the value for it is not a JSON array", c.index.Name)
	}
	var all []blindindex.Asked
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return bad("the value for the index %s is not strict JSON", c.index.Name)
		}
		if len(all) == len(c.index.Parts) {
			return bad("the array for the index %s has more than %d values", c.index.Name, len(all))
		}
		part := c.index.Parts[len(all)]
		asked, err := c.asked(value, part.String, part.Integer)
		if err != nil {
			return err
		}
		all = append(all, asked)
	}
	if _, err := d.ReadToken(); err != nil {
		return bad("the value for the index %s is not strict JSON", c.index.Name)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return bad("something follows the array for the index %s", c.index.Name)
	}
	if len(all) < len(c.index.Parts) {
		return bad("the array for the index %s has %d values, and it has %d parts", c.index.Name, len(all), len(c.index.Parts))
	}
	return c.ask(all...)
}

// asked takes a string as a person writes the value, and a number as what it is.
func (c *criterion) asked(value jsontext.Value, asString, asInteger bool) (blindindex.Asked, error) {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		return blindindex.Asked{Text: string(text), String: asString, Integer: asInteger}, err
	case '0':
		return blindindex.Asked{Text: string(value), Integer: asInteger}, nil
	}
	return blindindex.Asked{}, failure.New(failure.Usage, "", "the value for the index %s is neither a string nor an integer", c.index.Name)
}

// keyrings are those that the indexes need, and with open also those of everything that may be found.
func (c criteria) keyrings(reg *schema.Registry, open bool) []string {
	var names []string
	for _, one := range c {
		names = append(names, one.index.Keyring)
	}
	if open {
		for _, event := range reg.Events() {
			names = append(names, event.Plan().Keyrings()...)
		}
	}
	return names
}

// indexes are those that are searched.
func (c criteria) indexes() []*schema.Index {
	var all []*schema.Index
	for _, one := range c {
		all = append(all, one.index)
	}
	return all
}

// matches are the stored forms to look for, under every usable key.
func (c criteria) matches(rings *keyring.Set) ([]outboxstore.Match, error) {
	var all []outboxstore.Match
	for _, one := range c {
		ring, ok := rings.Keyring(one.index.Keyring)
		if !ok {
			return nil, failure.New(failure.Broken, "give --keyring "+one.index.Keyring+"=URL", "the index %s needs the keyring %s, which is not configured", one.index.Name, one.index.Keyring)
		}
		candidates, err := one.search.Candidates(ring.Usable(keyring.Index))
		if err != nil {
			return nil, err
		}
		all = append(all, outboxstore.Match{Index: one.index.Name, Candidates: candidates})
	}
	return all, nil
}
