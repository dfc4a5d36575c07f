package filekeyring

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/keyring/internal/strictjson"
)

const (
	fileFormat = "fieldcrypt-keyring-file/1"
	// maxFileBytes holds the largest keyring document with every byte escaped.
	maxFileBytes = 8 << 20
)

// The file as it is written.
type filePart struct {
	Format   string       `json:"format"`
	Argon2id argon2idPart `json:"argon2id"`
	Document string       `json:"document"`
}

type argon2idPart struct {
	Time      uint32 `json:"time"`
	MemoryKiB uint32 `json:"memory_kib"`
	Threads   uint32 `json:"threads"`
	Salt      string `json:"salt"`
}

// header says how the passphrase becomes the key-encryption key.
type header struct {
	params Argon2id
	salt   string // its bytes
}

// uri names the key-encryption key by its salt, which no other file has, and
// which moves with the file.
func (h header) uri() string {
	return "file:argon2id:" + hex.EncodeToString([]byte(h.salt))
}

func formatFile(h header, document []byte) ([]byte, error) {
	b, err := strictjson.Marshal(filePart{
		Format: fileFormat,
		Argon2id: argon2idPart{
			Time:      h.params.Time,
			MemoryKiB: h.params.MemoryKiB,
			Threads:   h.params.Threads,
			Salt:      base64.StdEncoding.EncodeToString([]byte(h.salt)),
		},
		Document: string(document),
	})
	return append(b, '\n'), err
}

// parseFile reads a file's text; the document in it is for package keyring to
// judge.
func parseFile(raw []byte) (header, []byte, error) {
	fail := func(place, format string, args ...any) (header, []byte, error) {
		return header{}, nil, &FormatError{Place: place, Detail: fmt.Sprintf(format, args...)}
	}
	if len(raw) > maxFileBytes {
		return fail("", "more than %d bytes", maxFileBytes)
	}
	var part filePart
	if err := strictjson.Unmarshal(raw, &part); err != nil {
		place := ""
		if f, ok := err.(*strictjson.Fault); ok {
			place = f.Pointer
		}
		return fail(place, "%v", err)
	}
	if part.Format != fileFormat {
		return fail("/format", "format is %.64q, want %q", part.Format, fileFormat)
	}
	h := header{params: Argon2id{Time: part.Argon2id.Time, MemoryKiB: part.Argon2id.MemoryKiB, Threads: part.Argon2id.Threads}}
	if err := h.params.check(); err != nil {
		return fail("/argon2id", "%v", err)
	}
	salt, err := base64.StdEncoding.Strict().DecodeString(part.Argon2id.Salt)
	if err != nil || base64.StdEncoding.EncodeToString(salt) != part.Argon2id.Salt {
		return fail("/argon2id/salt", "not standard base64 with padding")
	}
	if len(salt) < minSaltBytes || len(salt) > maxSaltBytes {
		return fail("/argon2id/salt", "%d bytes, want %d to %d", len(salt), minSaltBytes, maxSaltBytes)
	}
	h.salt = string(salt)
	if part.Document == "" {
		return fail("/document", "document is missing")
	}
	return h, []byte(part.Document), nil
}

// sealedUnder returns the key-encryption key that a document names, "" if it
// names none: stored beside another one's salt it would never open.
func sealedUnder(document []byte) string {
	var outer struct{ Clear string }
	var part struct{ KEK string }
	if json.Unmarshal(document, &outer) != nil || json.Unmarshal([]byte(outer.Clear), &part) != nil {
		return ""
	}
	return part.KEK
}
