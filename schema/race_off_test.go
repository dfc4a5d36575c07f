//go:build !race

package schema

const lawScale = 1
