package main

import (
	"maps"
	"slices"

	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/logical/transit"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"

	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
)

// What can be mounted. A further engine or login is one line here.
var (
	secretEngines = map[string]logical.Factory{
		"kv":      kv.Factory,
		"transit": transit.Factory,
	}
	logins = map[string]logical.Factory{
		"approle":    approle.Factory,
		"kubernetes": kubernetes.Factory,
	}
)

// registry is the plugin catalogue over these maps; without one Vault panics
// when something is mounted.
type registry struct{}

func (registry) factories(kind consts.PluginType) map[string]logical.Factory {
	switch kind {
	case consts.PluginTypeSecrets:
		return secretEngines
	case consts.PluginTypeCredential:
		return logins
	default:
		return nil
	}
}

// Contains says whether there is such a plugin.
func (r registry) Contains(name string, kind consts.PluginType) bool {
	return r.factories(kind)[name] != nil
}

// Get returns what makes a plugin's factory.
func (r registry) Get(name string, kind consts.PluginType) (func() (any, error), bool) {
	factory, ok := r.factories(kind)[name]
	return func() (any, error) { return factory, nil }, ok
}

// Keys lists the plugins of a kind.
func (r registry) Keys(kind consts.PluginType) []string {
	return slices.Sorted(maps.Keys(r.factories(kind)))
}

// DeprecationStatus of what is there is supported.
func (r registry) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	if r.Contains(name, kind) {
		return consts.Supported, true
	}
	return consts.Unknown, false
}

// IsBuiltinEntPlugin is false: nothing of Vault Enterprise is here.
func (registry) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
