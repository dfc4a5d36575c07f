package schema

// ValidateWireRules is ValidateWire for who has walked the payload along the Plan and found a token at each flagged location and nowhere else:
// it checks the event's own rules alone, in a fraction of the time, and gives the same errors.
func (e *EventSchema) ValidateWireRules(payload []byte) error {
	if rules := e.wire.rulesOf(e); rules != nil && rules.Check(payload) == nil {
		return nil
	}
	return e.ValidateWire(payload)
}

// rulesOf gives the weakened schema without the skeleton of tokens beside it; nil where there is none by itself.
func (w *wireForm) rulesOf(e *EventSchema) *EventSchema {
	w.ruling.Do(func() {
		text, err := deriveWire(e, wireRule{noTokens: true, noMembers: true})
		if err != nil {
			return
		}
		if rules, err := compileWire(e, text); err == nil {
			w.rules = rules
		}
	})
	return w.rules
}
