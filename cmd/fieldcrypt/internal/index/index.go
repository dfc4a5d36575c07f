// Package index is the command `fieldcrypt index`: what blind indexes cost and give away.
package index

import (
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "index",
		Short: "Plan blind indexes, and measure what live ones give away",
		Long: `A blind index shows, without any key, which rows hold the same value and how often it
occurs. plan says what a length would show and cost, leaks measures what a table shows.`,
		Example: `  fieldcrypt index plan --rows 1000000 --distinct 1000000
  fieldcrypt index leaks --max-share 5%`,
	}, newLeaks(app), newPlan(app))
}

// share is a flag's value: 0.05 or 5%.
type share float64

func (s *share) String() string { return strconv.FormatFloat(float64(*s), 'g', -1, 64) }
func (s *share) Type() string   { return "SHARE" }

func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(number, 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value > 0 && value <= 1) {
		return failure.New(failure.Usage, "write 0.05 or 5%", "a share lies above 0 and is at most 1")
	}
	*s = share(value)
	return nil
}

// number writes a figure to three digits that count, without an exponent.
func number(x float64) string {
	if math.Abs(x) < 1e-6 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	return strconv.FormatFloat(x, 'f', min(max(digits, 0), 6), 64)
}

func percent(x float64) string { return number(100*x) + "%" }
