package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// customer is a row, opened. TaxID is nil where there is none, or none any more.
type customer struct {
	ID    string
	City  string
	Name  string
	TaxID *string
}

// person is what a row keeps sealed: the schema's.
type person struct {
	Name  string  `json:"name"`
	TaxID *string `json:"tax_id"`
}

// ErrTaken says that another customer has this tax id.
var ErrTaken = errors.New("another customer has this tax id")

// customers is the table. Each row's personal data is one small payload with its own schema, sealed for (customer, 1, the
// row's id): moved to another row it does not open.
type customers struct {
	db      *sql.DB
	dialect blindindex.Dialect
	sealer  *envelope.Sealer
	opener  *envelope.Opener
	index   *blindindex.Index
	taxID   *blindindex.Column
}

const (
	rowType    = "customer"
	rowVersion = 1
)

func newCustomers(db *sql.DB, dialect blindindex.Dialect, registry *schema.Registry, ring *keyring.Keyring) (*customers, error) {
	rings, err := keyring.NewSet(ring)
	if err != nil {
		return nil, err
	}
	c := &customers{db: db, dialect: dialect}
	if c.sealer, err = envelope.NewSealer(registry, rings, envelope.Options{}); err != nil {
		return nil, err
	}
	if c.opener, err = envelope.NewOpener(registry, rings, envelope.Options{}); err != nil {
		return nil, err
	}
	for _, declared := range registry.Indexes() {
		if declared.Name != "tax_id" {
			continue
		}
		if c.index, err = envelope.BlindIndex(declared); err != nil {
			return nil, err
		}
		c.taxID, err = blindindex.NewColumn(ring, c.index, blindindex.ColumnOptions{})
		return c, err
	}
	return nil, errors.New("the schema declares no blind index tax_id")
}

//readme:begin ddl

// create makes the table, and the column of the blind index as the library says it is made.
func (c *customers) create(ctx context.Context) error {
	jsonType := "json" // not jsonb, which would change the sealed payload's bytes
	if c.dialect == blindindex.SQLite {
		jsonType = "TEXT"
	}
	statements, err := c.taxID.DDL(c.dialect, "customers", blindindex.DDLOptions{Unique: true})
	if err != nil {
		return err
	}
	statements = append([]string{"CREATE TABLE customers (id CHAR(36) NOT NULL PRIMARY KEY, city VARCHAR(100) NOT NULL, sealed " + jsonType + " NOT NULL)"}, statements...)
	for _, statement := range statements {
		if _, err := c.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

//readme:end

// seal gives a row's sealed payload and the value of its index column, which is NULL without a tax id.
func (c *customers) seal(ctx context.Context, r customer) (payload string, taxID any, err error) {
	text, err := json.Marshal(person{r.Name, r.TaxID})
	if err != nil {
		return "", nil, err
	}
	sealed, err := c.sealer.Seal(ctx, envelope.Event{ID: r.ID, Type: rowType, Version: rowVersion, AggregateID: r.ID, Payload: text})
	if err != nil {
		return "", nil, err
	}
	if values := sealed.BlindIndexes()["tax_id"]; len(values) > 0 {
		taxID = blindindex.Stored(values[0]) // what c.taxID.Value(*r.TaxID) computes, too
	}
	return string(sealed.Wire().Payload), taxID, nil
}

// received is a row's payload for an Opener.
func received(id, payload string) (envelope.Received, error) {
	return envelope.Parse(envelope.Wire{ID: id, Type: rowType, Version: rowVersion, AggregateID: id, Payload: []byte(payload)}, envelope.Limits{})
}

// open is the way back.
func (c *customers) open(ctx context.Context, id, city, payload string) (customer, error) {
	received, err := received(id, payload)
	if err != nil {
		return customer{}, err
	}
	opened, err := c.opener.Open(ctx, received, envelope.OpenOptions{})
	if err != nil {
		return customer{}, err
	}
	var p person
	if err := json.Unmarshal(opened.Event.Payload, &p); err != nil {
		return customer{}, err
	}
	return customer{ID: id, City: city, Name: p.Name, TaxID: p.TaxID}, nil
}

// insert adds a customer and gives its id, or ErrTaken.
func (c *customers) insert(ctx context.Context, r customer) (id string, err error) {
	r.ID = uuid.NewString()
	payload, taxID, err := c.seal(ctx, r)
	if err != nil {
		return "", err
	}
	return r.ID, c.inTx(ctx, func(tx *sql.Tx) error {
		if err := c.checkFree(ctx, tx, r.TaxID); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, "INSERT INTO customers (id, city, sealed, bidx_tax_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", r.ID, r.City, payload, taxID)
		return onlyRow(result, err, ErrTaken)
	})
}

//readme:begin unique

// checkFree does what the unique index cannot do while more than one index key is usable: a tax id then has a form under
// each, and two rows with one tax id would not collide. It looks for all forms, under a lock that all who insert take.
func (c *customers) checkFree(ctx context.Context, tx *sql.Tx, taxID *string) error {
	err := c.taxID.CheckUnique()
	var rotating *blindindex.NotUniqueError
	if taxID == nil || !errors.As(err, &rotating) {
		return err
	}
	if c.dialect == blindindex.Postgres { // SQLite's write transactions exclude each other
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext('customers.tax_id'))"); err != nil {
			return err
		}
	}
	where, args, err := c.taxID.Where(c.dialect, 1, taxID)
	if err != nil {
		return err
	}
	var taken bool
	if err := tx.QueryRowContext(ctx, "SELECT count(*) > 0 FROM customers WHERE "+where, args...).Scan(&taken); err != nil {
		return err
	}
	if taken {
		return ErrTaken
	}
	return nil
}

//readme:end

//readme:begin search

// candidates are the rows that may hold a tax id: in whatever form, under whatever usable key.
func (c *customers) candidates(ctx context.Context, taxID string) (*sql.Rows, error) {
	where, args, err := c.taxID.Where(c.dialect, 1, taxID)
	if err != nil {
		return nil, err
	}
	return c.db.QueryContext(ctx, "SELECT id, city, sealed FROM customers WHERE "+where+" ORDER BY id", args...)
}

//readme:end

// find gives the customers with a tax id. The rows that the index gives are opened and compared, which an index of 128 bits
// hardly needs: a shorter one gives rows of others, too.
func (c *customers) find(ctx context.Context, taxID string) (found []customer, err error) {
	search, err := c.index.Search(blindindex.Asked{Text: taxID, String: true})
	if err != nil {
		return nil, err
	}
	rows, err := c.candidates(ctx, taxID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, city, payload string
		if err := rows.Scan(&id, &city, &payload); err != nil {
			return nil, err
		}
		row, err := received(id, payload)
		if err != nil {
			return nil, err
		}
		if holds, err := c.opener.Holds(ctx, row, c.index.Name(), search.Messages()); err != nil {
			return nil, err
		} else if !holds {
			continue
		}
		r, err := c.open(ctx, id, city, payload)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// forgetTaxID erases a customer's tax id, and its index in the same statement: a keyed hash that stays would go on to answer
// the question whether this person is a customer.
func (c *customers) forgetTaxID(ctx context.Context, id string) error {
	return c.inTx(ctx, func(tx *sql.Tx) error {
		lock := " FOR UPDATE"
		if c.dialect == blindindex.SQLite {
			lock = ""
		}
		var city, payload string
		if err := tx.QueryRowContext(ctx, "SELECT city, sealed FROM customers WHERE id = $1"+lock, id).Scan(&city, &payload); err != nil {
			return err
		}
		r, err := c.open(ctx, id, city, payload)
		if err != nil {
			return err
		}
		r.TaxID = nil
		payload, none, err := c.seal(ctx, r)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, "UPDATE customers SET sealed = $2, bidx_tax_id = $3 WHERE id = $1", id, payload, none)
		return onlyRow(result, err, sql.ErrNoRows)
	})
}

// reseal brings every row under today's primary keys: the sealed value, and its index. Afterwards the former index key can
// be disabled, and the unique index means again what it says.
func (c *customers) reseal(ctx context.Context) (changed int, err error) {
	ids, err := c.ids(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		err := c.inTx(ctx, func(tx *sql.Tx) error {
			var city, before string
			err := tx.QueryRowContext(ctx, "SELECT city, sealed FROM customers WHERE id = $1", id).Scan(&city, &before)
			if err != nil {
				return err
			}
			r, err := c.open(ctx, id, city, before)
			if err != nil {
				return err
			}
			payload, taxID, err := c.seal(ctx, r)
			if err != nil {
				return err
			}
			// Only if the row still is what was read: a change in between has been sealed under today's keys already.
			cast := ""
			if c.dialect == blindindex.Postgres {
				cast = "::text" // json has no equality
			}
			result, err := tx.ExecContext(ctx, "UPDATE customers SET sealed = $2, bidx_tax_id = $3 WHERE id = $1 AND sealed"+cast+" = $4", id, payload, taxID, before)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			changed += int(n)
			return err
		})
		if err != nil && !errors.Is(err, sql.ErrNoRows) { // deleted meanwhile
			return changed, err
		}
	}
	return changed, nil
}

func (c *customers) ids(ctx context.Context) (ids []string, err error) {
	rows, err := c.db.QueryContext(ctx, "SELECT id FROM customers ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// inTx runs f in a transaction.
func (c *customers) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// onlyRow turns a statement that changed nothing into an error.
func onlyRow(result sql.Result, err, none error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return none
}
