package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
)

// BenchmarkWriteBatch measures rows written, sealing not counted.
func BenchmarkWriteBatch(b *testing.B) {
	for _, size := range []int{1, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := sealer(b)
			store := benchStore(b)
			for b.Loop() {
				b.StopTimer()
				batch := benchBatch(b, s, size)
				b.StartTimer()
				if _, err := store.WriteBatch(b.Context(), batch...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkReencrypt measures rows that are all stale.
func BenchmarkReencrypt(b *testing.B) {
	const rows = 1000
	reg := registry(b)
	ring := keyringtest.NewRing(b, keyringtest.Options{})
	set, err := keyring.NewSet(ring.Keyring)
	if err != nil {
		b.Fatal(err)
	}
	s, err := envelope.NewSealer(reg, set, envelope.Options{})
	if err != nil {
		b.Fatal(err)
	}
	resealer, err := envelope.NewResealer(reg, set, envelope.Options{})
	if err != nil {
		b.Fatal(err)
	}
	store := benchStore(b)
	if _, err := store.WriteBatch(b.Context(), benchBatch(b, s, rows)...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		ring.Rotate(keyring.Seal)
		b.StartTimer()
		r, err := outboxstore.Reencrypt(b.Context(), store, resealer, outboxstore.ReencryptOptions{})
		if err != nil || r.Rotated != rows {
			b.Fatalf("%+v, %v", r, err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func benchStore(b *testing.B) *sqlite.Store {
	b.Helper()
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "a.db"), sqlite.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(b.Context(), registry(b).Indexes()); err != nil {
		b.Fatal(err)
	}
	return store
}

func benchBatch(b *testing.B, s *envelope.Sealer, size int) []envelope.Sealed {
	b.Helper()
	var batch []envelope.Sealed
	for range size {
		batch = append(batch, seal(b, s, "a text of some forty characters, or more"))
	}
	return batch
}
