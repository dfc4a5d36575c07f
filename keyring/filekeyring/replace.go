package filekeyring

import (
	"os"
	"path/filepath"
	"strings"
)

const tempSuffix = ".tmp"

// replaceFile puts a whole new file in the place of path, or leaves what is
// there. The caller holds the writers' lock.
func replaceFile(path string, content []byte, own owner) (err error) {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	removeLeftovers(dir, prefix)
	// CreateTemp makes it with mode 0600.
	temp, err := os.CreateTemp(dir, prefix+"*"+tempSuffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
		}
	}()
	if err := temp.Chmod(fileMode); err != nil {
		return err
	}
	if err := own.give(temp.Name()); err != nil {
		return err
	}
	if _, err := temp.Write(content); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return renameDurably(temp.Name(), path, dir)
}

// removeLeftovers removes the temporary files of writers that were killed. The
// lock says that none is alive.
func removeLeftovers(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the directory may be writable and not readable
	}
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), prefix)
		name, temp := strings.CutSuffix(name, tempSuffix)
		// Digits alone: what stands there for a file beside, such as keyring.new for keyring, has a lock of its own.
		if ours && temp && strings.Trim(name, "0123456789") == "" && e.Type().IsRegular() {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
