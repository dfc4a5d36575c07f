package main

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

// backend is where a test's keyrings and outboxes are.
type backend struct {
	// names are the URLs that scripts use:
	//
	//	KEYRING, ANOTHER, NOKEYRING  the project's keyring, a place for a further one, and one where there is none
	//	OUTBOX, SECOND, THIRD        the project's outbox and two more
	//	OTHER                        another table beside the project's
	//	MISSING                      an outbox whose database does not exist
	//
	// and with _SHOWN what the program prints of an outbox. On servers also KV and TRANSIT, the mounts, and PASSWORD, the database's.
	names map[string]string
	// env is what a process needs beside the settings: the logins.
	env map[string]string
	// secrets stand in no standard error.
	secrets []string
	// lose takes the project's keyring away, on servers.
	lose func()
}

func (b *backend) inFiles() bool { return len(b.env) == 0 }

// inFiles has everything in files of the working directory.
func inFiles(testing.TB) *backend {
	return &backend{
		names: map[string]string{
			"KEYRING": "file:keyring.json", "ANOTHER": "file:another.json", "NOKEYRING": "file:missing.json",
			"OUTBOX": "sqlite:outbox.db", "SECOND": "sqlite:second.db", "THIRD": "sqlite:third.db", "OTHER": "sqlite:outbox.db?table=other", "MISSING": "sqlite:missing.db",
			"OUTBOX_SHOWN": "sqlite:outbox.db", "SECOND_SHOWN": "sqlite:second.db", "THIRD_SHOWN": "sqlite:third.db",
		},
		secrets: []string{passphrase},
	}
}

// onServers has keyrings in a Vault and outboxes in a Postgres: mounts and a database of the test's own.
func onServers(t testing.TB) *backend {
	return serverBackend(t, testenv.Vault(t), testenv.Postgres(t))
}

func serverBackend(t testing.TB, vault *testenv.VaultServer, database string) *backend {
	t.Helper()
	vault.NewKey("another", testenv.Body{})
	vault.NewKey("unused", testenv.Body{})
	in := func(path, key string) string {
		return "vault://" + vault.KV + "/" + path + "?transit=" + vault.Transit + "/" + key
	}
	db, err := url.Parse(database)
	if err != nil {
		t.Fatal("the test's database has no URL") // not the error: it repeats the password
	}
	password, _ := db.User.Password()
	b := &backend{
		names: map[string]string{
			"KEYRING": in("team/default", vault.Key), "ANOTHER": in("another", "another"), "NOKEYRING": in("missing", "unused"),
			"OUTBOX": database, "SECOND": withTable(*db, "second"), "THIRD": withTable(*db, "third"), "OTHER": withTable(*db, "other"),
			"KV": vault.KV, "TRANSIT": vault.Transit, "PASSWORD": password,
		},
		env:     map[string]string{"VAULT_ADDR": vault.Address, "VAULT_TOKEN": vault.RootToken},
		secrets: []string{password, vault.RootToken},
	}
	b.lose = func() { vault.Must(http.MethodDelete, vault.KV+"/data/team/default", nil) }
	missing := *db
	missing.Path = "/no_such_database"
	b.names["MISSING"] = missing.String()
	shown := url.URL{Scheme: db.Scheme, User: url.User(db.User.Username()), Host: db.Host, Path: db.Path}
	b.names["OUTBOX_SHOWN"], b.names["SECOND_SHOWN"], b.names["THIRD_SHOWN"] = shown.String(), shown.String()+"?table=second", shown.String()+"?table=third"
	return b
}

func withTable(db url.URL, table string) string {
	query := db.Query()
	query.Set("table", table)
	db.RawQuery = query.Encode()
	return db.String()
}

const passphrase = "correct horse battery staple"

// writeProject writes settings and a schema into a directory; the keyring is made by itself.
func (b *backend) writeProject(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "schemas"), 0o755); err != nil {
		return err
	}
	files := map[string]string{
		"fieldcrypt.yaml":                "schemas: schemas\nkeyring: " + b.names["KEYRING"] + "\noutbox: " + b.names["OUTBOX"] + "\naudit_log: " + filepath.Join(dir, "audit.ndjson") + "\n",
		"schemas/invoice.issued.v1.json": personSchema,
	}
	if b.inFiles() {
		files["fieldcrypt.yaml"] += "passphrase_file: passphrase\n"
		files["passphrase"] = passphrase + "\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// createFileKeyring makes a file keyring whose passphrase costs next to nothing to try. A propagation of 0 is the default.
func createFileKeyring(path, name string, propagation time.Duration) error {
	file, err := filekeyring.New(path, filekeyring.Options{
		Argon2id:   filekeyring.Argon2id{Time: 1, MemoryKiB: 8, Threads: 1},
		Passphrase: filekeyring.Passphrase([]byte(passphrase)),
	})
	if err != nil {
		return err
	}
	manager, err := keyring.NewManager(name, file, file, keyring.ManagerOptions{Actor: "test"})
	if err != nil {
		return err
	}
	_, err = manager.Create(context.Background(), keyring.CreateOptions{Propagation: propagation})
	return err
}

// personSchema is what most scripts work with.
const personSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["number", "customer"],
  "properties": {
    "number": {"type": "integer"},
    "note": {"type": "string"},
    "customer": {
      "type": "object",
      "required": ["name"],
      "properties": {
        "name": {"type": "string", "maxLength": 40, "x-gdpr-sensitive": true},
        "email": {"type": ["string", "null"], "format": "email", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["trim", "casefold"]}},
        "tax_id": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["digits"], "bits": 8}},
        "points": {"type": "integer", "x-gdpr-sensitive": true, "x-blind-index": true},
        "address": {"type": "object", "x-gdpr-sensitive": true, "properties": {"street": {"type": "string"}}}
      }
    }
  }
}
`
