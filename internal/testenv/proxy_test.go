package testenv_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

func TestAProxyDelaysCutsAndMends(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { echo.Close() })
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for line := bufio.NewScanner(c); line.Scan(); {
					fmt.Fprintln(c, line.Text())
				}
			}()
		}
	}()
	proxy := testenv.NewProxy(t, echo.Addr().String())
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", proxy.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	answered := func(c net.Conn) (time.Duration, bool) {
		began := time.Now()
		fmt.Fprintln(c, "hello")
		line, err := bufio.NewReader(c).ReadString('\n')
		return time.Since(began), err == nil && line == "hello\n"
	}
	c := dial()
	if _, ok := answered(c); !ok {
		t.Fatal("no answer at first")
	}
	const delay = 300 * time.Millisecond
	proxy.Delay(delay)
	if took, ok := answered(c); !ok || took < delay {
		t.Errorf("answered %t after %s, want true after %s", ok, took, delay)
	}
	proxy.Delay(0)
	proxy.Cut()
	if _, ok := answered(c); ok {
		t.Error("a cut connection answers")
	}
	if _, ok := answered(dial()); ok {
		t.Error("a new connection answers while the way is cut")
	}
	proxy.Mend()
	if _, ok := answered(dial()); !ok {
		t.Error("no answer after mending")
	}
}
