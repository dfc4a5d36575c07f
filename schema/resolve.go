package schema

import (
	"fmt"
	"net/url"
	"strings"
)

// resolveURL resolves a reference as RFC 3986 says. A urn has no hierarchy: a reference is appended to it, as the validator does.
func resolveURL(base, ref string) (string, error) {
	if ref == "" {
		return base, nil
	}
	if strings.HasPrefix(ref, "urn:") {
		return ref, nil
	}
	u, err := url.Parse(ref)
	if err != nil {
		return "", err
	}
	if u.IsAbs() {
		return ref, nil
	}
	if strings.HasPrefix(base, "urn:") {
		base, _ = splitURL(base)
		return base + ref, nil
	}
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	return b.ResolveReference(u).String(), nil
}

func splitURL(u string) (base, fragment string) {
	base, fragment, _ = strings.Cut(u, "#")
	return base, fragment
}

// resolve finds the schema that a reference of n (at an offset of its document) names, offline.
func (r *Registry) resolve(n *node, off int, ref string, out *findings) (*node, *Finding) {
	fail := func(rule, message, hint string) (*node, *Finding) {
		f := n.d.finding(off, n.pointer, rule, message, hint)
		return nil, &f
	}
	abs, err := resolveURL(n.base, ref)
	if err != nil {
		return fail("ref-invalid", "the reference is not a URL", "write a file's relative path or its $id, then # and a JSON pointer or an anchor")
	}
	u, fragment := splitURL(abs)
	d, resource := n.d, n.d.resources[u]
	if resource == nil {
		if d = r.byURL[u]; d == nil {
			if draftFor(u) != nil {
				return fail("ref-metaschema", "a reference to a metaschema is not supported", "a metaschema describes schemas: describe the payload in a file of your own")
			}
			return fail("ref-not-found", fmt.Sprintf("no loaded schema file is %s", u), "references are read from the loaded files alone: add the file, or give it this $id")
		}
		resource = d.rootNode
	}
	if d != n.d {
		d.referenced = true
	}
	if fragment == "" || fragment == "/" {
		return resource, nil
	}
	if !strings.HasPrefix(fragment, "/") {
		if t := d.anchors[anchorKey{resource.base, fragment}]; t != nil {
			return t, nil
		}
		return fail("ref-not-found", fmt.Sprintf("there is no anchor %q in %s", fragment, d.file), "correct the anchor, or write a JSON pointer: # and /")
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return fail("ref-invalid", "the reference's fragment is not a JSON pointer", "in a pointer / is written ~1, ~ is written ~0, and % is written %25")
	}
	if strings.Count(pointer, "/") != strings.Count(fragment, "/") || strings.Count(pointer, "~") != strings.Count(fragment, "~") {
		return fail("ref-invalid", "the reference percent-encodes a slash or a tilde, which readers of JSON pointers take in two ways", "write ~1 and ~0")
	}
	tokens, _ := splitPointer(pointer)
	canonical := ""
	for _, t := range tokens {
		canonical = child(canonical, t)
	}
	if canonical != pointer {
		return fail("ref-invalid", "the reference's fragment is not a JSON pointer: a tilde is written ~0", "in a pointer / is written ~1, ~ is written ~0, and % is written %25")
	}
	pointer = resource.pointer + pointer
	if t := d.nodes[pointer]; t != nil {
		return t, nil
	}
	tokens, _ = splitPointer(pointer)
	v := d.root.lookup(tokens)
	if v == nil || !isSchemaKind(v) {
		return fail("ref-not-found", fmt.Sprintf("there is no schema at %s in %s", pointer, d.file), "correct the pointer, or add the schema there")
	}
	// A place that no keyword of the draft makes a schema, such as #/components/schemas/X: it becomes one by being referred to. Flags
	// there were refused when the document was read.
	b := builder{d: d, out: out, seq: &r.seq, late: true, spell: speller{}}
	return b.node(v, pointer, d.enclosingBase(pointer), false), nil
}

// enclosingBase is the resource URL in force at a pointer that no node stands at: that of the nearest node above.
func (d *document) enclosingBase(pointer string) string {
	for pointer != "" {
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		if n := d.nodes[pointer]; n != nil {
			return n.base
		}
	}
	return d.id
}
