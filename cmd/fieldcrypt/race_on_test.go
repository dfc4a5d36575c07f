//go:build race

package main

// lawScale divides the size of the laws: the race detector makes them ten times as long.
const lawScale = 10
