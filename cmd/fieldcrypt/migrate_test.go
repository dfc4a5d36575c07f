package main

import (
	"strings"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// Processes that migrate one Postgres at once all succeed: each statement is carried out by one of them.
func TestMigrationsAtOnceMakeEachTableOnce(t *testing.T) {
	t.Parallel()
	project := newProjectOn(t, onServers(t), 0)
	migrateAtOnce(t, project, `CREATE TABLE \"public\".\"outbox_events\"`)
	// Once more on a table that is there, where each index is a step of its own.
	project.callWith(oneEvent, "write")
	more := project.with(map[string]string{"FIELDCRYPT_SCHEMAS": "schemas " + moreSchemas(t)})
	migrateAtOnce(t, more, `CREATE INDEX CONCURRENTLY`)
	more.mustCall("verify", "--strict")
}

func migrateAtOnce(t *testing.T, project *project, once string) {
	t.Helper()
	const runs = 4
	results := make([]result, runs)
	var wait sync.WaitGroup
	for i := range results {
		wait.Go(func() { results[i] = project.call("migrate", "--output", "json") })
	}
	wait.Wait()
	made := 0
	for _, r := range results {
		if r.code != failure.Done || strings.Contains(r.stdout, `"done":false`) {
			t.Errorf("%+v", r)
		}
		made += strings.Count(r.stdout, once)
	}
	if made != 1 {
		t.Errorf("%d processes say that they did %s, want 1", made, once)
	}
	project.mustCall("migrate", "--check")
}
