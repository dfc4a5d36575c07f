package testenv

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy passes TCP connections to a server, and can make the way there slow or
// cut it.
type Proxy struct {
	target   string
	listener net.Listener
	life     context.Context

	mu    sync.Mutex
	delay time.Duration
	conns map[net.Conn]bool
	cut   bool
}

// NewProxy starts a proxy to host:port. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("a proxy: %v", err)
	}
	life, end := context.WithCancel(context.Background())
	p := &Proxy{target: target, listener: listener, life: life, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() { p.serve(&running) })
	t.Cleanup(func() {
		end()
		listener.Close()
		p.Cut()
		running.Wait()
	})
	return p
}

// NewProxyTo is NewProxy to the server of a URL.
func NewProxyTo(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatalf("a proxy: %v", err)
	}
	return NewProxy(t, u.Host)
}

// Address is the proxy's host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Delay makes each answer that is not on its way yet wait for so long.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Cut ends all connections and refuses new ones until Mend.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		c.Close()
	}
}

// Mend takes connections again after Cut.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
}

func (p *Proxy) serve(running *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		running.Go(func() { p.pass(client) })
	}
}

// keep remembers a connection for Cut.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	c.Close()
}

func (p *Proxy) pass(client net.Conn) {
	defer p.drop(client)
	if !p.keep(client) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.keep(server) {
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() {
		_, _ = io.Copy(server, client)
		server.Close()
	})
	ways.Go(func() {
		p.answer(client, server)
		client.Close()
	})
	ways.Wait()
}

// answer copies the server's answers, each after the delay.
func (p *Proxy) answer(client, server net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		if n > 0 {
			if !p.wait() {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait is false when the proxy ends.
func (p *Proxy) wait() bool {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	select {
	case <-p.life.Done():
		return false
	case <-time.After(delay):
		return true
	}
}
