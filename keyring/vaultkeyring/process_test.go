package vaultkeyring_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// The test binary is also the rotator that the tests start as processes of their
// own and kill. It takes the login from the environment, as a user's does.
const (
	envRotatorURL   = "FIELDCRYPT_TEST_ROTATOR_URL"
	envRotatorCount = "FIELDCRYPT_TEST_ROTATOR_COUNT"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(envRotatorURL); url != "" {
		if err := rotate(url, os.Getenv(envRotatorCount)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// rotate stages keys until it was first often enough, and prints the id of each
// that was stored before it begins the next one; 0 means until it is killed.
func rotate(url, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	where, err := vaultkeyring.ParseURL(url)
	if err != nil {
		return err
	}
	vault, err := vaultkeyring.New(where, vaultkeyring.Options{Timeout: time.Minute})
	if err != nil {
		return err
	}
	m, err := keyring.NewManager(ringName, vault, vault, keyring.ManagerOptions{Actor: "process " + strconv.Itoa(os.Getpid())})
	if err != nil {
		return err
	}
	for done := 0; n == 0 || done < n; {
		changed, err := m.Stage(context.Background(), keyring.Seal, keyring.StageOptions{})
		switch {
		case errors.Is(err, keyring.ErrChanged):
		case err != nil:
			return err
		default:
			done++
			fmt.Println(changed.Key.ID)
		}
	}
	return nil
}

type rotator struct {
	cmd    *exec.Cmd
	stdout *bufio.Scanner
	stderr strings.Builder
}

func startRotator(t *testing.T, v *testenv.VaultServer, token string, count int) *rotator {
	t.Helper()
	r := &rotator{cmd: exec.Command(os.Args[0])}
	r.cmd.Env = append(os.Environ(), envRotatorURL+"="+v.URL(testPath), envRotatorCount+"="+strconv.Itoa(count),
		"VAULT_ADDR="+v.Address, "VAULT_TOKEN="+token)
	r.cmd.Stderr = &r.stderr
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdout = bufio.NewScanner(stdout)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// staged reads the ids of at most n keys that the process says it stored.
func (r *rotator) staged(t *testing.T, n int) (ids []keyring.KeyID) {
	t.Helper()
	for len(ids) < n && r.stdout.Scan() {
		id, err := keyring.ParseKeyID(r.stdout.Text())
		if err != nil {
			t.Fatalf("the process printed %q", r.stdout.Text())
		}
		ids = append(ids, id)
	}
	return ids
}

// hasAll checks that a keyring holds every key that somebody was told is stored,
// and nothing beside them but what unsure tells.
func hasAll(t *testing.T, v *testenv.VaultServer, told []keyring.KeyID, unsure int) {
	t.Helper()
	vault := open(t, v, v.RootToken, vaultkeyring.Options{Timeout: time.Minute})
	ring, err := keyring.Open(t.Context(), ringName, vault, vault, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ring.Close)
	for _, id := range told {
		if _, err := ring.Key(t.Context(), keyring.Seal, id); err != nil {
			t.Errorf("a key that was said to be stored: %v", err)
		}
	}
	const primaries = 2
	if extra := len(ring.Keys()) - primaries - len(told); extra < 0 || extra > unsure {
		t.Errorf("%d keys beside the %d that were told of, want at most %d", extra, len(told), unsure)
	}
	if want := uint64(len(ring.Keys()) - primaries + 1); ring.Revision() != want {
		t.Errorf("revision %d with %d staged keys, want %d", ring.Revision(), len(ring.Keys())-primaries, want)
	}
}

func TestRotatorProcessesAtOnceLoseNoKey(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	token := roleToken(t, v, long, vaultkeyring.Rotator)
	const processes, each = 4, 3
	rotators := make([]*rotator, processes)
	for i := range rotators {
		rotators[i] = startRotator(t, v, token, each)
	}
	var told []keyring.KeyID
	for _, r := range rotators {
		told = append(told, r.staged(t, each)...)
		if err := r.cmd.Wait(); err != nil {
			t.Errorf("a rotator: %v: %s", err, &r.stderr)
		}
	}
	if len(told) != processes*each {
		t.Errorf("%d keys were told of, want %d", len(told), processes*each)
	}
	hasAll(t, v, told, 0)
}

// Killed at a random moment, a rotator has stored a whole document or none.
func TestAKilledRotatorLeavesAKeyringThatOpensAndRotates(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	token := roleToken(t, v, long, vaultkeyring.Rotator)
	var told []keyring.KeyID
	const kills = 10
	for range kills {
		r := startRotator(t, v, token, 0)
		first := r.staged(t, 1)
		if len(first) == 0 {
			t.Fatalf("the rotator stored nothing: %s", &r.stderr)
		}
		var dead sync.WaitGroup
		dead.Go(func() {
			time.Sleep(time.Duration(rand.Int64N(int64(30 * time.Millisecond)))) // the moment is what is random
			_ = r.cmd.Process.Kill()
		})
		told = append(told, append(first, r.staged(t, 1<<20)...)...)
		dead.Wait()
		_ = r.cmd.Wait()
	}
	// The last one of each process may have been stored and not told.
	hasAll(t, v, told, kills)
	if err := stage(t.Context(), open(t, v, token, vaultkeyring.Options{})); err != nil {
		t.Errorf("rotating after the kills: %v", err)
	}
}
