package index

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

type planFlags struct {
	rows, distinct int64
	topShare       share
	others         []string
	slow           string
}

func (f *planFlags) bind(set *pflag.FlagSet) {
	set.Int64Var(&f.rows, "rows", 0, "how many rows `N` the table will have")
	set.Int64Var(&f.distinct, "distinct", 0, "how many different values `M` they will hold (default: as many as rows)")
	set.Var(&f.topShare, "top-share", "the share of rows that hold the most frequent value, such as 0.015 or 1.5% (default: all values are equally frequent)")
	set.StringArrayVar(&f.others, "other", nil, "another blind index on the same row, `BITS[:DISTINCT]`; repeatable")
	set.StringVar(&f.slow, "argon2id", "", "also say what the step argon2id(`PASSES,KIB`) costs on this machine")
}

func newPlan(app *cli.App) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan --rows N [--distinct M] [--top-share P]",
		Short: "Say what each length of a blind index costs and gives away",
		Long: `For each number of bits: how many rows with another value a search finds (what is opened in
vain), how many values share a bucket, how many rows look alike by all indexes of a row
together, how many bits these show together, and the share of the largest bucket. A length
is recommended if at least two values share a bucket, at least two rows look alike, the most
frequent value does not stand out as the largest bucket, and a search finds no more wrong
rows than the square root of all rows. Where no length does, the command says why: exit 3.

The figures hold against someone who reads the table and has no key. Who has the index key
can try all values; argon2id makes each try dear, and each search and write as dear.`,
		Example: `  fieldcrypt index plan --rows 65536
  fieldcrypt index plan --rows 1000000 --distinct 81 --top-share 18%
  fieldcrypt index plan --rows 1000000 --other 12 --other 8:81
  fieldcrypt index plan --rows 1000000 --argon2id 2,19456`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run, NoFile: true}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *planFlags) run(_ context.Context, s *cli.Session, _ []string) error {
	input, err := f.input()
	if err != nil {
		return err
	}
	p, err := blindindex.NewPlan(input)
	if err != nil {
		return failure.New(failure.Usage, "see `fieldcrypt index plan --help`", "%w", err)
	}
	say := sayPlan
	if s.JSON() {
		say = planJSON
	}
	if err := say(s, p); err != nil {
		return err
	}
	if f.slow != "" {
		if err := f.sayCost(s, p); err != nil {
			return err
		}
	}
	if p.Why != "" {
		return failure.New(failure.Refused, "index fewer fields of the row, or two together in a compound index; docs/blind-index.md says what an index shows to whom",
			"no length can be recommended: %s", p.Why)
	}
	return nil
}

func (f *planFlags) input() (blindindex.PlanInput, error) {
	input := blindindex.PlanInput{Rows: f.rows, Distinct: f.distinct, TopShare: float64(f.topShare)}
	if f.rows == 0 {
		return input, failure.New(failure.Usage, "say how many rows the table will have: --rows 1000000", "--rows is missing")
	}
	if f.distinct == 0 {
		input.Distinct = f.rows
	}
	for _, text := range f.others {
		bits, distinct, some := strings.Cut(text, ":")
		var other blindindex.OtherIndex
		var err error
		if other.Bits, err = strconv.Atoi(bits); err == nil && some {
			other.Distinct, err = strconv.ParseInt(distinct, 10, 64)
		}
		if err != nil {
			return input, failure.New(failure.Usage, "write --other 16 or --other 16:81", "--other is no BITS[:DISTINCT]")
		}
		input.Others = append(input.Others, other)
	}
	return input, nil
}

// shown are the choices that people see: all until an index names each value, and the default.
func shown(p *blindindex.Plan) []blindindex.Choice {
	var list []blindindex.Choice
	for _, c := range p.Choices {
		named := c.ValuesPerBucket < 1.005
		if !named || c.Bits == blindindex.MinBits || c.Bits == blindindex.DefaultBits {
			list = append(list, c)
		}
	}
	return list
}

func sayPlan(s *cli.Session, p *blindindex.Plan) error {
	t := s.Terminal
	frequent := "all equally frequent"
	if p.Input.TopShare*float64(p.Input.Distinct) > 1+1e-9 {
		frequent = "the most frequent in " + percent(p.Input.TopShare) + " of the rows"
	}
	if err := t.Printf("%d rows, %d distinct values, %s, %d other indexes\n", p.Input.Rows, p.Input.Distinct, frequent, len(p.Input.Others)); err != nil {
		return err
	}
	if err := t.Printf("bits  wrong rows in  values in  rows that   bits shown  largest"); err != nil {
		return err
	}
	if err := t.Printf("      a search       a bucket   look alike  together    bucket"); err != nil {
		return err
	}
	for _, c := range shown(p) {
		mark := ""
		if p.Min <= c.Bits && c.Bits <= p.Max {
			mark = "  recommended"
		}
		if err := t.Printf("%4d  %-13s  %-9s  %-10s  %-10s  %s%s", c.Bits, number(c.FalsePositives), number(c.ValuesPerBucket), number(c.Coincidences), number(c.JointBits), percent(c.LargestShare), mark); err != nil {
			return err
		}
	}
	if p.Why != "" {
		return nil
	}
	above := ""
	if c, ok := p.Choice(p.Max + 1); ok && !c.Hides {
		above = "; above, " + c.Reason
	}
	return t.Printf("\nrecommended: %d to %d bits%s", p.Min, p.Max, above)
}

func planJSON(s *cli.Session, p *blindindex.Plan) error {
	for _, c := range p.Choices {
		err := s.Terminal.JSON(struct {
			Bits            int     `json:"bits"`
			FalsePositives  float64 `json:"false_positives"`
			ValuesPerBucket float64 `json:"values_per_bucket"`
			Coincidences    float64 `json:"coincidences"`
			JointBits       float64 `json:"joint_bits"`
			LargestShare    float64 `json:"largest_share"`
			Recommended     bool    `json:"recommended"`
			Reason          string  `json:"reason"`
		}{c.Bits, c.FalsePositives, c.ValuesPerBucket, c.Coincidences, c.JointBits, c.LargestShare, p.Min <= c.Bits && c.Bits <= p.Max, c.Reason})
		if err != nil {
			return err
		}
	}
	return s.Terminal.JSON(struct {
		Rows     int64   `json:"rows"`
		Distinct int64   `json:"distinct"`
		TopShare float64 `json:"top_share"`
		Min      int     `json:"min"`
		Max      int     `json:"max"`
		Why      string  `json:"why"`
	}{p.Input.Rows, p.Input.Distinct, p.Input.TopShare, p.Min, p.Max, p.Why})
}

// sayCost measures the slow hash here and says what it makes of writes, searches, rebuilds and guesses.
func (f *planFlags) sayCost(s *cli.Session, p *blindindex.Plan) error {
	step := "argon2id(" + f.slow + ")"
	one, err := blindindex.SlowHashTime(step, s.Now)
	if err != nil {
		return failure.New(failure.Usage, "see `fieldcrypt index plan --help`", "%w", err)
	}
	all := time.Duration(math.Min(float64(one)*float64(p.Input.Rows), math.MaxInt64))
	if s.JSON() {
		return s.Terminal.JSON(struct {
			Step         string  `json:"step"`
			ValueSeconds float64 `json:"value_seconds"`
			RowsSeconds  float64 `json:"rows_seconds"`
			GuessSeconds float64 `json:"guess_seconds"`
		}{step, one.Seconds(), one.Seconds() * float64(p.Input.Rows), one.Seconds() * float64(p.Input.Distinct)})
	}
	return s.Terminal.Printf(`
%s: %s a value on this machine, for each write, and in a search for each key, type and version
a rebuild of %d rows takes %s on one core; who has the index key tries %d values in %s`, step, rounded(one), p.Input.Rows, rounded(all),
		p.Input.Distinct, rounded(time.Duration(math.Min(float64(one)*float64(p.Input.Distinct), math.MaxInt64))))
}

// rounded writes a duration to two digits that count.
func rounded(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.1f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.1f minutes", d.Minutes())
	case d >= time.Second:
		return fmt.Sprintf("%.1f seconds", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
