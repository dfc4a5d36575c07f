package vaultkeyring

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/vault/api"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// documentField is the one field of the secret.
const documentField = "document"

// secret is what KV v2 answers to a read.
type secret struct {
	Data     map[string]any `json:"data"`
	Metadata struct {
		Version      uint64 `json:"version"`
		DeletionTime string `json:"deletion_time"`
		Destroyed    bool   `json:"destroyed"`
	} `json:"metadata"`
}

// Load reads the document. The version is KV's.
func (v *Vault) Load(ctx context.Context) (document []byte, version string, err error) {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	return v.load(ctx)
}

func (v *Vault) load(ctx context.Context) ([]byte, string, error) {
	r := request{operation: "read", path: v.location.dataPath(), capability: "read", absent: keyring.ErrNotFound}
	var found secret
	if err := v.session.do(ctx, r, &found); err != nil {
		if gone, ok := errors.AsType[*Error](err); ok && gone.Problem == ErrDeleted {
			return nil, strconv.FormatUint(gone.deleted, 10), err
		}
		return nil, "", err
	}
	text, ok := found.Data[documentField].(string)
	if !ok || len(found.Data) != 1 || found.Metadata.Version == 0 {
		e := v.session.fail(r, ErrMalformed)
		e.Detail = "want a KV version 2 secret with the one field " + documentField + ", a string"
		return nil, "", e
	}
	return []byte(text), strconv.FormatUint(found.Metadata.Version, 10), nil
}

// explainAbsent tells a deleted document from one that never was: a keyring that
// somebody deleted must not look like a place for a new one.
func (s *session) explainAbsent(e *Error, response *api.Response) {
	if response == nil {
		return
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	var answer struct {
		Data *secret `json:"data"`
	}
	if err != nil || json.Unmarshal(text, &answer) != nil || answer.Data == nil || answer.Data.Metadata.Version == 0 {
		return
	}
	e.Problem, e.deleted = ErrDeleted, answer.Data.Metadata.Version
	e.Detail = "version " + strconv.FormatUint(answer.Data.Metadata.Version, 10)
	if answer.Data.Metadata.Destroyed {
		e.Detail += ", and destroyed"
	}
}

// Save writes the document if KV's current version is still this one. A nil
// error says that Vault has stored it.
func (v *Vault) Save(ctx context.Context, document []byte, version string) error {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	r := request{operation: "write", path: v.location.dataPath(), capability: "update", once: true, absent: ErrNoMount}
	if version == "" {
		version, r.capability = "0", "create"
	}
	cas, err := strconv.ParseUint(version, 10, 64)
	if err != nil || !utf8.Valid(document) {
		e := v.session.fail(r, ErrMalformed)
		e.Detail = "a version that Load did not give, or a document that is not UTF-8"
		return e
	}
	if err := v.needKV2(ctx, r.capability); err != nil {
		return err
	}
	r.body = map[string]any{
		"options": map[string]any{"cas": cas},
		"data":    map[string]any{documentField: string(document)},
	}
	var written struct {
		Version      uint64 `json:"version"`
		DeletionTime string `json:"deletion_time"`
	}
	if err := v.session.do(ctx, r, &written); err != nil {
		return v.settle(ctx, r, document, err)
	}
	switch {
	case written.Version != cas+1:
		return v.settle(ctx, r, document, v.session.notVault(r, "it does not name the version that was written"))
	case written.DeletionTime != "":
		return v.session.fail(r, ErrExpires)
	}
	return nil
}

// settle finds out whether a write whose answer was lost was carried out. No
// other writer can have written these bytes: every seal has a nonce of its own.
func (v *Vault) settle(ctx context.Context, r request, document []byte, cause error) error {
	if !mayBeWritten(cause) {
		return cause
	}
	stored, _, err := v.load(ctx)
	switch {
	case err == nil && string(stored) == string(document):
		return nil
	default:
		// A document that is not there yet may still be on its way.
		e := v.session.fail(r, ErrUncertain)
		e.Err = cause
		return e
	}
}

func mayBeWritten(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return true
	}
	switch e.Problem {
	case ErrUnreachable:
		return !unsent(err)
	case ErrTimeout, context.Canceled, context.DeadlineExceeded:
		return true
	case ErrUnavailable:
		return e.Status != http.StatusBadRequest
	case ErrNotVault:
		return e.Status < http.StatusBadRequest
	default:
		return e.Status == 0 // the caller's own cause of an end
	}
}

// needKV2 refuses a mount without versions before the first write: there, Vault
// would take the write and ignore the check.
func (v *Vault) needKV2(ctx context.Context, capability string) error {
	v.mu.Lock()
	checked := v.mountChecked
	v.mu.Unlock()
	if checked {
		return nil
	}
	// What Vault's own tools ask; any capability within the mount is enough.
	r := request{operation: "check mount", path: "sys/internal/ui/mounts/" + v.location.Mount, absent: ErrNoMount}
	var mount struct {
		Type    string            `json:"type"`
		Options map[string]string `json:"options"`
	}
	err := v.session.do(ctx, r, &mount)
	if errors.Is(err, ErrDenied) {
		// It is denied if nothing within the mount is allowed: name what will be
		// needed there.
		e := v.session.fail(request{operation: "write", path: v.location.dataPath()}, ErrDenied)
		e.Capability, e.Status = capability, http.StatusForbidden
		return e
	}
	if err != nil {
		return err
	}
	if mount.Type != "kv" || mount.Options["version"] != "2" {
		return v.session.fail(r, ErrNotKV2)
	}
	v.mu.Lock()
	v.mountChecked = true
	v.mu.Unlock()
	return nil
}
