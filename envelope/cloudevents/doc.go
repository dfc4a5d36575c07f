// Package cloudevents writes sealed events as messages, and reads them: the form that events have on a broker (docs/format.md 10), which is CloudEvents 1.0
// in binary mode for Kafka, and CloudEvents 1.0 in JSON and for HTTP.
//
// A producer, or a relay, turns what is sealed into a message of its broker's library:
//
//	codec, err := cloudevents.New(cloudevents.Options{Source: "https://shop.example/invoices"})
//	…
//	message, err := codec.Message(sealed)
//	…
//	record := &kgo.Record{Topic: "invoices", Key: []byte(sealed.Wire().AggregateID), Value: message.Body}
//	for _, h := range message.Headers {
//		record.Headers = append(record.Headers, kgo.RecordHeader(h))
//	}
//
// A consumer reads it back, opens it, and only then marks the event as seen, by consumer, type and id:
//
//	received, err := codec.ParseMessage(message)
//	…
//	opened, err := opener.Open(ctx, received, envelope.OpenOptions{})
//
// HTTP and ParseHTTP do the same for requests, AppendJSON and ParseJSON for CloudEvents' JSON format.
//
// # What it promises
//
//   - Only a Sealed or a Received becomes a message. There is no way from a plaintext Event to one.
//   - The payload goes through byte for byte: as the body, or spliced into the JSON. It is never decoded and encoded again.
//   - Blind indexes stand in no message.
//   - Nothing is guessed: what stands twice, contradicts itself, lacks a part, or is no event of fieldcrypt's is refused with an *Error.
//   - No error holds a value.
//
// # What it does not
//
//   - It has no client of a broker, and opens no connection.
//   - A message proves nothing about its headers and its clear values; see package envelope.
//   - A Received is what it came from: a row that somebody else wrote may hold a plaintext where a token belongs. Where that can be, a relay asks an
//     envelope.Verifier first, which needs no keys.
//   - Attributes that it does not know are headers of the event. The source is checked, and not kept: another message of the same event has the source of
//     the Codec that writes it.
//
// # Errors
//
// What is wrong with a message is an *Error, with a Kind and the attribute. What is wrong with identifiers and payload is said by the errors of
// envelope.Parse. envelope.HintOf says what to do next.
package cloudevents
