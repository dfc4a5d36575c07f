package keyring

import "github.com/tink-crypto/tink-go/v2/tink"

// KEK is the key-encryption key that seals a keyring's keysets: Tink's
// AEADWithContext, and a name.
//
// The KEK must bind the associated data that it is given; [Manager.Create]
// proves this before it trusts one.
type KEK interface {
	tink.AEADWithContext
	// URI names the KEK without any secret. The document records it, and it is
	// compared with the KEK that was configured; it is never followed. Two
	// keyrings may not be sealed by one KEK, so no two may share a URI.
	URI() string
}
