//go:build !linux

package server

import "errors"

// Pause is known on Linux alone.
func (p *process) Pause() error { return errors.New("a server can be paused on Linux only") }

// Resume is known on Linux alone.
func (p *process) Resume() error { return errors.New("a server can be resumed on Linux only") }
