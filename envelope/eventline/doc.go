// Package eventline: see doc.go (being written).
package eventline
