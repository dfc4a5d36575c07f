// Package envelope seals events on their way into an outbox and opens them on their way out.
//
// A producer makes one Sealer for the process and seals each event before it writes it:
//
//	sealer, err := envelope.NewSealer(registry, keyrings, envelope.Options{})
//	…
//	sealed, err := sealer.Seal(ctx, envelope.Event{
//		Type:        "invoice.issued",
//		AggregateID: "42",
//		Payload:     []byte(`{"total":"99.90","email":"ada@example.org"}`),
//	})
//	…
//	results, err := store.Write(ctx, tx, sealed) // in the caller's own transaction
//
// Each value that the event type's schema flags stands in sealed.Wire().Payload as a token, fc1:KID:…; each value that it indexes has its blind index
// in sealed.BlindIndexes(). Every other byte is the caller's.
//
// A consumer parses what it got and opens it:
//
//	received, err := envelope.Parse(wire, envelope.Limits{})
//	…
//	opened, err := opener.Open(ctx, received, envelope.OpenOptions{})
//	…
//	handle(opened.Event.Payload) // the producer's bytes
//
// Typed does both for Go values, through encoding/json; package cloudevents turns what is sealed into messages, and reads them.
//
// Who handles many events gives the memory: AppendSeal seals into a Buffer, AppendOpen opens into a slice, and neither allocates anything but the event's
// AES key. SealAll and OpenAll use all cores.
//
//	var buf envelope.Buffer // of one goroutine
//	for batch := range batches {
//		for _, e := range batch {
//			sealed, err := sealer.AppendSeal(ctx, &buf, e)
//			…
//		}
//		results, err := store.Write(ctx, tx, all...)
//		…
//		buf.Reset() // what was sealed into it is refused from here on
//	}
//
// A Resealer brings stored events under today's primary keys; a Verifier says what is wrong with them.
//
// # What it promises
//
//   - Opening what was sealed gives the same bytes: number spellings, escapes, white space and all.
//   - A flagged value of any JSON type leaves as a token, and equal values as different ones. Short values, booleans and the members of an enum have
//     tokens of one length each.
//   - A payload is validated as plaintext, before anything is sealed; one that is not strict JSON is refused first (RFC 8259, UTF-8, no duplicate
//     names, no lone surrogates, bounded size, depth and numbers).
//   - Opening follows the schema: exactly the flagged locations hold tokens, or the whole event is refused. Nothing that merely looks like a token is
//     opened, and nothing that should be one is passed through.
//   - A token opens for its own event id, type, version and JSON pointer alone.
//   - Only a Sealer or a Resealer makes a Sealed, and only a Sealed can be written.
//   - No error text holds a payload's value, or a member's name that the schema does not spell out.
//
// # What it does not
//
//   - Member names, the aggregate id and headers are not sealed. Seal refuses an event whose aggregate id or headers repeat a flagged string or number
//     of 8 bytes or more; it does not look any further.
//   - Clear values, and which tokens are present, are not authenticated. Who can write the table can drop a field or change a clear one: sign the
//     message where that matters.
//   - Whoever holds a keyring can both seal and open.
//   - A pad hides lengths up to 256 bytes in steps of 16, and above that to within 12%; it does not hide that a value is long.
//
// # Errors
//
// Errors are typed. PlaceOf gives the place in the payload that an error is about, HintOf what to do next, and Retryable tells a key that another
// process may just have made.
package envelope
