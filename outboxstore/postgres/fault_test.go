package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const secret = "ali@example.org"

// otherDriver's errors have a code, as those of lib/pq.
type otherDriver struct{ code, text string }

func (e *otherDriver) Error() string    { return e.text }
func (e *otherDriver) SQLState() string { return e.code }

// Whatever a server or a driver says, no value gets into what may be shown.
func TestFaultsHoldNoValue(t *testing.T) {
	t.Parallel()
	for want, all := range map[outboxstore.DatabaseFault][]error{
		outboxstore.FaultRefused: {
			&pgconn.PgError{Code: "22P02", Message: "invalid input syntax for type uuid: " + secret},
			&pgconn.PgError{Code: "23505", Message: "duplicate key", Detail: "Key (aggregate_id)=(" + secret + ") already exists.", ConstraintName: "own"},
			&pgconn.PgError{Code: "P0001", Message: secret, Where: secret, Hint: secret, InternalQuery: secret},
			&otherDriver{"23514", "failing row contains " + secret},
		},
		outboxstore.FaultOther: {
			errors.New("failed to encode args[0]: unable to encode " + secret),
			fmt.Errorf("wrapped: %w", errors.New(secret)),
			errors.Join(errors.New(secret), fmt.Errorf("and %w", errors.New(secret))),
			&pgconn.PgError{Code: "XX000", Message: secret},
			&otherDriver{"", secret},
		},
		outboxstore.FaultLost: {
			fmt.Errorf("writing %s: %w", secret, io.ErrUnexpectedEOF),
			fmt.Errorf("writing %s: %w", secret, &net.OpError{Op: "read", Err: net.ErrClosed}),
		},
		outboxstore.FaultTimeout:     {fmt.Errorf("sending %s: %w", secret, context.DeadlineExceeded)},
		outboxstore.FaultTransaction: {fmt.Errorf("%s: %w", secret, sql.ErrTxDone)},
	} {
		for _, err := range all {
			got := fault("write", err)
			var e *outboxstore.DatabaseError
			if !errors.As(got, &e) || e.Fault != want || e.Hint() == "" {
				t.Errorf("%T: fault is %v, want %s", err, got, want)
			}
			for inner := got; inner != nil; inner = errors.Unwrap(inner) {
				if text := fmt.Sprintf("%v %+v %#v", inner, inner, inner); strings.Contains(text, secret) {
					t.Errorf("%T: the value stands in %T: %s", err, inner, text)
				}
			}
		}
	}
	if err := fault("read", fmt.Errorf("%s: %w", secret, context.Canceled)); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), secret) {
		t.Errorf("error is %v", err)
	}
	if fault("read", nil) != nil {
		t.Error("no error is one")
	}
}

// Retry loops look for their driver's own error.
func TestRetryableFaultsKeepTheDriversError(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"40001", "40P01", "55P03", "57P01", "53300"} {
		theirs := &otherDriver{code, "could not serialize access"}
		var other *otherDriver
		if err := fault("write", fmt.Errorf("x: %w", theirs)); !errors.As(err, &other) || other != theirs {
			t.Errorf("%s: %v", code, err)
		}
		ours := &pgconn.PgError{Code: code}
		var pg *pgconn.PgError
		var e *outboxstore.DatabaseError
		if err := fault("write", ours); !errors.As(err, &pg) || pg != ours || !errors.As(err, &e) || !e.Retryable() || e.Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
}
