package share

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	// lockEvery is how often a lock that another process holds is tried.
	lockEvery = 50 * time.Millisecond
	// pollEvery is how often a starting supervisor is looked at.
	pollEvery = 20 * time.Millisecond
)

// Place is the directory in which the processes of a checkout meet.
type Place struct {
	dir string
}

// NewPlace makes the directory if it is not there.
func NewPlace(dir string) (Place, error) {
	return Place{dir: dir}, os.MkdirAll(dir, 0o700)
}

func (p Place) path(k Kind, suffix string) string {
	return filepath.Join(p.dir, string(k)+"."+suffix)
}

func (p Place) lock(k Kind, suffix string) *flock.Flock {
	return flock.New(p.path(k, suffix), flock.SetPermissions(0o600))
}

// Access is how a server is reached.
type Access struct {
	// PID is the supervisor's.
	PID int `json:"pid"`
	// Dirs hold the server's files; a new supervisor removes those of one that
	// was killed.
	Dirs []string `json:"dirs"`
	// URL is a Postgres superuser's.
	URL string `json:"url,omitempty"`
	// Address and RootToken are a Vault server's.
	Address   string `json:"address,omitempty"`
	RootToken string `json:"root_token,omitempty"`
}

func (p Place) read(k Kind) (a Access, err error) {
	text, err := os.ReadFile(p.path(k, "json"))
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

// write replaces the file whole, for who reads it in the middle.
func (p Place) write(k Kind, a Access) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	part := p.path(k, "json.part")
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, p.path(k, "json"))
}

// alive says whether the supervisor of a kind lives.
func (p Place) alive(k Kind) (bool, error) {
	lock := p.lock(k, "alive")
	defer lock.Close()
	free, err := lock.TryRLock()
	return !free && err == nil, err
}
