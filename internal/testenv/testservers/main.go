// Command testservers builds, supervises and ends the servers that tests share
// (see package testenv):
//
//	go run ./internal/testenv/testservers build   build the Vault server, if its sources changed
//	go run ./internal/testenv/testservers stop    end the servers that no test uses
//
// Tests run it as `testservers supervise KIND` themselves.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/server"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/share"
)

// startWait bounds the start of a server.
const startWait = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: testservers: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	usage := errors.New("want build, stop or supervise KIND -place DIR -idle DURATION")
	if len(args) == 0 {
		return usage
	}
	root, err := server.Repository()
	if err != nil {
		return err
	}
	switch args[0] {
	case "build":
		path, err := server.BuildVault(ctx, root, os.Stderr)
		if err == nil {
			fmt.Println(path)
		}
		return err
	case "stop":
		return stopAll(ctx, root)
	case "supervise":
		return supervise(ctx, root, args[1:])
	default:
		return usage
	}
}

func stopAll(ctx context.Context, root string) error {
	place, err := share.NewPlace(server.SharedDir(root))
	if err != nil {
		return err
	}
	for _, kind := range share.Kinds() {
		stopped, err := place.Stop(ctx, kind)
		var used *share.InUseError
		switch {
		case errors.As(err, &used):
			fmt.Println(used)
		case err != nil:
			return err
		case stopped:
			fmt.Printf("%s ended\n", kind)
		}
	}
	return nil
}

func supervise(ctx context.Context, root string, args []string) error {
	flags := flag.NewFlagSet("supervise", flag.ContinueOnError)
	dir := flags.String("place", "", "directory in which the test processes meet")
	idle := flags.Duration("idle", time.Minute, "end the server when it was idle for so long")
	if len(args) == 0 {
		return errors.New("want the kind of server")
	}
	kind, err := share.ParseKind(args[0])
	if err != nil {
		return err
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	place, err := share.NewPlace(*dir)
	if err != nil {
		return err
	}
	start := startPostgres
	if kind == share.Vault {
		start = func(ctx context.Context) (share.Server, share.Access, error) { return startVault(ctx, root) }
	}
	return place.Supervise(ctx, kind, *idle, start)
}

func startPostgres(ctx context.Context) (share.Server, share.Access, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	p, err := server.NewPostgres(ctx)
	if err != nil {
		return nil, share.Access{}, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, share.Access{}, errors.Join(err, p.Remove())
	}
	return p, share.Access{Dirs: []string{p.Dir()}, URL: p.URL()}, nil
}

func startVault(ctx context.Context, root string) (share.Server, share.Access, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	v, err := server.NewVault(root)
	if err != nil {
		return nil, share.Access{}, err
	}
	if err := v.Start(ctx, false); err != nil {
		return nil, share.Access{}, errors.Join(err, v.Remove())
	}
	return v, share.Access{Dirs: []string{v.Dir()}, Address: v.Address, RootToken: v.RootToken}, nil
}
