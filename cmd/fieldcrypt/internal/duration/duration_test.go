package duration

import (
	"testing"
	"time"
)

func TestParseTakesDaysAndWeeksBesideGosUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "0d": 0, "90d": 90 * day, "2w": 14 * day, "1d12h": 36 * time.Hour, "1w1d": 8 * day, "1.5d": 36 * time.Hour,
		"10m": 10 * time.Minute, "250ms": 250 * time.Millisecond, "1h1d": 25 * time.Hour, "5µs": 5 * time.Microsecond,
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseRefusesWhatIsNoDuration(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "d", "90", "-1d", "+1d", "1y", "1 d", "1d ", "99999999999w", "106752d", "9999999999h", "1e3d", "1d-2h", "106751d99999h"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		}
	}
}

func TestFormatReadsBack(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{time.Nanosecond, time.Second, 90 * time.Second, 10 * time.Minute, time.Hour, 90 * time.Minute, day, 36 * time.Hour, 90 * day} {
		if got, err := Parse(Format(d)); err != nil || got != d {
			t.Errorf("Parse(Format(%v)) = Parse(%q) = %v, %v", d, Format(d), got, err)
		}
	}
}
