package audittrail_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
)

// reader computes the hash of each line by docs/format.md, section 9.1, and shares nothing with the Go code.
const reader = `
import sys, json, hashlib, struct, datetime
previous = bytes(32)
for line in sys.stdin:
    e = json.loads(line)
    text = lambda s: struct.pack(">I", len(s)) + s
    word = lambda s: text(s.encode())
    number = lambda n: struct.pack(">Q", n)
    items = lambda l: struct.pack(">I", len(l)) + b"".join(l)
    t = datetime.datetime.strptime(e["time"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    micros = (t - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)
    r = e.get("rows", {})
    b = word("fieldcrypt.audit.v1") + number(e["seq"]) + number(micros)
    b += word(e["actor"]) + word(e["operation"]) + number(e.get("of", 0)) + word(e["result"]) + word(e.get("error", "")) + word(e.get("keyring", ""))
    b += items([word(k) for k in e.get("key_ids", [])]) + word(e.get("store", "")) + word(e.get("detail", ""))
    b += number(r.get("count", 0)) + items([word(i) for i in r.get("ids", [])]) + word(r.get("last", "")) + text(bytes.fromhex(r.get("digest", "")))
    b += items([word(k) + number(v) for k, v in sorted(e.get("counts", {}).items(), key=lambda kv: kv[0].encode())]) + previous
    previous = hashlib.sha256(b).digest()
    if previous.hex() != e["hash"]: sys.exit("entry %d: %s" % (e["seq"], previous.hex()))
print(previous.hex())
`

func TestPythonComputesTheSameHashes(t *testing.T) {
	t.Parallel()
	log, path := newFile(t)
	fill(t, log, 2)
	last := entry("Ζ <&>")
	last.Of, last.Error, last.Store = 2, "keyring.HeldError", "postgres://app@db/shop"
	last.Counts = map[string]int64{"b": 2, "a": 1, "é": 3}
	for n := range 1200 {
		last.Rows.Add(fmt.Sprintf("01938a52-7c00-7000-8000-%012d", n))
	}
	written, err := log.Append(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, l := range read(t, path) {
		text.Write(l)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", reader)
	cmd.Stdin = strings.NewReader(text.String())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != written.Hash.String() {
		t.Errorf("%v: %s, want %s", err, out, written.Hash)
	}
	if _, err := audittrail.Parse(written.Text()); err != nil {
		t.Error(err)
	}
}
