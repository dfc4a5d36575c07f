package keyring

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DataStore is a place whose data is under a keyring's keys: an outbox, or
// tables of the caller's own. The keyring's document lists them, so that no key
// is disabled that one of them still needs.
type DataStore struct {
	// URL is the outbox's, as fieldcrypt takes it, without a password.
	URL string
	// Query counts, in tables of the caller's own at URL, the rows that need a
	// key: one statement with one parameter, the key as "PURPOSE:ID", that gives
	// one integer. Defaults to asking the outbox.
	Query string
}

// String names the store.
func (s DataStore) String() string {
	if s.Query == "" {
		return s.URL
	}
	return s.URL + " (by a query)"
}

const (
	maxURLBytes    = 2048
	maxQueryBytes  = 4096
	maxReasonBytes = 512
)

// newDataStore checks a store and takes the password out of its URL.
func newDataStore(s DataStore) (DataStore, error) {
	clean, err := withoutPassword(s.URL)
	if err != nil || !printable(clean, maxURLBytes) || s.Query != "" && !printable(s.Query, maxQueryBytes) {
		return DataStore{}, &DataStoreError{}
	}
	return DataStore{URL: clean, Query: s.Query}, nil
}

// naming are the parameters of a server's URL that tell one database, or one
// table, from another. A password may stand among the rest.
var naming = []string{"host", "port", "dbname", "service", "table"}

// namesDatabase says whether a server's URL names its database. Where it does
// not, the user does: libpq then takes the user's name.
func namesDatabase(u *url.URL) bool {
	return strings.Trim(u.Path, "/") != "" || u.Query().Get("dbname") != ""
}

// withoutPassword keeps what names a store, and the user. What cannot be read as
// a URL, and so may hide a password, is refused.
func withoutPassword(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || strings.Contains(u.Opaque, "@") {
		return "", &DataStoreError{}
	}
	if u.Opaque != "" || u.Host == "" && u.User == nil && !strings.Contains(text, "://") {
		return text, nil // a file
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if name := u.User.Username(); name != "" {
		shown.User = url.User(name)
	}
	kept := url.Values{}
	for _, name := range naming {
		if values := u.Query()[name]; len(values) > 0 {
			kept[name] = values
		}
	}
	if user := u.Query()["user"]; len(user) > 0 && !namesDatabase(u) {
		kept["user"] = user
	}
	if shown.Host == "" && shown.User == nil && shown.Path == "" {
		shown.Path = "/" // so that it stays a server's URL
	}
	shown.RawQuery = kept.Encode()
	return shown.String(), nil
}

// Is says whether a URL names the same place, whoever the user is and however it
// is spelled. Where neither names a database, the user's name is the database's. A
// port that is not named is Postgres's 5432: where PGPORT says another, name it.
func (s DataStore) Is(storeURL string) bool {
	mine, errMine := spelling(s.URL)
	theirs, errTheirs := spelling(storeURL)
	if errMine != nil || errTheirs != nil {
		return false
	}
	for _, u := range []*url.URL{mine, theirs} {
		if namesDatabase(u) {
			u.User = nil
		}
	}
	return mine.String() == theirs.String()
}

// same says whether both are asked the same, of the same place and as the same
// user.
func (s DataStore) same(other DataStore) bool {
	mine, errMine := spelling(s.URL)
	theirs, errTheirs := spelling(other.URL)
	return errMine == nil && errTheirs == nil && mine.String() == theirs.String() && s.Query == other.Query
}

// spelling writes a URL in the one way that stands for all that mean the same. Two
// that may mean the same somewhere, such as a name and its address, stay two: to
// ask a store twice costs little, and to ask one of two loses data.
func spelling(storeURL string) (*url.URL, error) {
	clean, err := withoutPassword(storeURL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(clean)
	if err != nil {
		return nil, &DataStoreError{}
	}
	if u.Scheme == "postgresql" {
		u.Scheme = "postgres"
	}
	if u.Scheme == "postgres" {
		spellPostgres(u)
	}
	return u, nil
}

// spellPostgres puts host, port and database where a URL has them, from the
// parameters that go before, and leaves out the port that counts anyway.
func spellPostgres(u *url.URL) {
	query := u.Query()
	if query.Has("service") {
		return // which may say anything
	}
	host, port := u.Hostname(), u.Port()
	if query.Has("host") {
		host = query.Get("host")
	}
	if query.Has("port") {
		port = query.Get("port")
	}
	if host == "" || strings.ContainsAny(u.Host+host+port, ",/") {
		return // a socket, several servers, or the one that PGHOST names
	}
	if port == "" || port == postgresPort {
		u.Host = strings.ToLower(host)
		if strings.Contains(host, ":") {
			u.Host = "[" + u.Host + "]"
		}
	} else {
		u.Host = net.JoinHostPort(strings.ToLower(host), port)
	}
	if database := query.Get("dbname"); database != "" {
		u.Path = "/" + database
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = ""
	}
	for _, moved := range []string{"host", "port", "dbname"} {
		query.Del(moved)
	}
	u.RawPath, u.RawQuery = "", query.Encode()
}

const postgresPort = "5432"

// DataStoreError says that a store cannot be listed. It repeats nothing of the
// URL, which may hold a password.
type DataStoreError struct{}

func (e *DataStoreError) Error() string {
	return "not a store: want a URL with a scheme, and a query in one line if any"
}

// Hint says what to do next.
func (e *DataStoreError) Hint() string {
	return "give the URL that --outbox takes, such as postgres://user@host/database"
}

// Uses says how much of a store's data needs a key.
type Uses struct {
	// Rows is how many rows need it.
	Rows int64
	// Oldest is when the oldest of them was written; zero if that is not known.
	Oldest time.Time
}

// Ask counts the rows of a store that need a key.
type Ask func(ctx context.Context, store DataStore, key KeyInfo) (Uses, error)

// AddStore lists a store. One that is listed already is left as it is, and
// nothing is written.
func (m *Manager) AddStore(ctx context.Context, s DataStore) (*Description, error) {
	return m.editStores(ctx, s, func(h *header, clean DataStore) bool {
		if slices.ContainsFunc(h.stores, clean.same) {
			return false
		}
		h.stores = append(h.stores, clean)
		return true
	})
}

// RemoveStore takes a store off the list: it is not asked any more. One that is
// not listed is an *[UnlistedStoreError].
func (m *Manager) RemoveStore(ctx context.Context, s DataStore) (*Description, error) {
	removed := false
	d, err := m.editStores(ctx, s, func(h *header, clean DataStore) bool {
		before := len(h.stores)
		h.stores = slices.DeleteFunc(h.stores, clean.same)
		removed = len(h.stores) < before
		return removed
	})
	if err == nil && !removed {
		clean, _ := newDataStore(s)
		return nil, &UnlistedStoreError{Keyring: m.name, Store: clean}
	}
	return d, err
}

func (m *Manager) editStores(ctx context.Context, s DataStore, edit func(h *header, clean DataStore) bool) (*Description, error) {
	clean, err := newDataStore(s)
	if err != nil {
		return nil, err
	}
	d, err := m.change(ctx, 0, func(h *header, _ secrets, _ time.Time) error {
		if !edit(h, clean) {
			return errNothingToDo
		}
		return nil
	})
	if err == nil {
		m.opts.Logger.InfoContext(ctx, "keyring's stores changed", "keyring", d.name, "revision", d.revision, "author", m.opts.Actor, "store", clean.String())
	}
	return m.described(d, err)
}

// UnlistedStoreError says that a keyring does not list a store.
type UnlistedStoreError struct {
	Keyring string
	Store   DataStore
}

func (e *UnlistedStoreError) Error() string {
	return "keyring " + e.Keyring + ": the store " + e.Store.String() + " is not listed"
}

// Hint says what to do next.
func (e *UnlistedStoreError) Hint() string {
	return "see the list with fieldcrypt keys stores; list it with fieldcrypt keys stores --add URL, so that no key is disabled that it needs"
}
