// Package bench measures fieldcrypt beside other ways to the same end, in one run, since absolute times drift. It is a module of its own:
// what it compares with is nothing that a user of fieldcrypt compiles.
//
//	scripts/bench performance
//
// docs/performance.md is made of its output by report.
package bench
