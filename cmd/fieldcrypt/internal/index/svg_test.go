package index

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func TestHistogramsAreXMLAndShowEveryRow(t *testing.T) {
	t.Parallel()
	counts := []blindindex.BucketCount{{Rows: 1, Buckets: 7}, {Rows: 2, Buckets: 3}, {Rows: 3, Buckets: 1}, {Rows: 4, Buckets: 1}, {Rows: 1 << 40, Buckets: 2}}
	p := picture{index: &schema.Index{Name: "tax_id"}, key: outboxstore.KeyBuckets{KeyID: 0x0f3a9c01, Buckets: counts}, leaks: blindindex.MeasureLeaks(counts)}
	drawn := histograms([]picture{p, {index: &schema.Index{Name: "empty"}}})
	decoder := xml.NewDecoder(bytes.NewReader(drawn))
	bars := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "title" {
			bars++
		}
	}
	if bars != 41 {
		t.Errorf("%d bars, want one for each power of 2 up to 40", bars)
	}
	for _, want := range []string{
		"tax_id under key 0f3a9c01: ", "7 rows in 7 buckets of 1 rows", "6 rows in 3 buckets of 2 rows", "7 rows in 2 buckets of 3–4 rows", "0 rows in 0 buckets of 5–8 rows",
		"2199023255552 rows in 2 buckets of 549755813889–1099511627776 rows", "empty: no rows",
	} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("no %q in %s", want, drawn)
		}
	}
	if histograms(nil) == nil {
		t.Error("nothing at all")
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{0: "0", 1e-9: "0", 0.00458: "0.00458", 0.5: "0.500", 1: "1.00", 15.26: "15.3", 99.96: "100.0", 3906.25: "3906", 123456789: "123456789", 1e-5: "0.000010"} {
		if got := number(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}

func TestSharesAreFractionsOrPercent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]share{"0.05": 0.05, "5%": 0.05, "1": 1, "100%": 1, "1.5%": 0.015} {
		var s share
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s is %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.01", "101%", "NaN", "Inf", "x", "5 %", "%"} {
		var s share
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}
