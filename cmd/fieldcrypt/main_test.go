package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/root"
)

// canaries are the flagged values of all scripts. No window of six bytes of one may stand on any standard error, whatever happens.
var canaries = []string{
	"Wqxzil Vbkjqp", "Örsüçğ Çğıöş", "zvqwx@jkqpz.test", "8675309867", "4815162342", "Qwzxkgasse 77", "Xyzzyqvik", "777000888999",
}

const canaryWindow = 6

// stderrLog names a file that gets a copy of standard error of every run of a script.
const stderrLog = "FIELDCRYPT_TEST_STDERR"

// raceOption keeps processes under the race detector from sleeping for a second before they exit, as they do by default.
const raceOption = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fieldcrypt": func() {
		// The whole program runs; only its standard error is copied.
		os.Exit(run(os.Args[1:]))
	}, "loadservice": runLoadService})
}

func run(args []string) int {
	path := os.Getenv(stderrLog)
	if path == "" {
		return root.Main(args)
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	stderr := os.Stderr
	os.Stderr = write
	copied := make(chan error)
	go func() {
		_, err := io.Copy(io.MultiWriter(stderr, log), read)
		copied <- err
	}()
	code := root.Main(args)
	write.Close()
	if err := <-copied; err != nil {
		panic(err)
	}
	return code
}

// leaks says what stands in a standard error that must not: a part of a flagged value, or a whole password or token.
func leaks(stderr string, secrets []string) []string {
	var found []string
	for _, canary := range canaries {
		for at := 0; at+canaryWindow <= len(canary); at++ {
			if window := canary[at : at+canaryWindow]; strings.Contains(stderr, window) {
				found = append(found, window)
			}
		}
	}
	for _, secret := range secrets {
		if strings.Contains(stderr, secret) {
			found = append(found, "a secret of "+strings.Repeat("*", len(secret)))
		}
	}
	return found
}

// checkLog checks the copy of standard error that a script has left.
func checkLog(t testing.TB, what, log string, secrets []string) {
	t.Helper()
	text, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Error(err)
	}
	for _, leak := range leaks(string(text), secrets) {
		t.Errorf("%s: standard error holds %q", what, leak)
	}
}
