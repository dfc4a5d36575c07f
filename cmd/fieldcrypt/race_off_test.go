//go:build !race

package main

const lawScale = 1
