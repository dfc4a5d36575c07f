package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
)

// confirm asks before what cannot be undone. Without a terminal only --yes answers.
func confirm(ctx context.Context, s *cli.Session, yes bool, question string, args ...any) error {
	if yes {
		return nil
	}
	answer, err := terminal.Answer(ctx, s.Stdin, s.Stderr, fmt.Sprintf(question, args...)+" [yes/no] ")
	switch {
	case errors.Is(err, terminal.ErrNoTerminal):
		return failure.New(failure.Usage, "give --yes if you are sure", "this asks first, and there is no terminal to ask on")
	case err != nil:
		return err
	case strings.TrimSpace(answer) != "yes":
		return &failure.Error{Code: failure.Broken, Message: "nothing was changed", Cause: connect.ErrDeclined}
	}
	return nil
}
