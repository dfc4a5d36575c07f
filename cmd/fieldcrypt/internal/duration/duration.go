// Package duration reads the durations of the command line: Go's, and d for days of 24 hours and w for weeks of 7 days.
package duration

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

const day = 24 * time.Hour

var (
	whole = regexp.MustCompile(`^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|[smhdw]))+$`)
	long  = regexp.MustCompile(`(\d+(?:\.\d*)?|\.\d+)([dw])`)
)

// Parse reads a duration such as 90d, 2w, 1d12h or 10m. It is never negative: no command has a use for one.
func Parse(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	if !whole.MatchString(text) {
		return 0, fmt.Errorf("%q is no duration such as 90d, 2w or 10m", text)
	}
	var total time.Duration
	for _, part := range long.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		unit := day
		if part[2] == "w" {
			unit = 7 * day
		}
		if err != nil || n*float64(unit) > float64(1<<62) {
			return 0, fmt.Errorf("the duration %q is too long", text)
		}
		total += time.Duration(n * float64(unit))
	}
	if rest := long.ReplaceAllString(text, ""); rest != "" {
		short, err := time.ParseDuration(rest)
		if err != nil {
			return 0, fmt.Errorf("the duration %q is too long", text)
		}
		total += short
	}
	if total < 0 {
		return 0, fmt.Errorf("the duration %q is too long", text)
	}
	return total, nil
}

// Format writes a duration as a person says it: in whole weeks or days where it is that, else as Go does, without empty units.
func Format(d time.Duration) string {
	switch {
	case d >= day && d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d >= time.Minute && d%time.Minute == 0:
		text := strings.TrimSuffix(d.String(), "0s")
		return text
	}
	return d.String()
}

// Value is a flag that holds a duration.
type Value struct {
	Duration time.Duration
	// IsSet tells 0 from a flag that was not given.
	IsSet bool
}

var _ pflag.Value = (*Value)(nil)

// Set implements [pflag.Value].
func (v *Value) Set(text string) error {
	d, err := Parse(text)
	if err != nil {
		return err
	}
	v.Duration, v.IsSet = d, true
	return nil
}

func (v *Value) String() string {
	if !v.IsSet {
		return ""
	}
	return Format(v.Duration)
}

// Type implements [pflag.Value]: the word that help shows for the flag's value.
func (v *Value) Type() string { return "duration" }
