package vaultkeyring

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// Role is what somebody does with a keyring.
type Role string

const (
	// Producer seals and writes events.
	Producer Role = "producer"
	// Consumer opens events.
	Consumer Role = "consumer"
	// Rotator stages and promotes keys, and re-encrypts.
	Rotator Role = "rotator"
	// Auditor reads everything but keys.
	Auditor Role = "auditor"
	// Creator makes the keyring, once.
	Creator Role = "creator"
	// Destroyer destroys keys for good.
	Destroyer Role = "destroyer"
)

// Roles lists all roles.
func Roles() []Role { return []Role{Producer, Consumer, Rotator, Auditor, Creator, Destroyer} }

//go:embed policies/*.hcl
var policies embed.FS

// Policy returns the least that a role needs in Vault for the keyring at a
// location, as a policy in HCL:
//
//	vault policy write fieldcrypt-producer producer.hcl
func Policy(role Role, l Location) (string, error) {
	if !slices.Contains(Roles(), role) {
		return "", fmt.Errorf("no role %q: want one of %v", string(role), Roles())
	}
	if err := l.check(); err != nil {
		return "", &URLError{URL: l.String(), Detail: err.Error()}
	}
	t, err := template.New(string(role)+".hcl").Option("missingkey=error").ParseFS(policies, "policies/"+string(role)+".hcl")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := t.Execute(&text, l); err != nil {
		return "", err
	}
	return text.String(), nil
}
