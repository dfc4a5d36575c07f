// Package storetest is the conformance suite that every dialect of the outbox passes.
//
// A dialect brings a [Dialect]: how to make an empty database, how to connect to one, and raw access behind the store's
// back. Its test package is two functions:
//
//	func TestMain(m *testing.M) { storetest.Main(m, dialect) }
//
//	func TestConformance(t *testing.T) { storetest.Run(t, dialect) }
//
// Main makes the test binary a helper process where the suite starts it as one: some laws are about several processes, and
// about processes that are killed. Everything runs on real databases, with real keys and real events.
package storetest
