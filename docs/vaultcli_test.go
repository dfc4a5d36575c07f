package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
)

// Vault's own command line takes all of Vault to build, with every engine and login. So that the documents' commands can be run
// by a shell as they are printed, this test program is also a `vault` that understands what they use of it, strictly, and calls
// the API of a real server as Vault's own would.
//
// So it is an `age-keygen`, which is one call of age's library.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	command, ok := map[string]func([]string) error{"vault": vaultCommand, "age-keygen": ageKeygen}[name]
	if !ok {
		os.Exit(m.Run())
	}
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(2)
	}
}

// ageKeygen makes an identity (-o FILE), or prints the recipients of one (-y FILE).
func ageKeygen(args []string) error {
	if len(args) != 2 {
		return errors.New("want -o FILE or -y FILE")
	}
	switch args[0] {
	case "-o":
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], []byte("# public key: "+identity.Recipient().String()+"\n"+identity.String()+"\n"), 0o600)
	case "-y":
		file, err := os.Open(args[1])
		if err != nil {
			return err
		}
		defer file.Close()
		identities, err := age.ParseIdentities(file)
		if err != nil {
			return err
		}
		for _, one := range identities {
			if x, ok := one.(*age.X25519Identity); ok {
				fmt.Println(x.Recipient())
			}
		}
		return nil
	}
	return fmt.Errorf("no option %q", args[0])
}

func vaultCommand(args []string) error {
	words, rest := 2, args
	switch {
	case len(args) > 0 && (args[0] == "write" || args[0] == "read"):
		words = 1
	case len(args) > 0 && args[0] == "kv":
		words = 3
	}
	if len(args) < words {
		return errors.New("no command")
	}
	name, rest := strings.Join(args[:words], " "), args[words:]
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	options := map[string]*string{}
	declare := func(names ...string) {
		for _, name := range names {
			options[name] = set.String(name, "", "")
		}
	}
	force := false
	switch name {
	case "secrets enable":
		declare("path", "version")
	case "token create":
		declare("policy", "ttl", "field")
	case "write":
		declare("field")
		set.BoolVar(&force, "f", false, "")
	case "read":
		declare("field")
	case "kv metadata delete":
		declare("mount")
	}
	if err := set.Parse(rest); err != nil {
		return err
	}
	option := func(name string) string { return *options[name] }
	operands := set.Args()
	want := func(n int) error {
		if len(operands) != n {
			return fmt.Errorf("%s: %d arguments, want %d", name, len(operands), n)
		}
		return nil
	}
	switch name {
	case "secrets enable":
		if err := want(1); err != nil {
			return err
		}
		return enableSecrets(operands[0], option("path"), option("version"))
	case "auth enable":
		if err := want(1); err != nil {
			return err
		}
		_, err := callVault(http.MethodPost, "sys/auth/"+operands[0], map[string]any{"type": operands[0]})
		return err
	case "policy write":
		if err := want(2); err != nil {
			return err
		}
		text, err := os.ReadFile(operands[1])
		if err != nil {
			return err
		}
		_, err = callVault(http.MethodPut, "sys/policies/acl/"+operands[0], map[string]any{"policy": string(text)})
		return err
	case "policy delete":
		if err := want(1); err != nil {
			return err
		}
		_, err := callVault(http.MethodDelete, "sys/policies/acl/"+operands[0], nil)
		return err
	case "token create":
		if err := want(0); err != nil {
			return err
		}
		answer, err := callVault(http.MethodPost, "auth/token/create", map[string]any{"policies": []string{option("policy")}, "ttl": option("ttl")})
		if err != nil {
			return err
		}
		return printField(answer.Auth, map[string]string{"token": "client_token"}[option("field")])
	case "kv metadata delete":
		if err := want(1); err != nil {
			return err
		}
		_, err := callVault(http.MethodDelete, option("mount")+"/metadata/"+operands[0], nil)
		return err
	case "read":
		if err := want(1); err != nil {
			return err
		}
		answer, err := callVault(http.MethodGet, operands[0], nil)
		if err != nil {
			return err
		}
		return printField(answer.Data, option("field"))
	case "write":
		return writeVault(operands, force, option("field"))
	}
	return fmt.Errorf("no command %q", name)
}

func enableSecrets(engine, path, version string) error {
	if path == "" {
		path = engine
	}
	body := map[string]any{"type": engine}
	if version != "" {
		body["options"] = map[string]any{"version": version}
	}
	if _, err := callVault(http.MethodPost, "sys/mounts/"+path, body); err != nil || version == "" {
		return err
	}
	// Vault sets a KV v2 mount up in the background; who types is not as fast as a script.
	const most, every = time.Minute, 20 * time.Millisecond
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		_, err := callVault(http.MethodGet, path+"/config", nil)
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return err
		case <-tick.C:
		}
	}
}

func writeVault(operands []string, force bool, field string) error {
	if len(operands) == 0 || len(operands) == 1 && !force {
		return errors.New("must supply data or use -force")
	}
	data := map[string]any{}
	for _, pair := range operands[1:] {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q is no key=value", pair)
		}
		data[name] = value
	}
	answer, err := callVault(http.MethodPut, operands[0], data)
	if err != nil || field == "" {
		return err
	}
	return printField(answer.Data, field)
}

// vaultAnswer is what the commands print fields of.
type vaultAnswer struct{ Data, Auth map[string]any }

func printField(from map[string]any, field string) error {
	value, ok := from[field].(string)
	if !ok {
		return fmt.Errorf("field %q not present", field)
	}
	_, err := fmt.Print(value)
	return err
}

// callVault takes address and token from where Vault's command line takes them.
func callVault(method, path string, body map[string]any) (answer vaultAnswer, err error) {
	token := os.Getenv("VAULT_TOKEN")
	if token == "" {
		text, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".vault-token"))
		if err != nil {
			return answer, err
		}
		token = strings.TrimSpace(string(text))
	}
	content, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequest(method, os.Getenv("VAULT_ADDR")+"/v1/"+path, bytes.NewReader(content))
	if err != nil {
		return answer, err
	}
	request.Header.Set("X-Vault-Token", token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return answer, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(text))
	}
	if len(text) == 0 {
		return answer, nil
	}
	return answer, json.Unmarshal(text, &answer)
}
