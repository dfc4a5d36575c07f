# Each target is a script below scripts/, which says what it does at its top.
.PHONY: build demo test bench lint fuzz deps

build:  ## the command, in bin/
	@scripts/build

demo:   ## seal, write, find, rotate, verify and open real rows; needs Go, git and make only
	@scripts/demo

test:   ## everything, with the race detector
	@scripts/test

bench:  ## benchmarks, compared with the run before (COUNT=6)
	@scripts/bench

lint:   ## gofmt, go vet, staticcheck, govulncheck
	@scripts/lint

fuzz:   ## every fuzz target (FUZZTIME=10s)
	@scripts/fuzz

deps:   ## download modules and build the tools: what follows needs no network
	@scripts/deps
