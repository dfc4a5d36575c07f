package cloudevents

import (
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Writing and reading in each form, without sealing and opening.
func BenchmarkForms(b *testing.B) {
	sealed, c := newShop(b).seal(b, invoice()), newCodec(b, Options{})
	for _, name := range []string{"broker", "HTTP", "JSON"} {
		f := forms[name]
		b.Run(name+"/write", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.write(c, sealed); err != nil {
					b.Fatal(err)
				}
			}
		})
		message, err := f.write(c, sealed)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var received envelope.Received
				if received, err = f.read(c, message); err != nil || received.IsZero() {
					b.Fatal(err)
				}
			}
		})
	}
}
