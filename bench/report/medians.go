package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"

	"golang.org/x/perf/benchfmt"
)

// medians are the medians of a run, by benchmark and unit, and what the run says of the machine.
type medians struct {
	values map[string]map[string][]float64
	config map[string]string
}

// Units as benchfmt writes them.
const (
	unitTime   = "sec/op"
	unitAllocs = "allocs/op"
	unitBytes  = "B/op"
	unitKMS    = "kms-calls/op"
)

// processors is what testing puts behind a benchmark's name.
var processors = regexp.MustCompile(`-[0-9]+$`)

// said are the keys of the lines that describe the run: those of go test, and those that scripts/bench adds.
var said = []string{"goos", "goarch", "cpu", "cores", "go", "date", "command"}

func read(from io.Reader, name string) (*medians, error) {
	m := &medians{values: map[string]map[string][]float64{}, config: map[string]string{}}
	reader := benchfmt.NewReader(from, name)
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, rec
		case *benchfmt.Result:
			for _, key := range said {
				if v := rec.GetConfig(key); v != "" {
					m.config[key] = v
				}
			}
			bench := processors.ReplaceAllString(rec.Name.String(), "")
			if m.values[bench] == nil {
				m.values[bench] = map[string][]float64{}
			}
			for _, v := range rec.Values {
				m.values[bench][v.Unit] = append(m.values[bench][v.Unit], v.Value)
			}
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(m.values) == 0 {
		return nil, fmt.Errorf("%s holds no benchmarks; run scripts/bench", name)
	}
	for _, units := range m.values {
		for _, values := range units {
			slices.Sort(values)
		}
	}
	return m, nil
}

func (m *medians) has(bench string) bool { return len(m.values[bench][unitTime]) > 0 }

// of is the median of a benchmark in a unit, 0 where the unit is not reported.
func (m *medians) of(bench, unit string) float64 {
	values := m.values[bench][unit]
	n := len(values)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}

func (m *medians) time(bench string) float64 { return m.of(bench, unitTime) }

// spread is how far the farthest of the middle half lies from the median, in percent.
func (m *medians) spread(bench string) int {
	values := m.values[bench][unitTime]
	median := m.time(bench)
	low, high := values[len(values)/4], values[len(values)-1-len(values)/4]
	return int(100*max(high-median, median-low)/median + 0.5)
}

func (m *medians) runs() int {
	most := 0
	for _, units := range m.values {
		most = max(most, len(units[unitTime]))
	}
	return most
}
