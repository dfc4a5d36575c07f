package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// BenchmarkSize grows an event, its flagged values with it: 600 bytes to 600 KB.
func BenchmarkSize(b *testing.B) {
	for _, orders := range []int{1, 10, 100, 1000} {
		s := newSubject(b, batchType, batchSchema(), batchPayload(orders))
		b.Run(fmt.Sprintf("seal/bytes=%d", 600*orders), func(b *testing.B) { s.seal(b, s.trusting) })
		b.Run(fmt.Sprintf("open/bytes=%d", 600*orders), s.open)
	}
}

// BenchmarkFlagged grows the flagged members of an event: 1 to 1,000.
func BenchmarkFlagged(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		s := newSubject(b, formType, formSchema(n), formPayload(n))
		b.Run(fmt.Sprintf("seal/fields=%d", n), func(b *testing.B) { s.seal(b, s.trusting) })
		b.Run(fmt.Sprintf("open/fields=%d", n), s.open)
	}
}

const serviceHeap = 64 << 20

// BenchmarkCores seals the order in as many goroutines as there are cores. Each number of cores needs a process of its own: in one with -cpu 1,2 the
// first would be measured under what the start of the process left behind. The process has a heap of serviceHeap, as a service has: in an empty one Go
// collects some hundred times a second, and two cores of that are what is measured.
func BenchmarkCores(b *testing.B) {
	s := newOrder(b)
	heap := make([]byte, serviceHeap)
	defer runtime.KeepAlive(heap)
	b.Run(fmt.Sprintf("cores=%d", runtime.GOMAXPROCS(0)), func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			var buffer envelope.Buffer
			for pb.Next() {
				buffer.Reset()
				if _, err := s.trusting.AppendSeal(context.Background(), &buffer, s.event); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
