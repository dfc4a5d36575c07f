package envelope

// InWireForm is a Sealed or a Received: what may leave as a message. No other type implements it, so no code path leads from a plaintext Event to one.
//
// A Received may hold a plaintext where a token belongs, as what it came from may: Parse does not look for that, a Verifier and an Opener do.
type InWireForm interface {
	Wire() Wire
	IsZero() bool
	inWireForm()
}

func (Sealed) inWireForm()   {}
func (Received) inWireForm() {}
