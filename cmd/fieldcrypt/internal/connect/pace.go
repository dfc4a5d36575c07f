package connect

import (
	"context"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// PaceOf begins to tell how far a run over all rows is. The rows are estimated only where somebody sees it.
func PaceOf(ctx context.Context, s *cli.Session, store outboxstore.Store) (terminal.Pace, error) {
	pace := terminal.Pace{Start: s.Now(), Now: s.Now}
	if !s.Terminal.Shown() {
		return pace, nil
	}
	var err error
	pace.Total, err = store.RowEstimate(ctx)
	return pace, err
}
