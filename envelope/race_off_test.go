//go:build !race

package envelope_test

const lawScale = 1
