package main

import (
	"os"
	"strings"
	"testing"
)

// sample is the output of a run of two rounds, made up so that every ratio can be checked by hand.
func sample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/sample.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func pageOf(t *testing.T, output string) (string, error) {
	t.Helper()
	m, err := read(strings.NewReader(output), "sample")
	if err != nil {
		return "", err
	}
	return m.page()
}

func TestThePageHoldsMediansAndRatiosOfTheOutput(t *testing.T) {
	t.Parallel()
	page, err := pageOf(t, sample(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"median of 3 runs", "Some CPU, 2 cores, go1.26.8, linux/amd64, 2026-11-30",
		"| sealing without validation, to its primitives | ≤ 2 | 1.50 |  |",                   // 1,500 to 1,000 ns: the median of 900, 1,000 and 5,000
		"| opening, to its primitives | ≤ 2 | 2.50 | **missed** |",                            // 2,500 to 1,000 ns
		"| sealing with validation, to validation and sealing without it | ≤ 1.1 | 1.00 |  |", // 11.5 to 10 + 1.5 µs
		"| events a second on two cores, to one | ≥ 1.8 | 1.70 | **missed** |",
		"| sealing 10 times the bytes, from 60000 | ≤ 11 | 11.50 | **missed** |",
		"| opening 10 times the flagged members, from 1 | ≤ 11 | 4.00 |  |",
		"| allocations of sealing without validation | ≤ 2 | 2 |  |",
		"| **fieldcrypt** | 1.00 | 11.5 | 190 | 0 |", "2.15.0, field-level encryption, KMS in the process | 4.00 | 46.0 | 387 | 3 |",
		"| the same, a KMS that answers in 1 ms | 300 | 3450 | 390 | 3 |",
		"| Order/part=seal-primitives | 1.00 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Index(page, "## Ratios") > strings.Index(page, "## All figures") {
		t.Error("ratios come first")
	}
	if a, b := strings.Index(page, "| Size/seal/bytes=6000 |"), strings.Index(page, "| Size/seal/bytes=600000 |"); a < 0 || b < a {
		t.Error("sizes are not in the order of their numbers")
	}
}

func TestARowThatNeedsCgoIsLeftOutAndAnyOtherIsNot(t *testing.T) {
	t.Parallel()
	without := func(name string) string {
		var kept []string
		for line := range strings.SplitSeq(sample(t), "\n") {
			if !strings.HasPrefix(line, "Benchmark"+name) {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "\n")
	}
	page, err := pageOf(t, without("Order/way=confluent"))
	if err != nil || strings.Count(page, "needs cgo, and was left out") != 2 {
		t.Errorf("%v: %s", err, page)
	}
	for _, name := range []string{"Order/way=naive", "Order/part=seal-primitives", "Cores/cores=2", "Size/open/bytes=600000"} {
		if _, err := pageOf(t, without(name)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestAnOutputWithoutBenchmarksIsRefused(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"", "PASS\nok\n", "goos: linux\n"} {
		if _, err := pageOf(t, output); err == nil {
			t.Errorf("%q makes a page", output)
		}
	}
}

// docs/performance.md must be of this program as it is: the same rows, the same promises.
func TestTheCommittedPageHasEveryRow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, b := range bounds() {
		if !strings.Contains(page, b.promise()) {
			t.Errorf("docs/performance.md lacks %q; make it anew", b.promise())
		}
	}
	for _, way := range ways {
		if !strings.Contains(page, "| "+way.what+" |") {
			t.Errorf("docs/performance.md lacks %q; make it anew", way.what)
		}
	}
}
