package schema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Registry holds the loaded schemas. It is immutable and safe for concurrent use.
type Registry struct {
	docs     []*document
	byURL    map[string]*document // by where a document came from and by its $id
	events   []*EventSchema
	byType   map[string]map[int]*EventSchema
	indexes  []*Index
	findings []Finding
	seq      int
}

// source is one file to load.
type source struct {
	file string // for people
	url  string
	read func() ([]byte, error)
}

// Load reads schema files and directories, which are walked for files ending in .json (those in directories that start with a dot
// excepted). Schemas refer to each other by relative path or by $id; nothing is ever fetched.
//
// A set of schemas that does not keep the rules of docs/vocabulary.md is a *LoadError; a path that cannot be read is an *fs.PathError.
func Load(paths ...string) (*Registry, error) {
	var sources []source
	for _, p := range paths {
		if target, err := filepath.EvalSymlinks(p); err == nil && target != filepath.Clean(p) {
			if info, err := os.Stat(p); err == nil && info.IsDir() {
				p += string(filepath.Separator) // WalkDir does not follow a link, unless it ends like a directory
			}
		}
		err := filepath.WalkDir(p, func(file string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				if file != p && strings.HasPrefix(e.Name(), ".") {
					return fs.SkipDir
				}
				return nil
			}
			if file != p && !strings.HasSuffix(file, ".json") {
				return nil
			}
			abs, err := filepath.Abs(file)
			if err != nil {
				return err
			}
			sources = append(sources, source{file: file, url: fileURL(abs), read: func() ([]byte, error) { return readFile(os.DirFS(filepath.Dir(abs)), filepath.Base(abs)) }})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return load(sources)
}

// LoadFS reads every file ending in .json of each file system, such as an embed.FS. See Load.
func LoadFS(fsys ...fs.FS) (*Registry, error) {
	var sources []source
	for i, f := range fsys {
		err := fs.WalkDir(f, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				if name != "." && strings.HasPrefix(e.Name(), ".") {
					return fs.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(name, ".json") {
				return nil
			}
			u := url.URL{Scheme: "fs", Host: fmt.Sprint(i), Path: "/" + name}
			sources = append(sources, source{file: name, url: u.String(), read: func() ([]byte, error) { return readFile(f, name) }})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return load(sources)
}

func fileURL(abs string) string {
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	u := url.URL{Scheme: "file", Path: p}
	return u.String()
}

var errTooLarge = errors.New("file too large")

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxDocumentBytes {
		return nil, errTooLarge
	}
	b, err := io.ReadAll(io.LimitReader(f, maxDocumentBytes+1))
	if err == nil && len(b) > maxDocumentBytes {
		err = errTooLarge
	}
	return b, err
}

func load(sources []source) (*Registry, error) {
	r := &Registry{byURL: map[string]*document{}, byType: map[string]map[int]*EventSchema{}}
	var refused findings
	// The order in which files are named must not show in a plan.
	slices.SortStableFunc(sources, func(a, b source) int { return cmp.Compare(a.url, b.url) })
	read := map[string]bool{}
	for _, s := range sources {
		if read[s.url] {
			continue // the same file, named twice
		}
		read[s.url] = true
		src, err := s.read()
		if errors.Is(err, errTooLarge) {
			refused.add(Finding{File: s.file, Rule: "file-too-large", Message: fmt.Sprintf("the file has more than %d bytes", maxDocumentBytes), Hint: "split the schema"})
			continue
		}
		if err != nil {
			return nil, err
		}
		d, f := parseDocument(s.file, s.url, src)
		if f != nil {
			refused.add(*f)
			continue
		}
		r.addDocument(d, &refused)
	}
	if err := refused.err(); err != nil {
		return nil, err
	}
	r.checkResources(&refused)
	if err := refused.err(); err != nil {
		return nil, err
	}
	r.compile(&refused)
	if err := refused.err(); err != nil {
		return nil, err
	}
	r.lint()
	return r, nil
}

// checkResources refuses an embedded resource whose URL is another file's, or another's embedded resource's: a reference would mean both.
func (r *Registry) checkResources(refused *findings) {
	owner := map[string]*document{}
	for _, d := range r.docs {
		for u, n := range d.resources {
			other := owner[u]
			if of := r.byURL[u]; other == nil && of != nil && n != of.rootNode {
				other = of
			}
			if other != nil {
				refused.add(n.finding("id-duplicate", fmt.Sprintf("%s has the same id", other.file), "ids are unique"))
			}
			owner[u] = d
		}
	}
}

// addDocument reads one document's schemas, words, ids and event type.
func (r *Registry) addDocument(d *document, refused *findings) {
	if !isSchema(d.root) {
		refused.add(d.finding(d.root.start, "", "not-a-schema", "the file is JSON but no JSON Schema", "keep other files out of the schema directory"))
		return
	}
	b := builder{d: d, out: refused, seq: &r.seq, spell: speller{}}
	b.build()
	if n := len(d.nodes); n > maxSubschemas && d.draft.number >= 2020 {
		refused.add(d.finding(d.root.start, "", "file-too-large", fmt.Sprintf("the file has %d subschemas, more than %d", n, maxSubschemas), "split the schema: the validator of 2020-12 compares each subschema of a file with each"))
	}
	if other := r.byURL[d.url]; other != nil {
		refused.add(other.finding(other.root.start, "/"+other.draft.id, "id-duplicate", fmt.Sprintf("the id is where %s stands", d.file), "ids are unique"))
	}
	r.byURL[d.url] = d
	if d.id != d.url {
		if other := r.byURL[d.id]; other != nil {
			refused.add(d.finding(d.root.start, "/"+d.draft.id, "id-duplicate", fmt.Sprintf("%s has the same id", other.file), "ids are unique"))
		}
		r.byURL[d.id] = d
	}
	r.docs = append(r.docs, d)
	r.identify(d, refused)
}

// isSchema tells a schema from other JSON: a boolean, or an object with at least one keyword.
func isSchema(v *value) bool {
	if v.kind == 't' || v.kind == 'f' {
		return true
	}
	if v.kind != '{' {
		return false
	}
	for _, m := range v.members {
		switch m.name {
		case "$schema", "$id", "$ref", "$defs", "definitions", "$dynamicRef", "$recursiveRef", "$anchor":
			return true
		}
		if isAssertion(m.name) || isWord(m.name) || newDraft("", 7).subschemas[m.name] != 0 || newDraft("", 2020).subschemas[m.name] != 0 {
			return true
		}
		if _, bad := misspelling(m.name); bad {
			return true
		}
	}
	return len(v.members) == 0
}

var eventFile = regexp.MustCompile(`^(.+)\.v([1-9][0-9]{0,9})(?:\.schema)?\.json$`)

// identify finds out whether the document is an event's schema: by its words, else by its file's name.
func (r *Registry) identify(d *document, refused *findings) {
	name := path.Base(filepath.ToSlash(d.file))
	typ, version := "", 0
	if m := eventFile.FindStringSubmatch(name); m != nil {
		if v, ok := parseVersion(m[2]); ok && validType(m[1]) {
			typ, version = m[1], v
		}
	}
	wt, wv := d.root.member(wordEventType), d.root.member(wordEventVersion)
	if wt != nil && wt.kind == '"' {
		typ = wt.str
	}
	if wv != nil {
		if v, ok := parseVersion(d.text(wv)); ok {
			version = v
		}
	}
	switch {
	case typ == "" && wv != nil:
		refused.add(d.finding(wv.start, "/"+wordEventVersion, "event-type-missing", "the schema has a version and no event type", "add x-event-type, or name the file TYPE.vN.json"))
	case typ != "" && version == 0:
		refused.add(d.finding(d.root.start, "/"+wordEventType, "event-version-missing", "the schema has an event type and no version", "add x-event-version, or name the file TYPE.vN.json"))
	case typ != "":
		if other := r.byType[typ][version]; other != nil {
			refused.add(d.finding(d.root.start, "", "event-duplicate", fmt.Sprintf("%s claims version %d of %s too", other.File(), version, typ), "one file for each type and version"))
			return
		}
		d.eventType, d.eventVersion = typ, version
		e := &EventSchema{typ: typ, version: version, doc: d, reg: r}
		if r.byType[typ] == nil {
			r.byType[typ] = map[int]*EventSchema{}
		}
		r.byType[typ][version] = e
		r.events = append(r.events, e)
	case d.root.member(wordOverlay) != nil:
		m := d.root.member(wordOverlay)
		refused.add(d.finding(m.start, "/"+wordOverlay, "word-misplaced", "an overlay may stand in an event's schema alone", "name the file TYPE.vN.json, or add x-event-type and x-event-version"))
	case d.root.member(wordCompound) != nil:
		m := d.root.member(wordCompound)
		refused.add(d.finding(m.start, "/"+wordCompound, "word-misplaced", "compound indexes may stand in an event's schema alone", "name the file TYPE.vN.json, or add x-event-type and x-event-version"))
	}
}

// compile makes validator and Plan of each event schema.
func (r *Registry) compile(refused *findings) {
	slices.SortFunc(r.events, func(a, b *EventSchema) int {
		return cmp.Or(cmp.Compare(a.typ, b.typ), cmp.Compare(a.version, b.version))
	})
	compiler := r.newCompiler()
	for _, e := range r.events {
		var own findings
		p := newPlan(r, e, &own)
		if len(own.list) == 0 {
			compiled, err := compileSchema(compiler, e.doc.id)
			if err != nil {
				own.add(r.compileFinding(e, err))
				compiler = r.newCompiler() // after an error this library's compiler may give half-built schemas
			} else {
				p.crossCheck(compiled, &own)
				p.prepare(&own)
				e.plan = p
				e.validator = r.newValidator(e, compiled)
			}
		}
		for _, f := range own.list {
			refused.add(f)
		}
	}
	if len(refused.list) == 0 {
		r.checkFlags(refused)
		r.collectIndexes(refused)
	}
}

func (r *Registry) newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	for name, check := range formats() {
		c.Formats[name] = check
	}
	c.LoadURL = func(u string) (io.ReadCloser, error) {
		d := r.byURL[u]
		if d == nil {
			return nil, &missingError{url: u}
		}
		return io.NopCloser(bytes.NewReader(d.src)), nil
	}
	return c
}

// newValidator wraps a compiled schema; where payloads could multiply its work, with a meter.
func (r *Registry) newValidator(e *EventSchema, compiled *jsonschema.Schema) *validator {
	if !e.plan.multiplies() {
		return &validator{plain: compiled}
	}
	return r.newMetered(e, compiled)
}

// newMetered wraps a compiled schema with a meter.
func (r *Registry) newMetered(e *EventSchema, compiled *jsonschema.Schema) *validator {
	v := &validator{plain: compiled}
	v.metered = make(chan *metered, runtime.GOMAXPROCS(0))
	v.slots = make(chan struct{}, cap(v.metered))
	v.compile = func() (*metered, error) {
		m := &metered{meter: &meter{}}
		c := r.newCompiler()
		c.RegisterExtension("work", nil, m.meter)
		var err error
		if m.schema, err = compileSchema(c, e.doc.id); err == nil {
			clearContent(m.schema)
		}
		return m, err
	}
	return v
}

type missingError struct{ url string }

func (e *missingError) Error() string { return "no loaded schema file is " + e.url }

// compileSchema compiles, and turns a panic of the library into an error.
func compileSchema(c *jsonschema.Compiler, u string) (s *jsonschema.Schema, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, errors.New("the validator cannot compile the schema")
		}
	}()
	return c.Compile(u)
}

// compileFinding places the validator's compile error.
func (r *Registry) compileFinding(e *EventSchema, err error) Finding {
	f := e.doc.finding(e.doc.root.start, "", "schema-invalid", "", "")
	var invalid *jsonschema.ValidationError
	var loop jsonschema.InfiniteLoopError
	switch {
	case errors.As(err, &invalid):
		leaf := invalid
		for len(leaf.Causes) > 0 {
			leaf = leaf.Causes[0]
		}
		d := e.doc
		var se *jsonschema.SchemaError
		if errors.As(err, &se) && r.byURL[se.SchemaURL] != nil {
			d = r.byURL[se.SchemaURL]
		}
		tokens := instanceTokens(leaf.InstanceLocation)
		pointer := ""
		for _, t := range tokens {
			pointer = child(pointer, t)
		}
		if v := d.root.lookup(tokens); v != nil {
			f = d.finding(v.start, pointer, "schema-invalid", "", "")
		}
		f.Message = "not a valid schema: " + leaf.Message
		f.Hint = "see the metaschema of " + d.draft.name
	case errors.As(err, &loop):
		f.Rule, f.Message, f.Hint = "ref-loop", "references form a loop that never reaches a schema", "let one of them lead to a schema that says something"
	default:
		f.Message = "the schema does not compile: " + strings.TrimPrefix(err.Error(), "jsonschema: ")
		f.Hint = "see the specification of " + e.doc.draft.name + "; patterns are RE2: no lookaround, no backreference"
	}
	return f
}

// Event returns the schema of an event type at a version, or an *UnknownEventError.
func (r *Registry) Event(typ string, version int) (*EventSchema, error) {
	if e := r.byType[typ][version]; e != nil {
		return e, nil
	}
	err := &UnknownEventError{Type: typ, Version: version}
	for v := range r.byType[typ] {
		err.Versions = append(err.Versions, v)
	}
	slices.Sort(err.Versions)
	return nil, err
}

// Events returns all event schemas, sorted by type and version.
func (r *Registry) Events() []*EventSchema { return slices.Clone(r.events) }

// Indexes returns every blind index of the registry, sorted by name.
func (r *Registry) Indexes() []*Index { return slices.Clone(r.indexes) }

// Findings returns what loading noticed without refusing it, in a stable order: what a linter reports.
func (r *Registry) Findings() []Finding { return slices.Clone(r.findings) }

// EventSchema is one event type's schema at one version. It is immutable and safe for concurrent use.
type EventSchema struct {
	typ       string
	version   int
	doc       *document
	reg       *Registry
	validator *validator
	plan      *Plan
	wire      wireForm

	accepting sync.Once
	accepter  *accepter
}

// Type returns the event type.
func (e *EventSchema) Type() string { return e.typ }

// Version returns the version of the event type, from 1.
func (e *EventSchema) Version() int { return e.version }

// File returns the schema's file as it was loaded.
func (e *EventSchema) File() string { return e.doc.file }

// Plan returns the sensitivity plan.
func (e *EventSchema) Plan() *Plan { return e.plan }
