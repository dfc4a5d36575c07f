package outboxstore

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Migration is one numbered step of a dialect's own tables.
type Migration struct {
	Version    int
	Statements []string
}

// Migrations reads a dialect's embedded files NNNN_name.sql: forward only, never changed once released, numbered from 1
// without a gap. Statements are separated by blank lines; names is put in for {{table}} and what else the dialect uses.
func Migrations(files fs.FS, pattern string, names *strings.Replacer) ([]Migration, error) {
	found, err := fs.Glob(files, pattern) // sorted
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, file := range found {
		number, _, _ := strings.Cut(path.Base(file), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != len(all)+1 {
			return nil, fmt.Errorf("embedded migration %s is out of order", file)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		m := Migration{Version: version}
		for _, statement := range strings.Split(string(text), "\n\n") {
			m.Statements = append(m.Statements, strings.TrimSpace(names.Replace(statement)))
		}
		all = append(all, m)
	}
	return all, nil
}
