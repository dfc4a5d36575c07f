// Package interop checks fieldcrypt's messages against what others wrote: the CloudEvents SDK of the CNCF for Go, with its Kafka, HTTP and JSON codecs. It
// is a module of its own, so that nobody who uses fieldcrypt compiles the SDK, and holds tests alone.
package interop
