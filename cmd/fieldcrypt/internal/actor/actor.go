// Package actor names who runs the program, for the history of a keyring.
package actor

import (
	"os"
	"os/user"
	"strconv"
	"strings"
	"unicode"
)

// Name is the operating system's user and host, as in alice@build7.
func Name() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		name += "@" + host
	}
	// The keyring takes nothing that could steer a terminal.
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}
