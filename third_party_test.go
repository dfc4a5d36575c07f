package fieldcrypt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// licenceMarks are phrases that tell the licences apart: a text is of a licence if it holds all of its phrases.
var licenceMarks = map[string][]string{
	"Apache-2.0":   {"Apache License", "Version 2.0"},
	"BSD-3-Clause": {"Redistributions of source code must retain", "Redistributions in binary form must reproduce", "Neither the name"},
	"MIT":          {"Permission is hereby granted, free of charge", "The above copyright notice and this permission notice shall be included in all copies"},
	"MPL-2.0":      {"Mozilla Public License", "2.0", "Secondary License"},
}

var thirdPartyRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|")

// thirdParty reads the rows of one section of THIRD_PARTY.md: module → licence.
func thirdParty(t *testing.T, section string) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("THIRD_PARTY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("THIRD_PARTY.md has no section %q", section)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	rows := map[string]string{}
	for _, m := range thirdPartyRow.FindAllStringSubmatch(text, -1) {
		rows[m[1]] = strings.TrimSpace(m[2])
	}
	if len(rows) == 0 {
		t.Fatalf("section %q of THIRD_PARTY.md lists no module", section)
	}
	return rows
}

func TestThirdPartyListsWhatIsLinkedWithItsLicence(t *testing.T) {
	t.Parallel()
	linked, inTests := map[string]string{}, map[string]string{} // module → directory
	for _, goos := range []string{"linux", "darwin", "windows"} {
		var product []string
		for _, pkg := range goList(t, goos, "./...") {
			if !strings.HasSuffix(pkg, "test") && !strings.Contains(pkg, "/internal/testenv") { // keyringtest and storetest are for tests of others
				product = append(product, pkg)
			}
		}
		modules(t, goos, linked, append([]string{"-deps"}, product...)...)
		modules(t, goos, inTests, "-deps", "-test", "./...")
	}
	for module := range linked {
		delete(inTests, module)
	}
	for section, used := range map[string]map[string]string{"Linked into the command or the libraries": linked, "In tests alone": inTests} {
		listed := thirdParty(t, section)
		for module, dir := range used {
			licence, ok := listed[module]
			if !ok {
				t.Errorf("THIRD_PARTY.md, %s: %s is missing", section, module)
				continue
			}
			checkLicence(t, module, dir, licence)
		}
		for module := range listed {
			if used[module] == "" {
				t.Errorf("THIRD_PARTY.md, %s: %s is not used there", section, module)
			}
		}
	}
}

// modules adds the other modules that `go list` names, with their directories.
func modules(t *testing.T, goos string, into map[string]string, args ...string) {
	t.Helper()
	for _, line := range goList(t, goos, append([]string{"-f", "{{with .Module}}{{if not .Main}}{{.Path}}={{.Dir}}{{end}}{{end}}"}, args...)...) {
		module, dir, _ := strings.Cut(line, "=")
		into[module] = dir
	}
}

// goList lists for another system too: what a module costs there is to be known here.
func goList(t *testing.T, goos string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", goos, withStderr(err))
	}
	return strings.Fields(string(out))
}

// checkLicence compares what the list says with the texts that the module holds.
func checkLicence(t *testing.T, module, dir, want string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "LICENSE*"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s: no licence text in %s (%v)", module, dir, err)
		return
	}
	var texts string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		texts += " " + string(text)
	}
	for _, licence := range strings.Split(want, " and ") {
		if !isLicence(texts, licence) {
			t.Errorf("%s: THIRD_PARTY.md says %s, and the module's licence does not read like it", module, licence)
		}
	}
}

func isLicence(text, licence string) bool {
	text = strings.Join(strings.Fields(text), " ")
	marks := licenceMarks[licence]
	return len(marks) > 0 && !slices.ContainsFunc(marks, func(mark string) bool { return !strings.Contains(text, mark) })
}

func TestLicencesAreToldApart(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for licence := range licenceMarks {
		if got, want := isLicence(string(ours), licence), licence == "Apache-2.0"; got != want {
			t.Errorf("our own LICENSE reads like %s: %v, want %v", licence, got, want)
		}
	}
	if isLicence(string(ours), "unheard-of") {
		t.Error("a licence without marks must match nothing")
	}
}
