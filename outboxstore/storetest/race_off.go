//go:build !race

package storetest

// lawScale divides the size of the law of search.
const lawScale = 1
