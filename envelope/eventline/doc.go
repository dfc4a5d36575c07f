// Package eventline reads and writes events as lines of JSON, in the two forms that the command line knows:
//
//	plaintext: {"id":"0190…","type":"invoice.issued","version":1,"aggregate_type":"invoice","aggregate_id":"42","aggregate_version":7,
//	            "occurred_at":"2026-11-30T12:00:00Z","headers":{"traceparent":"…"},"payload":{…}}
//	sealed:    the same, payload in wire form, plus "key_ids":["seal:0f3a9c01"], and perhaps "blind_indexes":{"tax_id":"bi1:…"}
//
// A Reader gives one Line after the other; a line that is refused is an *Error with its position, and reading goes on:
//
//	r := eventline.NewReader(os.Stdin, eventline.Plaintext, eventline.ReaderOptions{})
//	for {
//		line, err := r.Next()
//		var refused *eventline.Error
//		switch {
//		case err == io.EOF:
//			return nil
//		case errors.As(err, &refused):
//			fmt.Fprintln(os.Stderr, refused)
//			continue
//		case err != nil:
//			return err
//		}
//		sealed, err := sealer.Seal(ctx, line.Event())
//		if err != nil {
//			for _, refused := range line.Refuse(err) {
//				fmt.Fprintln(os.Stderr, refused)
//			}
//			continue
//		}
//		out, err = eventline.AppendSealed(out[:0], sealed.Wire(), sealed.KeyIDs(), nil)
//		…
//	}
//
// # What it promises
//
//   - A payload's bytes go through as they are, both ways. Only CR and LF between its tokens become spaces when a line is written.
//   - A line may be as long as the payload's limit in its form plus 64 KiB. A longer one is refused and skipped, and never held in memory whole.
//   - Unknown members, duplicate ones, wrong types and missing ones are refused with line and column; nothing is guessed.
//   - No error holds a value, or a member's name that this format does not have.
//
// # What it does not
//
// It finds where a payload ends, and leaves what is in it to package envelope, which knows the schema and so can say where a fault is.
package eventline
