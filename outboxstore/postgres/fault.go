package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// SQLSTATEs that mean something to us: https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeUndefinedTable   = "42P01"
	codeUndefinedColumn  = "42703"
	codeUndefinedSchema  = "3F000"
	codeTypeMismatch     = "42804"
	codePlanChanged      = "0A000" // "cached plan must not change result type"
	codeInsufficient     = "42501"
	codeDeadlock         = "40P01"
	codeReadOnly         = "25006"
	codeFailedTx         = "25P02"
	codeNoActiveTx       = "25P01"
	codeIdleTimeout      = "25P03"
	codeTooManyConns     = "53300"
	codeQueryCanceled    = "57014"
	codeLockNotAvailable = "55P03"
	codeNoDatabase       = "3D000"
	codeStatementMissing = "26000" // a pooler gave another server connection than the one that prepared
	codeStatementTwice   = "42P05"
)

// sqlState is the server's code in an error of any driver.
func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

// fault makes a driver's error one that may be shown: it names no value, whatever the server or the driver says. An error of
// the context stays one, and what is typed already stays as it is.
func fault(doing string, err error) error {
	if err == nil || isOurs(err) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, context.Canceled)
	}
	e := &outboxstore.DatabaseError{Doing: doing, Code: sqlState(err)}
	switch {
	case e.Code != "":
		e.Fault, e.Err = faultOf(e.Code), serverError(err, e.Code)
	case errors.Is(err, context.DeadlineExceeded):
		e.Fault, e.Err = outboxstore.FaultTimeout, context.DeadlineExceeded
	case errors.Is(err, pgx.ErrTxClosed), errors.Is(err, sql.ErrTxDone), errors.Is(err, sql.ErrConnDone), errors.Is(err, pgx.ErrTxCommitRollback):
		e.Fault, e.Err = outboxstore.FaultTransaction, shown(err)
	case isBusy(err):
		e.Fault, e.Err = outboxstore.FaultTransaction, errConnBusy
	default:
		e.Fault, e.Err = connectionFault(err), shown(err)
	}
	return e
}

// isOurs says that an error has been made fit to be shown: of our types, those that say what to do next, and these.
func isOurs(err error) bool {
	var hinted interface {
		error
		Hint() string
	}
	var missing *outboxstore.MissingError
	var event *outboxstore.EventError
	var row *outboxstore.RowError
	return errors.As(err, &hinted) || errors.As(err, &missing) || errors.As(err, &event) || errors.As(err, &row)
}

// faultOf sorts the server's codes.
func faultOf(code string) outboxstore.DatabaseFault {
	switch code {
	case codeReadOnly:
		return outboxstore.FaultReadOnly
	case codeFailedTx, codeNoActiveTx:
		return outboxstore.FaultTransaction
	case codeIdleTimeout:
		return outboxstore.FaultLost
	case codeInsufficient:
		return outboxstore.FaultPermission
	case codeNoDatabase:
		return outboxstore.FaultNoDatabase
	case codeTooManyConns:
		return outboxstore.FaultConnections
	case codeQueryCanceled:
		return outboxstore.FaultTimeout
	case codeLockNotAvailable:
		return outboxstore.FaultLocked
	case codeStatementMissing, codeStatementTwice:
		return outboxstore.FaultSettings
	case "42704", "22023": // as a parameter of the connection; our own SQL names nothing that might be undefined
		return outboxstore.FaultSettings
	}
	switch code[:min(2, len(code))] {
	case "08":
		return outboxstore.FaultLost
	case "22", "23", "44", "54", "P0":
		return outboxstore.FaultRefused
	case "28":
		return outboxstore.FaultLogin
	case "40":
		return outboxstore.FaultSerialization
	case "53":
		return outboxstore.FaultSpace
	case "57":
		return outboxstore.FaultStopping
	}
	return outboxstore.FaultOther
}

// serverError is the driver's own error where the server's texts of that kind hold no value, so that a caller's retry loop
// finds what it looks for; else the code and the names in it alone.
func serverError(err error, code string) error {
	var pg *pgconn.PgError
	isPg := errors.As(err, &pg)
	var connecting *pgconn.ConnectError
	if isPg && errors.As(err, &connecting) {
		return pg // no row is in play yet
	}
	switch faultOf(code) {
	case outboxstore.FaultRefused, outboxstore.FaultOther, outboxstore.FaultSettings:
		bare := &pgconn.PgError{Severity: "ERROR", Code: code, Message: "its message is left out, since it may hold a value"}
		if isPg {
			bare.SchemaName, bare.TableName, bare.ColumnName, bare.ConstraintName, bare.DataTypeName = pg.SchemaName, pg.TableName, pg.ColumnName, pg.ConstraintName, pg.DataTypeName
			if pg.ConstraintName != "" {
				bare.Message = "constraint " + pg.ConstraintName
			}
			if code == "42P07" || code == "42710" { // of DDL: the name that is taken
				bare.Message = pg.Message
			}
			if code == codeStatementMissing || code == codeStatementTwice {
				bare.Message = "a connection pooler mixes up prepared statements: add default_query_exec_mode=exec to the URL"
			}
		}
		return bare
	}
	if isPg { // without what was wrapped around it
		return pg
	}
	return err
}

// connectionFault sorts what happened before a server answered, or instead of it.
func connectionFault(err error) outboxstore.DatabaseFault {
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		if pgconn.Timeout(err) {
			return outboxstore.FaultTimeout
		}
		if errors.Is(err, pgconn.ErrReadOnlyConnection) { // target_session_attrs=read-write met a standby
			return outboxstore.FaultReadOnly
		}
		return outboxstore.FaultUnreachable
	}
	var network net.Error
	switch {
	case errors.Is(err, pgconn.ErrConnClosed), errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return outboxstore.FaultLost
	default:
		return outboxstore.FaultOther
	}
}

// shown keeps of a driver's error what cannot hold a value or a password.
func shown(err error) error {
	var leaves []string
	walk(err, func(leaf error) {
		if text := leafText(leaf); len(leaves) == 0 || leaves[len(leaves)-1] != text {
			leaves = append(leaves, text)
		}
	})
	return &shownError{text: strings.Join(leaves, "; "), err: sentinel(err)}
}

// shownError is the text of an error, and of its chain only what carries no more than that.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }
func (e *shownError) Unwrap() error { return e.err }

// walk visits the innermost errors.
func walk(err error, visit func(error)) {
	switch e := err.(type) {
	case *net.OpError, *net.DNSError, *pgconn.PgError:
		visit(err)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			walk(inner, visit)
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			walk(inner, visit)
			return
		}
		visit(err)
	default:
		visit(err)
	}
}

// leafText is an allow list: the text of an unknown error might quote an argument.
func leafText(err error) string {
	switch err.(type) {
	case *net.OpError, *net.DNSError, syscall.Errno, x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError, *tls.CertificateVerificationError, tls.RecordHeaderError:
		return err.Error()
	}
	for _, known := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, driver.ErrBadConn, context.DeadlineExceeded,
		pgx.ErrTxClosed, pgx.ErrTxCommitRollback, sql.ErrTxDone, sql.ErrConnDone,
		pgconn.ErrReadOnlyConnection, pgconn.ErrReadWriteConnection, pgconn.ErrPrimaryConnection,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	switch text := err.Error(); text { // no exported error
	case "server refused TLS connection", "closed pool":
		return text
	}
	return fmt.Sprintf("an error of type %T, whose text is left out since it may hold a value", err)
}

// sentinel is what a caller may want to find in the chain.
func sentinel(err error) error {
	for _, known := range []error{
		pgconn.ErrConnClosed, driver.ErrBadConn, pgx.ErrTxClosed, pgx.ErrTxCommitRollback, sql.ErrTxDone,
		context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF, syscall.ECONNREFUSED, syscall.ECONNRESET,
	} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

// isBusy: pgx has no exported error for a connection whose last result is still open.
func isBusy(err error) bool {
	busy := false
	walk(err, func(leaf error) { busy = busy || leaf.Error() == errConnBusy.Error() })
	return busy
}

var errConnBusy = errors.New("conn busy")

// isStale says that the tables are not what was read of them before.
func isStale(err error) bool {
	var missing *outboxstore.MissingError
	if errors.As(err, &missing) {
		return true
	}
	switch sqlState(err) {
	case codeUndefinedTable, codeUndefinedColumn, codeUndefinedSchema, codeTypeMismatch, codePlanChanged:
		return true
	default:
		return false
	}
}

// isRefusal says that the database refused a row, and would take others.
func isRefusal(err error) bool {
	var e *outboxstore.DatabaseError
	return errors.As(err, &e) && e.Fault == outboxstore.FaultRefused
}
