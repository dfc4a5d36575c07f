// Package validate is what CI runs over schemas and sample events, and what `fieldcrypt validate` and `fieldcrypt lint` print.
//
// Events are checked as a producer's Sealer would judge them, without its keyrings:
//
//	events, err := validate.NewEvents(ctx, reg, validate.EventOptions{})
//	defer events.Close()
//	count, err := events.Check(ctx, "samples.ndjson", file, reporter.Report)
//
// NewWireEvents does the same for sealed lines, without keys.
//
// Schemas are linted once they load:
//
//	result, err := validate.Lint(reg, validate.LintOptions{Ignore: ignores})
//
// The rule that matters most there, personal-unflagged, finds a field that looks personal by its English or Turkish name or by its format
// and that is not sealed. It is a guess, made to miss little: what it is wrong about is ignored with a reason ([Ignore]), and an entry that
// no finding needs any more is a finding itself.
//
// What is found is data, a [Finding], and a [Reporter] writes it as text, JSON lines, annotations on a pull request, JUnit or SARIF.
//
// # What it promises
//
// Every finding says where it is: file, line, column in bytes, and a JSON pointer. None holds a payload's value, or a member's name that the
// schema does not spell out.
//
// # What it does not do
//
// It does not say that schemas are right: whether a field is personal data is for people to decide, and this package only asks.
package validate
