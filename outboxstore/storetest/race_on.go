//go:build race

package storetest

// lawScale divides the size of the law of search, whose processes and keyrings the race detector makes many times as long.
const lawScale = 25
