// Command report writes docs/performance.md from the output of scripts/bench performance:
//
//	go -C bench run ./report ../.cache/bench/performance.txt > docs/performance.md
//
// Every figure on the page is a median of that output. A bound that is not met is called missed; it changes no exit code, since a busy machine
// misses bounds too.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report BENCHMARK-OUTPUT > docs/performance.md")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := read(f, path)
	if err != nil {
		return err
	}
	page, err := m.page()
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(page)
	return err
}
