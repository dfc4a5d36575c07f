package main

import (
	"fmt"
	"slices"
	"strings"
)

// A bound is a promise of the project about a ratio of two medians of one run.
type bound struct {
	what string
	// needs are the benchmarks that ratio reads.
	needs []string
	ratio func(m *medians) float64
	limit float64
	least bool // the limit is the least that is promised, not the most
}

func bounds() []bound {
	all := []bound{
		{
			what: "sealing without validation, to its primitives", needs: []string{"Order/way=seal-unvalidated", "Order/part=seal-primitives"}, limit: 2,
			ratio: func(m *medians) float64 {
				return m.time("Order/way=seal-unvalidated") / m.time("Order/part=seal-primitives")
			},
		},
		{
			what: "opening, to its primitives", needs: []string{"Order/way=open", "Order/part=open-primitives"}, limit: 2,
			ratio: func(m *medians) float64 { return m.time("Order/way=open") / m.time("Order/part=open-primitives") },
		},
		{
			what: "sealing with validation, to validation and sealing without it", limit: 1.1,
			needs: []string{"Order/way=seal", "Order/part=validation", "Order/way=seal-unvalidated"},
			ratio: func(m *medians) float64 {
				return m.time("Order/way=seal") / (m.time("Order/part=validation") + m.time("Order/way=seal-unvalidated"))
			},
		},
		{
			what: "events a second on two cores, to one", needs: []string{"Cores/cores=1", "Cores/cores=2"}, limit: 1.8, least: true,
			ratio: func(m *medians) float64 { return m.time("Cores/cores=1") / m.time("Cores/cores=2") },
		},
	}
	for _, grown := range []struct {
		what, bench string
		from        []string
	}{
		{"%s 10 times the bytes, from %s", "Size/%s/bytes=%s", []string{"6000", "60000", "600000"}},
		{"%s 10 times the flagged members, from %s", "Flagged/%s/fields=%s", []string{"1", "10", "100", "1000"}},
	} {
		for _, do := range []string{"seal", "open"} {
			for i := 1; i < len(grown.from); i++ {
				small, large := fmt.Sprintf(grown.bench, do, grown.from[i-1]), fmt.Sprintf(grown.bench, do, grown.from[i])
				all = append(all, bound{
					what: fmt.Sprintf(grown.what, do+"ing", grown.from[i-1]), needs: []string{small, large}, limit: 11,
					ratio: func(m *medians) float64 { return m.time(large) / m.time(small) },
				})
			}
		}
	}
	return all
}

// ways are other ways to the same end, in the order of the page.
var ways = []struct{ bench, what, missing string }{
	{"Order/way=seal-unvalidated", "fieldcrypt, without validation", ""},
	{"Order/way=seal", "**fieldcrypt**", ""},
	{"Order/way=naive", "by hand: decode into a map, validate, encrypt three members with Tink, two HMACs, encode", ""},
	{"Order/way=confluent", "Confluent's serializer 2.15.0, field-level encryption, KMS in the process", "needs cgo, and was left out"},
	{"Order/way=confluent-kms-1ms", "the same, a KMS that answers in 1 ms", "needs cgo, and was left out"},
}

// page writes docs/performance.md.
func (m *medians) page() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

Made from the output of scripts/bench by bench/report; every figure is a median of %d runs, taken in turns. Absolute times drift by a fifth within an hour on one machine: compare the ratios.

%s, %s cores, %s, %s/%s, %s. To measure again, and to write this page:

`, m.runs(), orUnknown(m.config["cpu"]), orUnknown(m.config["cores"]), orUnknown(m.config["go"]), orUnknown(m.config["goos"]), orUnknown(m.config["goarch"]), orUnknown(m.config["date"]))
	b.WriteString("    scripts/bench performance\n    go -C bench run ./report ../.cache/bench/performance.txt > docs/performance.md\n\n")
	b.WriteString("The event, unless a row says otherwise, has 612 bytes and 12 fields, 3 of them flagged (one nested), 2 of these indexed. It is sealed into memory that is used again.\n")

	b.WriteString("\n## Ratios\n\n| | promised | measured | |\n|---|---:|---:|---|\n")
	for _, bound := range bounds() {
		if missing := slices.IndexFunc(bound.needs, func(n string) bool { return !m.has(n) }); missing >= 0 {
			return "", fmt.Errorf("the output lacks Benchmark%s; run scripts/bench", bound.needs[missing])
		}
		b.WriteString(bound.row(m))
	}
	fmt.Fprintf(&b, "| allocations of sealing without validation | ≤ 2 | %.0f | %s |\n", m.of("Order/way=seal-unvalidated", unitAllocs), verdict(m.of("Order/way=seal-unvalidated", unitAllocs) <= 2))
	b.WriteString(`
The primitives of sealing are one HMAC of a kept state (the event's key), one AES-256-GCM key set-up, 3 nonces in one read, 3 seals and 2 HMACs of kept states (the indexes); those of opening the HMAC, the key set-up and 3 opens. Validation is decoding with encoding/json's UseNumber, and jsonschema/v5. Each number of cores is measured in a process of its own, which has a heap of 64 MiB as a service has: in an empty one the collector, which then runs some hundred times a second, takes the second core (1.5 instead of 1.9).

### What bounds sealing and opening

` + "Twice the primitives is not reached for an event of this size. The table above is by the clock; by the processor time of the one thread (BenchmarkRatio of envelope), in which the collector's threads do not count, sealing is 2.5 times its primitives and opening 3.0. Where the time goes, by CPU profiles of envelope's BenchmarkSeal/way=trusted and BenchmarkOpen/way=append (AMD EPYC, one core, go1.26.8, 2026-12-01), in per cent of the event:" + `

| | sealing | opening |
|---|---:|---:|
| the primitives | 46 | 40 |
| the pass over the payload: strict JSON, the plan, duplicate names, what stands outside | 22 | 26 |
| base64 | 4 | 9 |
| tokens taken apart, and noted | | 6 |
| the messages of the indexes, and their keys' states looked up | 9 | |
| the associated data of the tokens | 3 | 3 |
| the fields around the payload checked | 4 | 1 |
| memory lent, zeroed and given back | 4 | 4 |
| copying, and all else | 8 | 11 |

The primitives take a quarter more here than in a loop of their own, where their code and tables stay in the nearest cache; so with nothing else done at all the ratios would be 1.2. The pass alone costs 0.4 of sealing's primitives and 0.8 of opening's. What was tried and gave nothing: a loop of its own for runs of plain members (slower: what it cannot take is looked at twice), and names that need no escapes in a pointer copied whole.

## Beside other ways

| | to fieldcrypt | µs | allocations | calls to a KMS |
|---|---:|---:|---:|---:|
`)
	own := m.time("Order/way=seal")
	for _, way := range ways {
		if !m.has(way.bench) {
			if way.missing == "" {
				return "", fmt.Errorf("the output lacks Benchmark%s; run scripts/bench", way.bench)
			}
			fmt.Fprintf(&b, "| %s | %s | | | |\n", way.what, way.missing)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f | %.0f |\n", way.what, ratioText(m.time(way.bench)/own), micros(m.time(way.bench)), m.of(way.bench, unitAllocs), m.of(way.bench, unitKMS))
	}
	b.WriteString(`
Confluent's serializer is the real client, against a registry that the benchmark serves on the loopback interface, with validation on. It makes no blind indexes, binds no ciphertext to its place, and validates what is already encrypted. The way by hand finds its three members by name.

## All figures

| benchmark | µs | ± % | bytes | allocations |
|---|---:|---:|---:|---:|
`)
	for _, bench := range sorted(m) {
		fmt.Fprintf(&b, "| %s | %s | %d | %.0f | %.0f |\n", bench, micros(m.time(bench)), m.spread(bench), m.of(bench, unitBytes), m.of(bench, unitAllocs))
	}
	b.WriteString("\n± is how far the middle half of the runs lies from the median.\n")
	return b.String(), nil
}

func (b bound) row(m *medians) string {
	r := b.ratio(m)
	kept := r <= b.limit
	if b.least {
		kept = r >= b.limit
	}
	return fmt.Sprintf("%s %s | %s |\n", b.promise(), ratioText(r), verdict(kept))
}

// promise is the row as far as it does not depend on what was measured.
func (b bound) promise() string {
	sign := "≤"
	if b.least {
		sign = "≥"
	}
	return fmt.Sprintf("| %s | %s %s |", b.what, sign, strings.TrimSuffix(fmt.Sprintf("%.1f", b.limit), ".0"))
}

func verdict(kept bool) string {
	if kept {
		return ""
	}
	return "**missed**"
}

// ratioText has two decimals, so that a bound that is missed by little shows; a large one has none.
func ratioText(r float64) string {
	if r >= 100 {
		return fmt.Sprintf("%.0f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

func micros(seconds float64) string {
	us := seconds * 1e6
	switch {
	case us >= 100:
		return fmt.Sprintf("%.0f", us)
	case us >= 10:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.2f", us)
}

func orUnknown(s string) string {
	if s == "" {
		return "(not said)"
	}
	return s
}

// sorted gives the benchmarks by name, sizes by their number.
func sorted(m *medians) []string {
	var names []string
	for name := range m.values {
		if m.has(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		pa, na := splitNumber(a)
		pb, nb := splitNumber(b)
		if pa != pb {
			return strings.Compare(pa, pb)
		}
		return na - nb
	})
	return names
}

func splitNumber(name string) (string, int) {
	prefix, digits, found := strings.Cut(name, "=")
	n := 0
	if _, err := fmt.Sscanf(digits, "%d", &n); err != nil || !found {
		return name, 0
	}
	return prefix, n
}
