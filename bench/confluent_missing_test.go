//go:build !cgo

package bench

import (
	"testing"
	"time"
)

func benchmarkConfluent(b *testing.B, _ time.Duration) {
	b.Skip("Confluent's client needs cgo and a C compiler: CGO_ENABLED=1 go test -bench .")
}
