package share

import "fmt"

// Kind is a kind of server.
type Kind string

const (
	// Postgres is a private Postgres cluster.
	Postgres Kind = "postgres"
	// Vault is a real Vault server.
	Vault Kind = "vault"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Postgres, Vault} }

// ParseKind reads a kind's name.
func ParseKind(name string) (Kind, error) {
	for _, k := range Kinds() {
		if string(k) == name {
			return k, nil
		}
	}
	return "", fmt.Errorf("no kind of server %q: want one of %v", name, Kinds())
}
