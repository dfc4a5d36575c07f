package cutproxy

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy passes the messages of Postgres' protocol, version 3, without TLS.
type Proxy struct {
	target   string
	listener net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]bool
	count  int
	limit  int // none if negative
	freeze bool
	ended  bool
	thaw   chan struct{} // closed when what is frozen is to end
}

// New starts a proxy to the server of a URL. It passes everything until Cut or Freeze, and ends with the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal("a proxy: no URL") // not the error: it repeats the password
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("a proxy: %v", err)
	}
	p := &Proxy{target: u.Host, listener: listener, conns: map[net.Conn]bool{}, limit: -1, thaw: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		p.ended = true
		p.closeAll()
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

// URL is the given one, through the proxy.
func (p *Proxy) URL(t testing.TB, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal("a proxy: no URL")
	}
	u.Host = p.listener.Addr().String()
	values := u.Query()
	values.Set("sslmode", "disable")
	u.RawQuery = values.Encode()
	return u.String()
}

// Cut counts anew, and ends all connections, later ones too, after n messages.
func (p *Proxy) Cut(n int) { p.reset(n, false) }

// Freeze counts anew, and passes nothing after n messages, while connections stay open.
func (p *Proxy) Freeze(n int) { p.reset(n, true) }

// FreezeNow passes nothing from now on, while connections stay open.
func (p *Proxy) FreezeNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit, p.freeze = p.count, true
}

// Open counts anew and passes everything.
func (p *Proxy) Open() { p.reset(-1, false) }

// Count is how many messages have been passed.
func (p *Proxy) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *Proxy) reset(limit int, freeze bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeAll()
	p.count, p.limit, p.freeze = 0, limit, freeze
}

func (p *Proxy) closeAll() {
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
	close(p.thaw)
	p.thaw = make(chan struct{})
}

// keep remembers a connection, unless the proxy has ended.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	if !p.keep(client) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.keep(server) {
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() {
		p.pass(server, client, false)
		server.Close()
		client.Close()
	})
	ways.Go(func() {
		p.pass(client, server, true)
		server.Close()
		client.Close()
	})
	ways.Wait()
}

// pass copies whole messages. Only the first one of a client has no type.
func (p *Proxy) pass(to io.Writer, from io.Reader, typed bool) {
	for {
		message, err := read(from, typed)
		if err != nil || !p.take() {
			return
		}
		if _, err := to.Write(message); err != nil {
			return
		}
		typed = true
	}
}

const lengthSize = 4

func read(from io.Reader, typed bool) ([]byte, error) {
	header := make([]byte, lengthSize, lengthSize+1)
	if typed {
		header = header[:lengthSize+1]
	}
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[len(header)-lengthSize:]) // its own size included
	message := make([]byte, len(header)+int(length)-lengthSize)
	copy(message, header)
	_, err := io.ReadFull(from, message[len(header):])
	return message, err
}

// take counts a message. It is false if the connection is to end.
func (p *Proxy) take() bool {
	p.mu.Lock()
	if p.limit < 0 || p.count < p.limit {
		p.count++
		p.mu.Unlock()
		return true
	}
	frozen, thaw := p.freeze, p.thaw
	p.mu.Unlock()
	if frozen {
		<-thaw
	}
	return false
}
