package storetest

import "testing"

// RunWrites runs the parts about writing in a caller's transaction, for a dialect that has several ways of doing so.
func RunWrites[Tx any](t *testing.T, d Dialect[Tx]) {
	t.Run("Write", func(t *testing.T) { t.Parallel(); testWrite(t, d) })
	t.Run("Model", func(t *testing.T) { t.Parallel(); testModel(t, d) })
}

// Run runs the whole suite.
func Run[Tx any](t *testing.T, d Dialect[Tx]) {
	for _, part := range []struct {
		name string
		test func(*testing.T, Dialect[Tx])
	}{
		{"Write", testWrite[Tx]},
		{"Migrate", testMigrate[Tx]},
		{"Read", testRead[Tx]},
		{"Find", testFind[Tx]},
		{"Buckets", testBuckets[Tx]},
		{"Replace", testReplace[Tx]},
		{"Keyrings", testKeyrings[Tx]},
		{"AuditTrail", testAuditTrail[Tx]},
		{"Reencrypt", testReencrypt[Tx]},
		{"IndexVersions", testIndexVersions[Tx]},
		{"Verify", testVerify[Tx]},
		{"Model", testModel[Tx]},
		{"Processes", testProcesses[Tx]},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, d)
		})
	}
}

// run is one test on a migrated database of its own.
func run[Tx any](t *testing.T, d Dialect[Tx], name string, test func(*suite[Tx])) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(newMigrated(t, d))
	})
}

// runEmpty is one test on an empty database of its own.
func runEmpty[Tx any](t *testing.T, d Dialect[Tx], name string, test func(*suite[Tx])) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(newSuite(t, d))
	})
}
