package testenv_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

func TestPublishedGoModulesAreThere(t *testing.T) {
	t.Parallel()
	for module, path := range map[string]string{
		"github.com/kaptinlin/jsonschema": "testdata/JSON-Schema-Test-Suite/tests/draft2020-12",
		"github.com/c2sp/wycheproof":      "testvectors_v1/aes_gcm_test.json",
	} {
		if _, err := os.Stat(filepath.Join(testenv.Module(t, module), path)); err != nil {
			t.Error(err)
		}
	}
}

func TestPublishedNpmPackagesAreThere(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "node", "-e", `
		const Ajv = require("ajv/dist/2020")
		if (!new Ajv().validate({"const": 1}, 1)) process.exit(1)
		require("@octokit/webhooks-schemas"); require("@faker-js/faker")`)
	cmd.Dir = testenv.NodeModules(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node: %v: %s", err, out)
	}
}
