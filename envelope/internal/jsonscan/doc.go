// Package jsonscan is the lexer below every walk over outside bytes: RFC 8259 in UTF-8, no duplicate names compared after decoding escapes, no lone
// surrogates, bounded numbers. It hands out spans of the input and copies nothing, since fieldcrypt must give back the bytes it was given.
//
// It is ours because no library gives spans, limits with an offset, and faults without a piece of the input in their text, all at once: the errors of
// encoding/json and of jsontext quote names and characters of the payload.
package jsonscan
