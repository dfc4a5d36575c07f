//go:build published

// Package published pins the Go modules that hold published test data, so that
// go.sum vouches for them. It is never compiled: tests find the data's folder
// with testenv.Module. The npm packages are pinned by package-lock.json.
package published

import (
	_ "github.com/c2sp/wycheproof"      // AES-GCM, HKDF and HMAC vectors
	_ "github.com/kaptinlin/jsonschema" // holds JSON-Schema-Test-Suite in its testdata
)
