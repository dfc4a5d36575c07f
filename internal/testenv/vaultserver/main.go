package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// shutdownWait bounds how long requests under way are waited for.
const shutdownWait = 5 * time.Second

func main() {
	data := flag.String("data", "", "directory of the storage and of init.json (required)")
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	sealed := flag.Bool("sealed", false, "stay sealed")
	flag.Parse()
	if err := run(*data, *listen, *sealed); err != nil {
		fmt.Fprintf(os.Stderr, "error: vaultserver: %v\n", err)
		os.Exit(1)
	}
}

// ready is the line that says that the server serves.
type ready struct {
	Address   string `json:"address"`
	RootToken string `json:"root_token"`
	UnsealKey string `json:"unseal_key"`
}

func run(data, listen string, sealed bool) error {
	if data == "" {
		return fmt.Errorf("-data is required")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	ctx, orphaned := context.WithCancel(ctx)
	defer orphaned()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		orphaned()
	}()

	core, err := newCore(data)
	if err != nil {
		return err
	}
	keys, err := initialise(ctx, core, data)
	if err != nil {
		return err
	}
	if !sealed {
		if err := unseal(core, keys); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(core), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	line := ready{Address: "http://" + listener.Addr().String(), RootToken: keys.RootToken, UnsealKey: keys.UnsealKey}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		return err
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.Background(), shutdownWait)
	defer cancel()
	_ = server.Shutdown(wait) // what is still under way then is cut off
	return core.ShutdownWait()
}
