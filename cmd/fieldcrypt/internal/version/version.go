// Package version is the command `fieldcrypt version`.
package version

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version this is and how it was built",
		Long:  "Says which version this is, from which commit it was built, and with which Go.",
		Example: `  fieldcrypt version
  fieldcrypt version --output json`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: run, NoFile: true}),
	}
}

// info is what the Go toolchain wrote into the binary.
type info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func read() info {
	v := info{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if build.Main.Version != "" {
		v.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func run(_ context.Context, s *cli.Session, _ []string) error {
	v := read()
	if s.JSON() {
		return s.Terminal.JSON(v)
	}
	if err := s.Terminal.Printf("fieldcrypt %s", v.Version); err != nil {
		return err
	}
	if v.Revision != "" {
		changed := ""
		if v.Modified {
			changed = ", with changes that were not committed"
		}
		if err := s.Terminal.Printf("commit %s of %s%s", v.Revision, v.Time, changed); err != nil {
			return err
		}
	}
	return s.Terminal.Printf("built with %s for %s", v.Go, v.Platform)
}
