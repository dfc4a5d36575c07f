package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

const moduleLine = "module github.com/fieldcrypt/fieldcrypt\n"

// Repository returns the root of the repository that the working directory is
// in: the nearest one above whose go.mod is that of the main module.
func Repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte(moduleLine)) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the working directory is not within fieldcrypt's repository")
		}
		dir = parent
	}
}

// cached returns a path below the repository's .cache, which git ignores.
func cached(root string, elements ...string) string {
	return filepath.Join(append([]string{root, ".cache"}, elements...)...)
}

// SharedDir is where the test processes of a checkout meet.
func SharedDir(root string) string { return cached(root, "testenv") }
