package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// databases are those that the example is tested on.
var databases = map[string]func(*testing.T) string{
	"postgres": func(t *testing.T) string { return testenv.Postgres(t) },
	"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "shop.db") },
}

// shop is a table of its own with keys that a test can change.
type shop struct {
	*customers
	t    *testing.T
	keys *keyringtest.Ring
	url  string
}

func eachDatabase(t *testing.T, test func(*shop)) {
	for name, url := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{t: t, keys: keyringtest.NewRing(t, keyringtest.Options{}), url: url(t)}
			s.customers = s.process(s.keys.Keyring)
			if err := s.create(t.Context()); err != nil {
				t.Fatal(err)
			}
			test(s)
		})
	}
}

// process is the program as another process would run it.
func (s *shop) process(ring *keyring.Keyring) *customers {
	s.t.Helper()
	registry, err := schema.LoadFS(schemas)
	if err != nil {
		s.t.Fatal(err)
	}
	db, dialect, err := open(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			s.t.Error(err)
		}
	})
	c, err := newCustomers(db, dialect, registry, ring)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *shop) add(name, taxID string) string {
	s.t.Helper()
	id, err := s.insert(s.t.Context(), customer{City: "Ankara", Name: name, TaxID: &taxID})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *shop) expectFound(taxID string, want ...string) {
	s.t.Helper()
	found, err := s.find(s.t.Context(), taxID)
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, r := range found {
		names = append(names, r.Name)
	}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		s.t.Errorf("found %v, want %v", names, want)
	}
}

// text is everything that the table holds.
func (s *shop) text() string {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT id, city, sealed, bidx_tax_id FROM customers")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var id, city, sealed string
		var index []byte
		if err := rows.Scan(&id, &city, &sealed, &index); err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %s %q\n", id, city, sealed, index)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

func TestACustomerIsFoundByTaxID(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(s *shop) {
		s.add("Ada Lovelace", "TR 111-222")
		s.add("Grace Hopper", "TR 333-444")
		if _, err := s.insert(t.Context(), customer{City: "Bursa", Name: "Nobody"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.insert(t.Context(), customer{City: "Bursa", Name: "Nobody else"}); err != nil {
			t.Error("two customers without a tax id:", err)
		}
		s.expectFound("tr111222", "Ada Lovelace")
		s.expectFound("TR 333 444", "Grace Hopper")
		s.expectFound("111222")
		s.expectFound("")
		for _, secret := range []string{"Ada", "Lovelace", "111", "tr111222", "333"} {
			if text := s.text(); strings.Contains(strings.ReplaceAll(text, "Ankara", ""), secret+" ") || strings.Contains(text, "Lovelace") {
				s.t.Errorf("%s stands in the table:\n%s", secret, text)
			}
		}
	})
}

func TestAnErasedTaxIDLeavesNoIndex(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(s *shop) {
		id := s.add("Ada Lovelace", "TR 111-222")
		s.add("Grace Hopper", "TR 333-444")
		if err := s.forgetTaxID(s.t.Context(), id); err != nil {
			s.t.Fatal(err)
		}
		s.expectFound("TR 111-222")
		var hashes int
		if err := s.db.QueryRow("SELECT count(bidx_tax_id) FROM customers").Scan(&hashes); err != nil || hashes != 1 {
			s.t.Errorf("%d hashes, error %v", hashes, err)
		}
		s.add("Another Ada", "TR 111-222") // it is free again
		s.expectFound("TR 111-222", "Another Ada")
		if err := s.forgetTaxID(s.t.Context(), "no such id"); err == nil {
			s.t.Error("a row that is not there was changed")
		}
	})
}

func TestATaxIDIsUniqueBeforeDuringAndAfterARotation(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(s *shop) {
		ctx := s.t.Context()
		taken := func(when, taxID string) {
			s.t.Helper()
			if _, err := s.insert(ctx, customer{City: "x", Name: "Twin", TaxID: &taxID}); !errors.Is(err, ErrTaken) {
				s.t.Errorf("%s: %v", when, err)
			}
		}
		s.add("Ada", "TR 1")
		taken("before", "tr-1")
		s.keys.Stage(keyring.Index)
		s.keys.Refresh()
		var rotating *blindindex.NotUniqueError
		if err := s.taxID.CheckUnique(); !errors.As(err, &rotating) {
			s.t.Errorf("a rotation that is under way is not said: %v", err)
		}
		taken("staged", "tr1")
		former, err := s.keys.Keyring.Primary(keyring.Index)
		if err != nil {
			s.t.Fatal(err)
		}
		s.keys.Promote(keyring.Index)
		s.keys.Refresh()
		taken("promoted", "TR1") // under the new key it has another form: the constraint alone would take it
		s.add("Grace", "TR 2")
		s.expectFound("TR 1", "Ada")
		s.expectFound("TR 2", "Grace")
		if changed, err := s.reseal(ctx); err != nil || changed == 0 {
			s.t.Fatalf("%d rows resealed, error %v", changed, err)
		}
		s.keys.SetState(keyring.Index, former.ID(), keyring.Disabled)
		s.keys.Refresh()
		if err := s.taxID.CheckUnique(); err != nil {
			s.t.Errorf("after the rotation: %v", err)
		}
		taken("after", "TR 1")
		s.expectFound("TR 1", "Ada")
	})
}

// Several processes insert one tax id in the middle of a rotation: one of them does.
func TestOneOfManyInsertsATaxIDDuringARotation(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(s *shop) {
		s.keys.Stage(keyring.Index)
		s.keys.Refresh()
		taxID := "TR 1"
		var wg sync.WaitGroup
		var mu sync.Mutex
		inserted := 0
		for range 6 {
			other := s.process(s.keys.Open())
			wg.Go(func() {
				_, err := other.insert(s.t.Context(), customer{City: "x", Name: "Ada", TaxID: &taxID})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					inserted++
				} else if !errors.Is(err, ErrTaken) {
					s.t.Error(err)
				}
			})
		}
		s.keys.Promote(keyring.Index) // some see it, some do not
		s.keys.Refresh()
		wg.Wait()
		if inserted != 1 {
			s.t.Errorf("inserted %d times", inserted)
		}
		s.expectFound(taxID, "Ada")
	})
}

// A sealed value that is moved to another row does not open.
func TestARowKeepsItsValue(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(s *shop) {
		a, b := s.add("Ada", "TR 1"), s.add("Grace", "TR 2")
		if _, err := s.db.Exec("UPDATE customers SET sealed = (SELECT sealed FROM customers WHERE id = $1) WHERE id = $2", a, b); err != nil {
			s.t.Fatal(err)
		}
		if found, err := s.find(s.t.Context(), "TR 2"); err == nil {
			s.t.Errorf("found %v", found)
		}
	})
}

func TestTheProgram(t *testing.T) {
	t.Parallel()
	for name, url := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := map[string]string{
				"CUSTOMERS_DATABASE":         url(t),
				"FIELDCRYPT_KEYRING":         "file:" + filepath.Join(dir, "keyring.json"),
				"FIELDCRYPT_PASSPHRASE_FILE": filepath.Join(dir, "passphrase"),
			}
			makeKeyring(t, dir)
			run := func(in string, args ...string) (string, error) {
				var out strings.Builder
				err := run(t.Context(), func(name string) string { return env[name] }, args, strings.NewReader(in), &out)
				return out.String(), err
			}
			for _, step := range []struct {
				in   string
				args []string
				want string
			}{
				{"", []string{"create"}, ""},
				{`{"name": "Ada", "tax_id": "TR 123"}`, []string{"add", "Ankara"}, "ID\n"},
				{"tr123\n", []string{"find"}, "ID Ankara\n"},
				{"", []string{"reseal"}, "1 rows resealed\n"},
				{"", []string{"forget", "ID"}, ""},
				{"TR 123", []string{"find"}, ""},
			} {
				id := env["ID"]
				for i, arg := range step.args {
					if arg == "ID" {
						step.args[i] = id
					}
				}
				got, err := run(step.in, step.args...)
				if err != nil {
					t.Fatalf("%v: %v", step.args, err)
				}
				if id == "" && step.args[0] == "add" {
					env["ID"] = strings.TrimSpace(got)
					id = env["ID"]
				}
				if want := strings.ReplaceAll(step.want, "ID", id); got != want {
					t.Errorf("%v prints %q, want %q", step.args, got, want)
				}
			}
			for _, args := range [][]string{nil, {"add"}, {"find", "TR 123"}, {"drop"}} {
				if _, err := run("", args...); !errors.Is(err, errUsage) {
					t.Errorf("%v: %v", args, err)
				}
			}
			if _, err := run(`{"name": "Ada", "tax_id": TR99887}`, "add", "Ankara"); err == nil || strings.Contains(err.Error(), "99887") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func makeKeyring(t *testing.T, dir string) {
	t.Helper()
	passphrase := filepath.Join(dir, "passphrase")
	if err := os.WriteFile(passphrase, []byte(rand.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := filekeyring.New(filepath.Join(dir, "keyring.json"), filekeyring.Options{
		Argon2id:   filekeyring.Argon2id{MemoryKiB: 64, Threads: 1, Time: 1}, // fast: it protects nothing
		Passphrase: filekeyring.PassphraseFile(passphrase),
	})
	if err != nil {
		t.Fatal(err)
	}
	manager, err := keyring.NewManager("default", file, file, keyring.ManagerOptions{Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manager.Create(t.Context(), keyring.CreateOptions{Propagation: -1}); err != nil {
		t.Fatal(err)
	}
}
