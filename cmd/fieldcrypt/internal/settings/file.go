package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// file is what fieldcrypt.yaml says, with its paths made relative to the working directory.
type file struct {
	path           string
	schemas        []string
	keyrings       []string // [NAME=]URL
	outboxes       []string
	passphraseFile string
	auditLog       string
	output         string
	lintIgnores    []LintIgnore
}

// findFile looks for the settings file upwards from the working directory wd; the path that it returns is relative to wd.
func findFile(wd string) (string, error) {
	up := ""
	for dir := wd; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(filepath.Join(dir, FileName))
		switch {
		case err == nil && info.Mode().IsRegular():
			return filepath.Join(up, FileName), nil
		case err == nil:
			return "", fmt.Errorf("%s is not a regular file", filepath.Join(up, FileName))
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
		up = filepath.Join("..", up)
	}
}

// readFile reads the settings file. It decodes by hand from YAML's nodes, since the decoder's errors repeat values, and a URL may hold a password.
func readFile(wd, path string) (*file, error) {
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(wd, path)
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return nil, err
	}
	f := &file{path: path}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return f, nil // empty, or comments alone
	case err != nil:
		return nil, failure.New(failure.Broken, "", "%s is not YAML: %w", path, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, failure.New(failure.Broken, "", "%s holds more than one YAML document", path)
	}
	if err := f.read(doc.Content[0]); err != nil {
		return nil, failure.New(failure.Broken, "it may hold schemas, keyring, outbox, passphrase_file, audit_log, output and lint: see `fieldcrypt help settings`", "%s:%w", path, err)
	}
	return f, nil
}

func (f *file) read(root *yaml.Node) error {
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return at(root, "", "must be a map of settings")
	}
	dir := filepath.Dir(f.path)
	var seen []string
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if slices.Contains(seen, key.Value) {
			return at(key, key.Value, "is there twice")
		}
		seen = append(seen, key.Value)
		var err error
		switch key.Value {
		case "schemas":
			f.schemas, err = list(key.Value, value)
			for i := range f.schemas {
				f.schemas[i] = join(dir, f.schemas[i])
			}
		case "keyring":
			f.keyrings, err = keyringMap(dir, value)
		case "outbox":
			f.outboxes, err = list(key.Value, value)
			for i := range f.outboxes {
				f.outboxes[i] = rebase(dir, f.outboxes[i])
			}
		case "passphrase_file":
			f.passphraseFile, err = text(key.Value, value)
			f.passphraseFile = join(dir, f.passphraseFile)
		case "audit_log":
			f.auditLog, err = text(key.Value, value)
			f.auditLog = join(dir, f.auditLog)
		case "output":
			f.output, err = text(key.Value, value)
		case "lint":
			f.lintIgnores, err = lint(value)
		default:
			err = at(key, key.Value, "is no setting")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func at(n *yaml.Node, key, what string) error {
	if key != "" {
		what = key + " " + what
	}
	return fmt.Errorf("%d:%d: %s", n.Line, n.Column, what)
}

func text(key string, n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "" {
		return "", at(n, key, "must be a string")
	}
	return n.Value, nil
}

// list reads one string or a list of strings.
func list(key string, n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		one, err := text(key, n)
		return []string{one}, err
	}
	var all []string
	for _, item := range n.Content {
		one, err := text(key, item)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// keyringMap reads a map of names to URLs, or one URL for the default keyring.
func keyringMap(dir string, n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.MappingNode {
		url, err := text("keyring", n)
		return []string{DefaultKeyring + "=" + rebase(dir, url)}, err
	}
	var all []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if !keyringName.MatchString(name) {
			return nil, at(n.Content[i], "keyring", fmt.Sprintf("%q is no name of a keyring: it must match %s", name, keyringName))
		}
		url, err := text("keyring."+name, n.Content[i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, name+"="+rebase(dir, url))
	}
	return all, nil
}

// lint reads lint.ignore, a list of maps.
func lint(n *yaml.Node) ([]LintIgnore, error) {
	if n.Kind != yaml.MappingNode {
		return nil, at(n, "lint", "must be a map")
	}
	var all []LintIgnore
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value != "ignore" {
			return nil, at(key, "lint."+key.Value, "is no setting")
		}
		if value.Kind != yaml.SequenceNode {
			return nil, at(value, "lint.ignore", "must be a list")
		}
		for _, item := range value.Content {
			one, err := lintIgnore(item)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	return all, nil
}

func lintIgnore(n *yaml.Node) (one LintIgnore, err error) {
	if n.Kind != yaml.MappingNode {
		return one, at(n, "lint.ignore", "must hold maps of rule, file, location and reason")
	}
	fields := map[string]*string{"rule": &one.Rule, "file": &one.File, "location": &one.Location, "reason": &one.Reason}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, ok := fields[key.Value]
		if !ok {
			return one, at(key, "lint.ignore", fmt.Sprintf("knows no %q", key.Value))
		}
		if *field, err = text("lint.ignore."+key.Value, value); err != nil {
			return one, err
		}
	}
	return one, nil
}
