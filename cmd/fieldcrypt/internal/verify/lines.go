package verify

import (
	"context"
	"sync"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lines"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// judged is a line on its way through the workers; done is closed when its report is there.
type judged struct {
	line   *eventline.Line
	report envelope.Report
	err    error
	done   chan struct{}
}

// verifyLines verifies sealed lines, such as a topic's dump, several at once. Each finding is also reported where it stands, in the lines' order.
func verifyLines(ctx context.Context, s *cli.Session, verifier *envelope.Verifier, files []string, workers int, report *report) (total outcome, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tally := outboxstore.NewTally(verifier.NotChecked(), 0)
	// Few lines wait, since each may hold megabytes.
	work, inOrder := make(chan *judged), make(chan *judged, 2*workers)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for j := range work {
				stored := envelope.StoredIndexes{Values: j.line.BlindIndexes, Unknown: j.line.BlindIndexes == nil}
				j.report, j.err = verifier.Verify(ctx, j.line.Wire(), stored)
				close(j.done)
			}
		})
	}
	running.Go(func() {
		for j := range inOrder {
			<-j.done
			if j.err != nil {
				cancel(j.err)
				continue
			}
			tally.Add(outboxstore.DisplayID(j.line.ID), j.report)
			for _, f := range j.report.Findings {
				for _, at := range j.line.Refuse(&foundError{f}) {
					s.Terminal.Report(at.Error(), "")
					report.found(at.File, at.Line, at.Column, "", f)
				}
			}
		}
	})
	stream := lines.New(s, false)
	err = stream.Each(ctx, files, eventline.Sealed, func(line *eventline.Line) error {
		j := &judged{line: line, done: make(chan struct{})}
		select {
		case inOrder <- j:
		case <-ctx.Done():
			return lines.Fatal(context.Cause(ctx))
		}
		work <- j // workers end with the channel alone: each line in order is judged
		return nil
	})
	close(work)
	close(inOrder)
	running.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return total, err
	}
	// A line that is no event line has no id to name it by; its place was reported.
	tally.AddUnreadable(int64(stream.Refused))
	result := tally.Result()
	return outcome{result.Findings, result.Warnings}, report.say("", result)
}

// foundError gives a finding a position in its line.
type foundError struct{ envelope.Finding }

func (e *foundError) Error() string { return string(e.Severity) + ": " + describe(e.Finding) }
