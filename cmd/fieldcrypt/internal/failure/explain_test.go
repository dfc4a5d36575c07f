package failure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	_, missing := os.ReadFile(filepath.Join(t.TempDir(), "missing"))
	for name, c := range map[string]struct {
		err     error
		code    Code
		message string
		hint    string
	}{
		"an explained error as it is": {fmt.Errorf("wrapped: %w", New(Usage, "do this", "wrong %s", "thing")), Usage, "wrong thing", "do this"},
		"a library's hint":            {fmt.Errorf("open: %w", &keyring.NothingStagedError{Keyring: "k", Purpose: keyring.Seal}), Broken, "open: keyring k: no seal key is staged", "stage one with fieldcrypt rotate --stage"},
		"a missing table":             {&outboxstore.MissingError{Table: "t"}, Broken, `the database has no table "t"`, "run `fieldcrypt migrate`"},
		"a missing column":            {&outboxstore.MissingError{Table: "t", Column: "bidx_a"}, Broken, `table "t" has no column "bidx_a"`, "run `fieldcrypt migrate`"},
		"a missing keyring":           {&envelope.MissingKeyringError{Keyring: "k", Type: "a.b", Version: 1}, Broken, "keyring k is not configured, and a.b version 1 seals with it", "configure it with --keyring k=URL"},
		"a file":                      {missing, Broken, missing.(*os.PathError).Path + ": no such file or directory", ""},
		"an interrupt":                {fmt.Errorf("x: %w", context.Canceled), Broken, "interrupted", ""},
		"a reader that went away":     {&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, Broken, "", ""},
		"anything else":               {errors.New("odd"), Broken, "odd", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Explain(c.err)
			if got.Code != c.code || got.Message != c.message || got.Hint != c.hint {
				t.Errorf("%d %q %q, want %d %q %q", got.Code, got.Message, got.Hint, c.code, c.message, c.hint)
			}
		})
	}
}
