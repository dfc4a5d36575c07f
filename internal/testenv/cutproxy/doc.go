// Package cutproxy is a way to a Postgres server that ends after a given number of messages, whoever sent them: with every
// number in turn, a test meets every moment at which a connection can break.
package cutproxy
