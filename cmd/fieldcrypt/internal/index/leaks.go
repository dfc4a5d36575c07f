package index

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/complete"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

type leaksFlags struct {
	indexes    []string
	maxShare   share
	minEntropy float64
	svg        string
}

func (f *leaksFlags) bind(set *pflag.FlagSet) {
	set.StringArrayVar(&f.indexes, "index", nil, "measure this blind index, by its `NAME`; repeatable (default: all that the schemas declare)")
	set.Var(&f.maxShare, "max-share", "exit 3 where the largest bucket holds a greater share of the rows, such as 0.05 or 5%")
	set.Float64Var(&f.minEntropy, "min-entropy", 0, "exit 3 where an index has less min-entropy than these `BITS`")
	set.StringVar(&f.svg, "svg", "", "also draw the buckets as histograms into this SVG `FILE`")
}

func newLeaks(app *cli.App) *cobra.Command {
	var f leaksFlags
	cmd := &cobra.Command{
		Use:   "leaks",
		Short: "Measure what the blind indexes of a live table give away",
		Long: `Counts, in the database, how the rows fall into the buckets of each blind index: what
everybody sees who can read the table and has no key. For each index: its rows (of an index
with several values a row, its values), distinct buckets, buckets of a single row, the
largest bucket's share, its min-entropy (-log2 of that share), and the Shannon entropy in
bits. Then the same of all indexes together, by which rows can be told apart.

A value has another bucket under each index key, and the key id in front says which: each
key is a picture of its own. The one with the most rows is judged by --max-share and
--min-entropy; with either the command is a check for CI, exit 3. No key is needed, and no
value is read.`,
		Example: `  fieldcrypt index leaks
  fieldcrypt index leaks --index tax_id --svg leaks.svg
  fieldcrypt index leaks --max-share 5% --min-entropy 6 --output json`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	complete.Flag(cmd, "index", complete.Indexes(app))
	return cmd
}

// picture is what one index shows under one key.
type picture struct {
	index   *schema.Index
	key     outboxstore.KeyBuckets
	leaks   blindindex.Leaks
	judged  bool
	verdict string // what it shows more than allowed; "" if nothing
}

func (f *leaksFlags) run(ctx context.Context, s *cli.Session, _ []string) error {
	if f.minEntropy < 0 || f.minEntropy != f.minEntropy {
		return failure.New(failure.Usage, "write --min-entropy 6", "--min-entropy is a number of bits, from 0")
	}
	reg, err := connect.Schemas(s)
	if err != nil {
		return err
	}
	indexes, err := f.choose(reg)
	if err != nil {
		return err
	}
	store, err := connect.Outbox(ctx, s)
	if err != nil {
		return err
	}
	defer store.Close()
	var pictures []picture
	var names []string
	for _, ix := range indexes {
		keys, err := store.IndexBuckets(ctx, ix.Name)
		if err != nil {
			return err
		}
		pictures = append(pictures, f.judge(ix, keys)...)
		names = append(names, ix.Name)
	}
	rows, err := store.RowBuckets(ctx, names)
	if err != nil {
		return err
	}
	say := sayLeaks
	if s.JSON() {
		say = leaksJSON
	}
	if err := say(s, pictures, names, blindindex.MeasureLeaks(rows)); err != nil {
		return err
	}
	if f.svg != "" {
		if err := os.WriteFile(f.svg, histograms(pictures), 0o666); err != nil {
			return failure.New(failure.Broken, "", "write the histograms: %w", err)
		}
	}
	return verdict(s, pictures)
}

func (f *leaksFlags) choose(reg *schema.Registry) ([]*schema.Index, error) {
	if len(reg.Indexes()) == 0 {
		return nil, failure.New(failure.Broken, "x-blind-index beside x-gdpr-sensitive makes one", "the schemas declare no blind index")
	}
	if len(f.indexes) == 0 {
		return reg.Indexes(), nil
	}
	var chosen []*schema.Index
	for _, name := range f.indexes {
		at := slices.IndexFunc(reg.Indexes(), func(ix *schema.Index) bool { return ix.Name == name })
		if at < 0 {
			return nil, failure.New(failure.Usage, "see `fieldcrypt plan TYPE` for the indexes of a type", "the schemas declare no blind index %s", strconv.Quote(name))
		}
		if !slices.Contains(chosen, reg.Indexes()[at]) {
			chosen = append(chosen, reg.Indexes()[at])
		}
	}
	return chosen, nil
}

// judge measures an index under each key, that with the most rows first, and judges this one.
func (f *leaksFlags) judge(ix *schema.Index, keys []outboxstore.KeyBuckets) []picture {
	if len(keys) == 0 {
		return []picture{{index: ix}}
	}
	var pictures []picture
	for _, key := range keys {
		pictures = append(pictures, picture{index: ix, key: key, leaks: blindindex.MeasureLeaks(key.Buckets)})
	}
	slices.SortStableFunc(pictures, func(a, b picture) int { return int(min(1, max(-1, b.leaks.Rows-a.leaks.Rows))) })
	p := &pictures[0]
	p.judged = true
	switch {
	case f.maxShare > 0 && p.leaks.LargestShare() > float64(f.maxShare):
		p.verdict = fmt.Sprintf("the largest bucket holds %s of %s, more than %s", percent(p.leaks.LargestShare()), terminal.Plural(p.leaks.Rows, "row", "rows"), percent(float64(f.maxShare)))
	case p.leaks.MinEntropy() < f.minEntropy:
		p.verdict = fmt.Sprintf("it has a min-entropy of %s bits over %s, less than %s", number(p.leaks.MinEntropy()), terminal.Plural(p.leaks.Rows, "row", "rows"), number(f.minEntropy))
	}
	return pictures
}

func sayLeaks(s *cli.Session, pictures []picture, names []string, joint blindindex.Leaks) error {
	width := len("together")
	for _, name := range names {
		width = max(width, len(name))
	}
	line := func(name, key string, l blindindex.Leaks) error {
		if l.Rows == 0 {
			return s.Terminal.Printf("%-*s  %-8s  %9d", width, name, key, 0)
		}
		return s.Terminal.Printf("%-*s  %-8s  %9d  %9d  %9d  %9d  %-8s  %-11s  %s", width, name, key, l.Rows, l.Buckets, l.Singletons, l.Largest, percent(l.LargestShare()),
			number(l.MinEntropy()), number(l.Bits()))
	}
	if err := s.Terminal.Printf("%-*s  key            rows    buckets     single    largest  share     min-entropy  bits", width, "index"); err != nil {
		return err
	}
	for _, p := range pictures {
		key := ""
		if p.judged || p.leaks.Rows > 0 {
			key = p.key.KeyID.String()
		}
		if err := line(p.index.Name, key, p.leaks); err != nil {
			return err
		}
	}
	if len(names) < 2 {
		return nil
	}
	return line("together", "", joint)
}

func leaksJSON(s *cli.Session, pictures []picture, names []string, joint blindindex.Leaks) error {
	type measured struct {
		Rows         int64   `json:"rows"`
		Buckets      int64   `json:"buckets"`
		Singletons   int64   `json:"singletons"`
		Largest      int64   `json:"largest"`
		LargestShare float64 `json:"largest_share"`
		MinEntropy   float64 `json:"min_entropy"`
		Bits         float64 `json:"bits"`
	}
	of := func(l blindindex.Leaks) measured {
		return measured{l.Rows, l.Buckets, l.Singletons, l.Largest, l.LargestShare(), l.MinEntropy(), l.Bits()}
	}
	for _, p := range pictures {
		key := ""
		if p.leaks.Rows > 0 {
			key = p.key.KeyID.String()
		}
		err := s.Terminal.JSON(struct {
			Index   string `json:"index"`
			Keyring string `json:"keyring"`
			Key     string `json:"key"`
			Judged  bool   `json:"judged"`
			measured
			Verdict string `json:"verdict"`
		}{p.index.Name, p.index.Keyring, key, p.judged, of(p.leaks), p.verdict})
		if err != nil {
			return err
		}
	}
	return s.Terminal.JSON(struct {
		Together []string `json:"together"`
		measured
	}{names, of(joint)})
}

// verdict ends the command with 3 where an index shows more than allowed.
func verdict(s *cli.Session, pictures []picture) error {
	bad := 0
	for _, p := range pictures {
		if p.verdict != "" {
			bad++
			s.Terminal.Report(fmt.Sprintf("index %s under key %s: %s", p.index.Name, p.key.KeyID, p.verdict), "")
		}
	}
	if bad == 0 {
		return nil
	}
	return failure.New(failure.Refused, "give the index fewer bits (see `fieldcrypt index plan`), index two fields together, or remove it", "%s more than allowed", terminal.Plural(bad, "index shows", "indexes show"))
}
