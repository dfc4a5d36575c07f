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
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
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
		"an interrupted write to Vault": {&vaultkeyring.Error{Address: "http://v", Operation: "write", Path: "kv/data/k", Problem: vaultkeyring.ErrUncertain, Err: context.Canceled}, Broken,
			"vault http://v: write kv/data/k: it is not known whether the document was written", "run fieldcrypt keys list when Vault answers again; it shows whether the change was made"},
		"an interrupted read from Vault": {&vaultkeyring.Error{Operation: "read", Problem: context.Canceled}, Broken, "interrupted", ""},
		"Vault's end of a connection": {&vaultkeyring.Error{Address: "http://v", Operation: "read", Path: "kv/data/k", Problem: vaultkeyring.ErrUnreachable, Detail: "broken pipe", Err: syscall.EPIPE}, Broken,
			"vault http://v: read kv/data/k: vault cannot be reached: broken pipe", "check VAULT_ADDR, VAULT_CACERT and the network, and whether Vault runs (vault status)"},
		"a keyring that Vault does not open": {&keyring.UnsealError{Keyring: "k", Err: &vaultkeyring.Error{Address: "http://v", Operation: "decrypt", Path: "t/decrypt/k", Problem: vaultkeyring.ErrDenied, Capability: "update"}}, Broken,
			"keyring k: the keysets do not open: vault http://v: decrypt t/decrypt/k: permission denied: the token lacks the capability update", `add to a policy of the token: path "t/decrypt/k" { capabilities = ["update"] }`},
		"a database that is away": {&outboxstore.DatabaseError{Doing: "open the outbox", Fault: outboxstore.FaultUnreachable}, Broken,
			"open the outbox: the database cannot be reached", "check host and port of the outbox's URL, and that the database is running"},
		"a connection that was lost": {fmt.Errorf("x: %w", &outboxstore.DatabaseError{Doing: "read rows", Fault: outboxstore.FaultLost}), Broken,
			"x: read rows: the connection to the database was lost", Again},
		"anything else": {errors.New("odd"), Broken, "odd", ""},
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
