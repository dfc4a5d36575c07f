package filekeyring_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

var ctx = context.Background()

// cheap are the least parameters, for tests that are not about their cost.
var cheap = filekeyring.Argon2id{Time: 1, MemoryKiB: 8, Threads: 1}

const passphrase = "correct horse battery staple"

func newFile(t testing.TB, path, pass string) *filekeyring.File {
	t.Helper()
	f, err := filekeyring.New(path, filekeyring.Options{Argon2id: cheap, Passphrase: filekeyring.Passphrase([]byte(pass))})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newManager(t testing.TB, f *filekeyring.File) *keyring.Manager {
	t.Helper()
	m, err := keyring.NewManager("default", f, f, keyring.ManagerOptions{Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// created makes a keyring file in a directory of the test's own.
func created(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "default.keyring")
	if _, err := newManager(t, newFile(t, path, passphrase)).Create(ctx, keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, f *filekeyring.File) (*keyring.Keyring, error) {
	t.Helper()
	k, err := keyring.Open(ctx, "default", f, f, keyring.Options{})
	if err == nil {
		t.Cleanup(k.Close)
	}
	return k, err
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fileError fails unless err names path and problem, says them in its text, and
// has a hint.
func fileError(t testing.TB, err error, path string, problem error) *filekeyring.FileError {
	t.Helper()
	var e *filekeyring.FileError
	if !errors.As(err, &e) || !errors.Is(err, problem) {
		t.Fatalf("got %v, want a *FileError that is %q", err, problem)
	}
	if e.Path != path || !strings.Contains(err.Error(), path) {
		t.Errorf("%v does not name %s", err, path)
	}
	if e.Hint() == "" {
		t.Errorf("no hint: %v", err)
	}
	return e
}

func TestFileKnownAnswer(t *testing.T) {
	t.Parallel()
	var v struct {
		Passphrase, URI, Name, Info, File string
		Keys                              []struct{ ID, Purpose, Derived string }
	}
	if err := json.Unmarshal(read(t, "testdata/file.v1.json"), &v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "k")
	write(t, path, []byte(v.File))
	f := newFile(t, path, v.Passphrase)
	ring, err := open(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if f.URI() != v.URI {
		t.Errorf("URI is %s, want %s", f.URI(), v.URI)
	}
	info, err := hex.DecodeString(v.Info)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, want := range v.Keys {
		if want.Derived == "" {
			continue
		}
		id, err := keyring.ParseKeyID(want.ID)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ring.Key(ctx, keyring.Purpose(want.Purpose), id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := key.Derive(info); err != nil || hex.EncodeToString(got[:]) != want.Derived {
			t.Errorf("key %s derives %x, %v, want %s", want.ID, got, err, want.Derived)
		}
		checked++
	}
	if checked < 4 {
		t.Fatalf("%d keys were checked", checked)
	}
	// What is written after a change keeps the salt and the parameters.
	if _, err := newManager(t, f).Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	head := v.File[:strings.Index(v.File, `"document"`)]
	if now := string(read(t, path)); !strings.HasPrefix(now, head) || now == v.File {
		t.Fatalf("the new file begins %.200s, want %s", now, head)
	}
}

func TestANewFileIsItsOwnersAloneAndHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "default.keyring")
	f, err := filekeyring.New(path, filekeyring.Options{Passphrase: filekeyring.Passphrase([]byte(passphrase))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newManager(t, f).Create(ctx, keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode is %s", info.Mode())
	}
	var part struct {
		Format   string
		Argon2id struct {
			Time, Threads int
			MemoryKiB     int `json:"memory_kib"`
			Salt          []byte
		}
		Document string
	}
	dec := json.NewDecoder(bytes.NewReader(read(t, path)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&part); err != nil {
		t.Fatal(err)
	}
	if a := part.Argon2id; part.Format != "fieldcrypt-keyring-file/1" || a.Time != 3 || a.MemoryKiB != 65536 || a.Threads != 4 || len(a.Salt) != 16 {
		t.Errorf("got %s and %+v", part.Format, a)
	}
	if _, err := keyring.InspectDocument("default", []byte(part.Document)); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "default.keyring" && e.Name() != "default.keyring.lock" {
			t.Errorf("left %s behind", e.Name())
		}
	}
}

func TestTwoFilesNeverShareASaltAndSoFormASet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var rings []*keyring.Keyring
	for _, name := range []string{"default", "health"} {
		f := newFile(t, filepath.Join(dir, name), passphrase)
		m, err := keyring.NewManager(name, f, f, keyring.ManagerOptions{Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Create(ctx, keyring.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		ring, err := keyring.Open(ctx, name, f, f, keyring.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ring.Close()
		rings = append(rings, ring)
	}
	if _, err := keyring.NewSet(rings...); err != nil {
		t.Fatal(err)
	}
}

func TestAFileCanBeMoved(t *testing.T) {
	t.Parallel()
	path := created(t)
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, newFile(t, moved, passphrase)); err != nil {
		t.Fatal(err)
	}
}

func TestEachUnusableFileIsItsOwnError(t *testing.T) {
	t.Parallel()
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "none")
		_, err := open(t, newFile(t, path, passphrase))
		fileError(t, err, path, keyring.ErrNotFound)
	})
	t.Run("missing directory", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "no", "none")
		_, err := open(t, newFile(t, path, passphrase))
		fileError(t, err, path, keyring.ErrNotFound)
		_, err = newManager(t, newFile(t, path, passphrase)).Create(ctx, keyring.CreateOptions{})
		fileError(t, err, path, filekeyring.ErrUnwritable)
	})
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666, 0o777} {
		t.Run(fmt.Sprintf("mode %04o", mode), func(t *testing.T) {
			t.Parallel()
			path := created(t)
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, newFile(t, path, passphrase))
			if e := fileError(t, err, path, filekeyring.ErrTooOpen); e.Hint() != "chmod 600 "+path {
				t.Errorf("hint is %q", e.Hint())
			}
			_, err = newManager(t, newFile(t, path, passphrase)).Stage(ctx, keyring.Seal, keyring.StageOptions{})
			fileError(t, err, path, filekeyring.ErrTooOpen)
		})
	}
	t.Run("symbolic link", func(t *testing.T) {
		t.Parallel()
		path := created(t)
		link := path + ".link"
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		_, err := open(t, newFile(t, link, passphrase))
		fileError(t, err, link, filekeyring.ErrNotRegular)
	})
	t.Run("link to nothing", func(t *testing.T) {
		t.Parallel()
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(link+".no", link); err != nil {
			t.Fatal(err)
		}
		_, err := newManager(t, newFile(t, link, passphrase)).Create(ctx, keyring.CreateOptions{})
		fileError(t, err, link, filekeyring.ErrNotRegular)
	})
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		_, err := open(t, newFile(t, path, passphrase))
		fileError(t, err, path, filekeyring.ErrNotRegular)
	})
	t.Run("wrong passphrase", func(t *testing.T) {
		t.Parallel()
		path := created(t)
		for _, wrong := range []string{"wrong", passphrase + "\n", strings.ToUpper(passphrase)} {
			_, err := open(t, newFile(t, path, wrong))
			fileError(t, err, path, filekeyring.ErrWrongPassphrase)
			if errors.Is(err, filekeyring.ErrDamaged) || strings.Contains(err.Error(), wrong) && wrong != "wrong" {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("empty passphrase", func(t *testing.T) {
		t.Parallel()
		path := created(t)
		_, err := open(t, newFile(t, path, ""))
		fileError(t, err, path, filekeyring.ErrEmptyPassphrase)
		fresh := path + ".new"
		_, err = newManager(t, newFile(t, fresh, "")).Create(ctx, keyring.CreateOptions{})
		fileError(t, err, fresh, filekeyring.ErrEmptyPassphrase)
		if _, err := os.Lstat(fresh); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file was made: %v", err)
		}
	})
	t.Run("no passphrase", func(t *testing.T) {
		t.Parallel()
		path := created(t)
		f, err := filekeyring.New(path, filekeyring.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(t, f)
		fileError(t, err, path, filekeyring.ErrNoPassphrase)
		document, _, err := f.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := keyring.InspectDocument("default", document); err != nil || len(d.Keys()) != 2 {
			t.Errorf("the clear part needs no passphrase: %v, %v", d, err)
		}
	})
	t.Run("read-only directory", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() == 0 {
			// Root may write there; a directory in the lock's place stops it.
			path := created(t)
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(path+".lock", 0o700); err != nil {
				t.Fatal(err)
			}
			before := read(t, path)
			_, err := newManager(t, newFile(t, path, passphrase)).Stage(ctx, keyring.Seal, keyring.StageOptions{})
			fileError(t, err, path, filekeyring.ErrUnwritable)
			if !bytes.Equal(read(t, path), before) {
				t.Error("the file changed")
			}
			return
		}
		path := created(t)
		if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Dir(path), 0o700)
		_, err := newManager(t, newFile(t, path, passphrase)).Stage(ctx, keyring.Seal, keyring.StageOptions{})
		fileError(t, err, path, filekeyring.ErrUnwritable)
	})
}

func TestADamagedDocumentIsNotTakenForAWrongPassphrase(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"seal", "index"} {
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			path := created(t)
			damageKeyset(t, path, p)
			_, err := open(t, newFile(t, path, passphrase))
			var unseal *keyring.UnsealError
			if !errors.As(err, &unseal) || !unseal.Partly || string(unseal.Purpose) != p {
				t.Fatalf("got %v, want a partial *UnsealError of %s", err, p)
			}
			fileError(t, err, path, filekeyring.ErrDamaged)
			if errors.Is(err, filekeyring.ErrWrongPassphrase) {
				t.Errorf("blames the passphrase: %v", err)
			}
		})
	}
	t.Run("while running", func(t *testing.T) {
		t.Parallel()
		path := created(t)
		f := newFile(t, path, passphrase)
		ring, err := open(t, f)
		if err != nil {
			t.Fatal(err)
		}
		damageKeyset(t, path, "seal")
		damageKeyset(t, path, "index")
		err = ring.Refresh(ctx)
		fileError(t, err, path, filekeyring.ErrDamaged)
		if errors.Is(err, filekeyring.ErrWrongPassphrase) {
			t.Errorf("blames the passphrase, which has opened the file before: %v", err)
		}
	})
}

// damageKeyset changes the first bytes of a keyset in the file.
func damageKeyset(t *testing.T, path, purpose string) {
	t.Helper()
	var file, document map[string]any
	if err := json.Unmarshal(read(t, path), &file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(file["document"].(string)), &document); err != nil {
		t.Fatal(err)
	}
	keysets := document["keysets"].(map[string]any)
	text := keysets[purpose].(string)
	if damaged := "AAAA" + text[4:]; damaged != text {
		keysets[purpose] = damaged
	} else {
		keysets[purpose] = "BBBB" + text[4:]
	}
	inner, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	file["document"] = string(inner)
	outer, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, outer)
}

func TestADocumentOfAnotherFileIsRefused(t *testing.T) {
	t.Parallel()
	a, b := created(t), created(t)
	document := func(path string) string {
		text := string(read(t, path))
		return text[strings.Index(text, `"document"`):]
	}
	swapped := strings.Replace(string(read(t, a)), document(a), document(b), 1)
	write(t, a, []byte(swapped))
	_, err := open(t, newFile(t, a, passphrase))
	var mismatch *keyring.KEKMismatchError
	if !errors.As(err, &mismatch) || mismatch.Configured == mismatch.Document {
		t.Fatalf("got %v, want a *KEKMismatchError", err)
	}
}

func TestEachMalformedFileIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	path := created(t)
	good := string(read(t, path))
	replace := func(old, new string) string {
		got := strings.Replace(good, old, new, 1)
		if got == good {
			t.Fatalf("the file does not hold %s", old)
		}
		return got
	}
	salt := good[strings.Index(good, `"salt":"`)+8:]
	salt = salt[:strings.Index(salt, `"`)]
	tests := map[string]struct{ content, place string }{
		"empty":                  {"", ""},
		"not JSON":               {"-----BEGIN KEYRING-----", ""},
		"cut off":                {good[:len(good)/2], "/document"},
		"a second value":         {good + "{}", ""},
		"another format":         {replace("fieldcrypt-keyring-file/1", "fieldcrypt-keyring-file/2"), "/format"},
		"the document alone":     {`{"format":"fieldcrypt-keyring/1","clear":"","keysets":{}}`, "/clear"},
		"an unknown member":      {replace(`{"format"`, `{"note":"","format"`), "/note"},
		"an unknown parameter":   {replace(`"time"`, `"lanes":1,"time"`), "/argon2id/lanes"},
		"a duplicate member":     {replace(`{"format"`, `{"format":"","format"`), "/format"},
		"no document":            {good[:strings.Index(good, `,"document"`)] + "}", "/document"},
		"document as an object":  {good[:strings.Index(good, `"document"`)] + `"document":{}}`, "/document"},
		"no argon2id":            {`{"format":"fieldcrypt-keyring-file/1","document":"{}"}`, "/argon2id"},
		"time zero":              {replace(`"time":1`, `"time":0`), "/argon2id"},
		"time above the bound":   {replace(`"time":1`, `"time":65`), "/argon2id"},
		"time a text":            {replace(`"time":1`, `"time":"1"`), "/argon2id/time"},
		"time beyond 32 bits":    {replace(`"time":1`, `"time":4294967297`), "/argon2id/time"},
		"no memory":              {replace(`"memory_kib":8`, `"memory_kib":0`), "/argon2id"},
		"memory below the least": {replace(`"memory_kib":8`, `"memory_kib":7`), "/argon2id"},
		"memory above the bound": {replace(`"memory_kib":8`, `"memory_kib":2097153`), "/argon2id"},
		"memory of 4 TiB":        {replace(`"memory_kib":8`, `"memory_kib":4294967295`), "/argon2id"},
		"hours of work":          {replace(`"time":1,"memory_kib":8`, `"time":64,"memory_kib":2097152`), "/argon2id"},
		"no threads":             {replace(`"threads":1`, `"threads":0`), "/argon2id"},
		"threads above":          {replace(`"threads":1`, `"threads":65`), "/argon2id"},
		"threads negative":       {replace(`"threads":1`, `"threads":-1`), "/argon2id/threads"},
		"salt missing":           {replace(`,"salt":"`+salt+`"`, ``), "/argon2id/salt"},
		"salt too short":         {replace(salt, "AAAAAAAAAAAAAAAAAAAA"), "/argon2id/salt"},
		"salt too long":          {replace(salt, strings.Repeat("AAAA", 22)), "/argon2id/salt"},
		"salt in base64url":      {replace(salt, "__-_AAAAAAAAAAAAAAAAAA=="), "/argon2id/salt"},
		"salt with stray bits":   {replace(salt, "AAAAAAAAAAAAAAAAAAAAAB=="), "/argon2id/salt"},
		"too large":              {good + strings.Repeat(" ", 8<<20), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "k")
			write(t, path, []byte(tt.content))
			_, err := open(t, newFile(t, path, passphrase))
			fileError(t, err, path, filekeyring.ErrMalformed)
			var format *filekeyring.FormatError
			if !errors.As(err, &format) || format.Place != tt.place || format.Detail == "" {
				t.Errorf("got %v, want a *FormatError at %q", err, tt.place)
			}
			// It is not overwritten either.
			if _, err := newManager(t, newFile(t, path, passphrase)).Create(ctx, keyring.CreateOptions{}); err == nil || !bytes.Equal(read(t, path), []byte(tt.content)) {
				t.Errorf("Create: got %v", err)
			}
		})
	}
}

func TestNewRefusesParametersThatNoReaderWouldTake(t *testing.T) {
	t.Parallel()
	for _, a := range []filekeyring.Argon2id{{Time: 65}, {MemoryKiB: 4}, {MemoryKiB: 2<<20 + 1}, {Threads: 65}, {Time: 64, MemoryKiB: 1 << 20}, {Threads: 64, MemoryKiB: 511}} {
		var bounds *filekeyring.ParameterError
		if _, err := filekeyring.New("k", filekeyring.Options{Argon2id: a}); !errors.As(err, &bounds) {
			t.Errorf("%+v: got %v, want a *ParameterError", a, err)
		}
	}
	// RFC 9106, section 4: both recommendations.
	for _, a := range []filekeyring.Argon2id{{Time: 1, MemoryKiB: 2 << 20, Threads: 4}, {Time: 3, MemoryKiB: 64 << 10, Threads: 4}} {
		if _, err := filekeyring.New("k", filekeyring.Options{Argon2id: a}); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

func TestThePassphraseIsAskedForOnceWhileTheSaltStays(t *testing.T) {
	t.Parallel()
	path := created(t)
	var asked atomic.Int32
	f, err := filekeyring.New(path, filekeyring.Options{Argon2id: cheap, Passphrase: func(context.Context) ([]byte, error) {
		asked.Add(1)
		return []byte(passphrase), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := open(t, f)
	if err != nil {
		t.Fatal(err)
	}
	other := newManager(t, newFile(t, path, passphrase))
	for range 5 {
		changed, err := other.Stage(ctx, keyring.Seal, keyring.StageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := ring.Key(ctx, keyring.Seal, changed.Key.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Fatalf("asked %d times, want 1: Argon2id ran as often", got)
	}
}

func TestAPassphraseThatFailsIsAskedForOnceForEachLoad(t *testing.T) {
	t.Parallel()
	path := created(t)
	answers := []string{"", "wrong", passphrase}
	var asked int
	no := errors.New("no terminal")
	f, err := filekeyring.New(path, filekeyring.Options{Argon2id: cheap, Passphrase: func(context.Context) ([]byte, error) {
		answer := answers[asked]
		asked++
		if answer == "" {
			return nil, no
		}
		return []byte(answer), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, f); !errors.Is(err, no) || asked != 1 {
		t.Fatalf("got %v after asking %d times", err, asked)
	}
	if _, err := open(t, f); !errors.Is(err, filekeyring.ErrWrongPassphrase) || asked != 2 {
		t.Fatalf("got %v after asking %d times", err, asked)
	}
	if _, err := open(t, f); err != nil || asked != 3 {
		t.Fatalf("got %v after asking %d times", err, asked)
	}
}

func TestTheBytesThatAPassphraseFuncGaveAreWiped(t *testing.T) {
	t.Parallel()
	path := created(t)
	given := []byte(passphrase)
	f, err := filekeyring.New(path, filekeyring.Options{Argon2id: cheap, Passphrase: func(context.Context) ([]byte, error) { return given, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, f); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(given, make([]byte, len(given))) {
		t.Fatalf("still holds %q", given)
	}
}

func TestPassphraseFileDropsOneLineEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for content, want := range map[string]string{"abc": "abc", "abc\n": "abc", "abc\r\n": "abc", "abc\n\n": "abc\n", " a b \n": " a b ", "a\x00b": "a\x00b", "şifre\n": "şifre"} {
		path := filepath.Join(dir, hex.EncodeToString([]byte(content)))
		write(t, path, []byte(content))
		if got, err := filekeyring.PassphraseFile(path)(ctx); err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v", content, got, err)
		}
	}
	for name, content := range map[string]string{"empty": "", "line end": "\n", "crlf": "\r\n"} {
		path := filepath.Join(dir, name)
		write(t, path, []byte(content))
		_, err := filekeyring.PassphraseFile(path)(ctx)
		fileError(t, err, path, filekeyring.ErrEmptyPassphrase)
	}
	for path, why := range map[string]string{filepath.Join(dir, "none"): "no such file", dir: "is a directory"} {
		_, err := filekeyring.PassphraseFile(path)(ctx)
		if e := fileError(t, err, path, filekeyring.ErrUnreadable); !strings.Contains(e.Error(), why) {
			t.Errorf("got %v, want %s", e, why)
		}
	}
	large := filepath.Join(dir, "large")
	write(t, large, bytes.Repeat([]byte("a"), 64<<10+1))
	_, err := filekeyring.PassphraseFile(large)(ctx)
	fileError(t, err, large, filekeyring.ErrUnreadable)
}

func TestAWriterWaitsForTheLockAndThenSaysSo(t *testing.T) {
	t.Parallel()
	path := created(t)
	held := flock.New(path + ".lock")
	if err := held.Lock(); err != nil {
		t.Fatal(err)
	}
	f, err := filekeyring.New(path, filekeyring.Options{Argon2id: cheap, LockWait: time.Millisecond, Passphrase: filekeyring.Passphrase([]byte(passphrase))})
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	_, err = newManager(t, f).Stage(ctx, keyring.Seal, keyring.StageOptions{})
	fileError(t, err, path, filekeyring.ErrLocked)
	if !bytes.Equal(read(t, path), before) {
		t.Fatal("the file changed")
	}
	if _, err := open(t, f); err != nil {
		t.Fatalf("a reader needs no lock: %v", err)
	}
	ended, cancel := context.WithCancelCause(ctx)
	patient := newFile(t, path, passphrase)
	_, version, err := patient.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	done := make(chan error, 1)
	go func() { done <- patient.Save(ended, []byte("{}"), version) }()
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Fatalf("got %v, want the cause", err)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := newManager(t, f).Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Fatalf("the lock is free again: %v", err)
	}
}

func TestSaveComparesTheWholeFile(t *testing.T) {
	t.Parallel()
	path := created(t)
	f := newFile(t, path, passphrase)
	document, version, err := f.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, stale := range map[string]string{"no version": "", "another version": strings.Repeat("0", 64)} {
		if err := f.Save(ctx, document, stale); !errors.Is(err, keyring.ErrChanged) {
			t.Errorf("%s: got %v, want ErrChanged", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(ctx, document, version); !errors.Is(err, keyring.ErrChanged) {
		t.Errorf("file removed: got %v, want ErrChanged", err)
	}
	if err := f.Save(ctx, document, ""); err != nil {
		t.Errorf("create: %v", err)
	}
	if got, again, err := f.Load(ctx); err != nil || !bytes.Equal(got, document) || again != version {
		t.Errorf("got another file back: %v", err)
	}
}

// A document sealed under one salt must never be stored beside another.
func TestAFileWhoseSaltChangedUnderAWriterIsNotOverwritten(t *testing.T) {
	t.Parallel()
	path, other := created(t), created(t)
	f := newFile(t, path, passphrase)
	document, _, err := f.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	replaced := read(t, other)
	write(t, path, replaced)
	_, version, err := newFile(t, path, passphrase).Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Save(ctx, document, version); !errors.Is(err, keyring.ErrChanged) {
		t.Fatalf("got %v, want ErrChanged", err)
	}
	if !bytes.Equal(read(t, path), replaced) {
		t.Fatal("the file was overwritten")
	}
}

// Each creator has a salt of its own, so the losers must not spoil the file.
func TestOfManyCreatorsOneWins(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "default.keyring")
	shared := newFile(t, path, passphrase)
	const creators = 12
	results := make(chan error, creators)
	var wg sync.WaitGroup
	for i := range creators {
		f := shared
		if i%2 == 0 {
			f = newFile(t, path, passphrase)
		}
		m := newManager(t, f)
		wg.Go(func() {
			_, err := m.Create(ctx, keyring.CreateOptions{})
			results <- err
		})
	}
	wg.Wait()
	close(results)
	won := 0
	for err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, keyring.ErrExists):
			t.Errorf("got %v, want ErrExists", err)
		}
	}
	if won != 1 {
		t.Fatalf("%d creators won", won)
	}
	for _, f := range []*filekeyring.File{shared, newFile(t, path, passphrase)} {
		if ring, err := open(t, f); err != nil || ring.Revision() != 1 {
			t.Fatalf("got %v, %v", ring, err)
		}
	}
}

func TestARefreshDerivesAnewWhenTheSaltChanged(t *testing.T) {
	t.Parallel()
	path, other := created(t), created(t)
	asked := 0
	f, err := filekeyring.New(path, filekeyring.Options{Argon2id: cheap, Passphrase: func(context.Context) ([]byte, error) {
		asked++
		return []byte(passphrase), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := open(t, f)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, read(t, other))
	// It opens under the new salt; what is refused is that revision 1 changed.
	var back *keyring.RollbackError
	if err := ring.Refresh(ctx); !errors.As(err, &back) || asked != 2 {
		t.Fatalf("got %v after asking %d times, want a *RollbackError after 2", err, asked)
	}
}

func TestADocumentThatWasSealedUnderAnotherSaltIsNotStored(t *testing.T) {
	t.Parallel()
	document, _, err := newFile(t, created(t), passphrase).Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "k")
	if err := newFile(t, path, passphrase).Save(ctx, document, ""); !errors.Is(err, keyring.ErrChanged) {
		t.Fatalf("got %v, want ErrChanged", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a file was made: %v", err)
	}
}

func TestTheNextWriterRemovesWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	path := created(t)
	left := filepath.Join(filepath.Dir(path), ".default.keyring.123.tmp")
	other := filepath.Join(filepath.Dir(path), ".health.keyring.123.tmp")
	write(t, left, []byte("half"))
	write(t, other, []byte("half"))
	beside := filepath.Join(filepath.Dir(path), ".default.keyring.new.123.tmp") // that of default.keyring.new, whose writer lives
	write(t, beside, []byte("half"))
	if _, err := newManager(t, newFile(t, path, passphrase)).Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	for _, others := range []string{other, beside} {
		if _, err := os.Lstat(others); err != nil {
			t.Errorf("another keyring's file was removed: %v", err)
		}
	}
}

func TestACancelledContextStopsEverything(t *testing.T) {
	t.Parallel()
	path := created(t)
	why := errors.New("enough")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(why)
	f := newFile(t, path, passphrase)
	if _, _, err := f.Load(ended); !errors.Is(err, why) {
		t.Errorf("Load: got %v", err)
	}
}

func TestAfterCloseAFileDerivesAnew(t *testing.T) {
	t.Parallel()
	path := created(t)
	asked := 0
	f, err := filekeyring.New(path, filekeyring.Options{Argon2id: cheap, Passphrase: func(context.Context) ([]byte, error) {
		asked++
		return []byte(passphrase), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; want <= 2; want++ {
		if _, err := open(t, f); err != nil || asked != want {
			t.Fatalf("got %v after asking %d times, want %d", err, asked, want)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoPassphraseOrKeyIsPrinted(t *testing.T) {
	t.Parallel()
	path := created(t)
	f := newFile(t, path, passphrase)
	if _, err := open(t, f); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	log := slog.New(slog.NewJSONHandler(&out, nil))
	for _, v := range []any{f, []*filekeyring.File{f}, struct{ F *filekeyring.File }{f}, filekeyring.Options{Passphrase: filekeyring.Passphrase([]byte(passphrase))}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		log.Info("value", "v", v)
	}
	printed := out.String()
	for _, secret := range []string{passphrase, hex.EncodeToString([]byte(passphrase)), strings.Trim(fmt.Sprint([]byte(passphrase)), "[]")} {
		if strings.Contains(printed, secret) {
			t.Errorf("printed the passphrase as %q", secret)
		}
	}
	if !strings.Contains(printed, "keyring file "+path) {
		t.Errorf("the file was not printed at all: %s", printed)
	}
}

// rotatedMeanwhile is a KEK whose first use finds the keyring changed by somebody else.
type rotatedMeanwhile struct {
	*filekeyring.File
	rotate func()
}

func (k *rotatedMeanwhile) EncryptWithContext(ctx context.Context, plaintext, associatedData []byte) ([]byte, error) {
	if k.rotate != nil {
		k.rotate()
		k.rotate = nil
	}
	return k.File.EncryptWithContext(ctx, plaintext, associatedData)
}

// The new file is found by the keys of the old place: where these change before it is frozen, the move does not begin, since one that was interrupted
// then would never find the file again.
func TestAMoveToAFileBesideARotationDoesNotBegin(t *testing.T) {
	t.Parallel()
	old, path := filepath.Join(t.TempDir(), "old.keyring"), filepath.Join(t.TempDir(), "new.keyring")
	m := newManager(t, newFile(t, old, passphrase))
	if _, err := m.Create(ctx, keyring.CreateOptions{Propagation: -1}); err != nil {
		t.Fatal(err)
	}
	f := newFile(t, path, passphrase)
	to, err := keyring.NewManager("default", f, &rotatedMeanwhile{f, func() {
		other := newManager(t, newFile(t, old, passphrase))
		if _, err := other.Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := other.Promote(ctx, keyring.Seal, keyring.PromoteOptions{}); err != nil {
			t.Error(err)
		}
	}}, keyring.ManagerOptions{Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var changed *keyring.ChangedError
	if _, err := m.Move(ctx, to); !errors.As(err, &changed) {
		t.Errorf("%v, want a ChangedError", err)
	}
	if _, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Errorf("the old place is frozen: %v", err)
	}
	if _, err := m.Move(ctx, newManager(t, newFile(t, path, passphrase))); err != nil {
		t.Errorf("again: %v", err)
	}
}
