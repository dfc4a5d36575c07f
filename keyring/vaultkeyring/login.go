package vaultkeyring

// login is a way to get a token: by an AppRole, or by Kubernetes.
type login interface {
	// path is where the login is mounted, with /login.
	path() string
	// body is that of the request. What may change is read anew each time.
	body() (map[string]any, error)
	// hint says what to look at when Vault refuses it.
	hint(mount string) string
}

// loginPath is where a login is mounted, with /login.
func loginPath(mount, usual string) string {
	if mount == "" {
		mount = usual
	}
	return "auth/" + mount + "/login"
}
