package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Vault is a real Vault server with file storage.
type Vault struct {
	// VaultKeys are known once it has started.
	VaultKeys
	dir     string
	program string
	log     *os.File
	// stdin is held open: the server ends when it is closed, also by the end
	// of this process.
	stdin io.Closer
	*process
}

// VaultKeys is what the server prints when it is ready.
type VaultKeys struct {
	Address   string `json:"address"`
	RootToken string `json:"root_token"`
	UnsealKey string `json:"unseal_key"`
}

// NewVault makes the place for a server's storage. Remove removes it.
func NewVault(root string) (*Vault, error) {
	program, err := VaultProgram(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fieldcrypt-vault-")
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Vault{dir: dir, program: program, log: log}, nil
}

// Start starts the server, on the address that it had before if it had one, and
// waits until it serves. It is unsealed then, unless it is to stay sealed.
func (v *Vault) Start(ctx context.Context, sealed bool) error {
	listen := "127.0.0.1:0"
	if v.Address != "" {
		u, err := url.Parse(v.Address)
		if err != nil {
			return err
		}
		listen = u.Host
	}
	cmd := exec.Command(v.program, "-data", v.dir, "-listen", listen, fmt.Sprintf("-sealed=%t", sealed))
	cmd.Dir, cmd.Stderr = v.dir, v.log
	cmd.SysProcAttr = (*user)(nil).attributes()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	// Not StdoutPipe: Wait would close it while it is read.
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd.Stdout = write
	proc, err := start(cmd)
	write.Close()
	if err != nil {
		return err
	}
	v.process, v.stdin = proc, stdin
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(read).ReadString('\n')
		lines <- line
	}()
	select {
	case line := <-lines:
		if err := json.Unmarshal([]byte(line), &v.VaultKeys); err != nil {
			proc.kill()
			return fmt.Errorf("the Vault server did not start: %s", v.logTail())
		}
		return nil
	case <-ctx.Done():
		proc.kill()
		return fmt.Errorf("the Vault server was not ready in time: %w: %s", context.Cause(ctx), v.logTail())
	}
}

// Stop ends it in order.
func (v *Vault) Stop() error {
	if v.process == nil {
		return nil
	}
	defer v.stdin.Close()
	return v.end(syscall.SIGTERM)
}

// Kill ends it at once.
func (v *Vault) Kill() {
	if v.process != nil {
		v.kill()
		v.stdin.Close()
	}
}

// Remove stops it and removes its files.
func (v *Vault) Remove() error {
	return errors.Join(v.Stop(), v.log.Close(), os.RemoveAll(v.dir))
}

// Dir is where its files are.
func (v *Vault) Dir() string { return v.dir }

func (v *Vault) logTail() string {
	const most = 2000
	text, err := os.ReadFile(filepath.Join(v.dir, "log"))
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}
