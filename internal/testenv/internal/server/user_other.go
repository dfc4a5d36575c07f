//go:build !unix

package server

import (
	"errors"
	"syscall"
)

type user struct{}

func unprivileged() (*user, error) {
	return nil, errors.New("the test servers run on Unix alone; set FIELDCRYPT_TEST_POSTGRES_URL")
}

func (*user) own(...string) error { return nil }

func (*user) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
