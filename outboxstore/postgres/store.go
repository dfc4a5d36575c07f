package postgres

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// Options of a Writer or a Store.
type Options struct {
	// ConnectTimeout is how long Open, and each later connection of the pool, waits for the server, for each address it has.
	// Defaults to the URL's connect_timeout, else PGCONNECT_TIMEOUT, else 10 seconds.
	ConnectTimeout time.Duration
	// Limits bound the events read back. Defaults to those of package envelope.
	Limits envelope.Limits
	// LockTimeout is how long a statement of Migrate waits for a lock, and so the longest time that it can hold up others.
	// Defaults to 5 seconds; -1 for no bound.
	LockTimeout time.Duration
	// MigrationWait is how long Migrate waits for another migration to end. Defaults to a minute.
	MigrationWait time.Duration
	// StatementTimeout bounds each statement of the store's own transactions, Migrate's excepted. Defaults to 5 minutes; -1
	// for no bound.
	StatementTimeout time.Duration
	// Table is the outbox table's name, [SCHEMA.]NAME; the schema defaults to public. Defaults to the URL's, else
	// outboxstore.DefaultTable.
	Table string
}

const (
	defaultConnectTimeout   = 10 * time.Second
	defaultLockTimeout      = 5 * time.Second
	defaultMigrationWait    = time.Minute
	defaultStatementTimeout = 5 * time.Minute
)

func (o Options) withDefaults() Options {
	if o.LockTimeout == 0 {
		o.LockTimeout = defaultLockTimeout
	}
	if o.MigrationWait <= 0 {
		o.MigrationWait = defaultMigrationWait
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = defaultStatementTimeout
	}
	return o
}

// keepAlive notices a peer that is gone within half a minute, while an answer is waited for.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// Store is an outbox in a Postgres database.
type Store struct {
	*Writer
	pool             *pgxpool.Pool
	ownsPool         bool
	statementTimeout time.Duration
	lockTimeout      time.Duration
	migrationWait    time.Duration
}

var (
	_ outboxstore.Store          = (*Store)(nil)
	_ outboxstore.Writer[pgx.Tx] = (*Store)(nil)
)

// Open connects to the database that a URL names: postgres://USER@HOST:PORT/DATABASE?table=[SCHEMA.]NAME, with the
// parameters of libpq and pgx (sslmode, connect_timeout, pool_max_conns, default_query_exec_mode …). It does not migrate.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	dsn, table, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if opts.Table == "" {
		opts.Table = table
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, ErrURL
	}
	configure(config, opts)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fault("open the outbox", err)
	}
	store, err := New(pool, opts)
	if err == nil {
		err = fault("open the outbox", store.ping(ctx))
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	store.ownsPool = true
	return store, nil
}

// configure sets what the URL leaves open.
func configure(config *pgxpool.Config, opts Options) {
	c := config.ConnConfig
	if opts.ConnectTimeout > 0 {
		c.ConnectTimeout = opts.ConnectTimeout
	}
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = defaultConnectTimeout
	}
	c.DialFunc = (&net.Dialer{Timeout: c.ConnectTimeout, KeepAliveConfig: keepAlive}).DialContext
	c.RuntimeParams["client_encoding"] = "UTF8" // in any other, the server would store other text than was sent
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "fieldcrypt"
	}
}

// New makes a Store on a pool of the caller's, who keeps it; Close leaves it open. Use a pool of at least two connections if
// rows are written while a Scan with Snapshot goes on.
func New(pool *pgxpool.Pool, opts Options) (*Store, error) {
	if pool == nil {
		return nil, errors.New("postgres.New needs a *pgxpool.Pool")
	}
	writer, err := NewWriter(opts)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	return &Store{
		Writer: writer, pool: pool,
		statementTimeout: opts.StatementTimeout, lockTimeout: opts.LockTimeout, migrationWait: opts.MigrationWait,
	}, nil
}

// bound is the time of one statement.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return pgxQuerier{timeout: s.statementTimeout}.bound(ctx)
}

func (s *Store) ping(ctx context.Context) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.pool.Ping(ctx)
}

// Pool is the pool of connections, for business rows in the transaction of Write.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Close closes the connections if Open made them.
func (s *Store) Close() error {
	if s.ownsPool {
		s.pool.Close()
	}
	return nil
}

// direct asks outside any transaction of ours: each statement is one.
func (s *Store) direct() querier { return pgxQuerier{handle: s.pool, timeout: s.statementTimeout} }
