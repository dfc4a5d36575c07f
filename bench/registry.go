package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// schemaRegistry is a schema registry and its registry of encryption keys, as much of them as Confluent's client asks for: one subject with one schema,
// and keys that the client makes. It speaks HTTP on the loopback interface, and is asked a few times before everything is in the client's caches.
type schemaRegistry struct {
	subject string
	schema  json.RawMessage // the answer to GET /subjects/SUBJECT/versions/latest
	mu      sync.Mutex
	keks    map[string]map[string]any
	deks    map[string]map[string]any
	asked   int
}

const keksPath = "/dek-registry/v1/keks"

func (r *schemaRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	switch path := req.URL.Path; {
	case req.Method == http.MethodGet && path == "/subjects/"+r.subject+"/versions/latest":
		w.Write(r.schema)
	case req.Method == http.MethodPost && path == keksPath:
		r.create(w, req, r.keks, func(kek map[string]any) string { return fmt.Sprint(kek["name"]) })
	case req.Method == http.MethodPost && strings.HasPrefix(path, keksPath+"/"):
		r.create(w, req, r.deks, func(dek map[string]any) string {
			kek, _, _ := strings.Cut(strings.TrimPrefix(path, keksPath+"/"), "/")
			dek["kekName"], dek["version"] = kek, 1
			return kek + "/" + fmt.Sprint(dek["subject"])
		})
	case req.Method == http.MethodGet && strings.HasPrefix(path, keksPath+"/"):
		parts := strings.Split(strings.TrimPrefix(path, keksPath+"/"), "/")
		found := r.keks[parts[0]]
		if len(parts) > 2 && parts[1] == "deks" {
			found = r.deks[parts[0]+"/"+parts[2]]
		}
		answer(w, found)
	default:
		answer(w, nil)
	}
}

func (r *schemaRegistry) create(w http.ResponseWriter, req *http.Request, in map[string]map[string]any, name func(map[string]any) string) {
	var made map[string]any
	if err := json.NewDecoder(req.Body).Decode(&made); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	made["ts"] = time.Now().UnixMilli()
	in[name(made)] = made
	answer(w, made)
}

func answer(w http.ResponseWriter, found map[string]any) {
	if found == nil {
		w.WriteHeader(http.StatusNotFound)
		found = map[string]any{"error_code": 40470, "message": "not found"}
	}
	json.NewEncoder(w).Encode(found) // the client sees a cut answer
}

func newSchemaRegistry(subject string, latest json.RawMessage) *schemaRegistry {
	return &schemaRegistry{subject: subject, schema: latest, keks: map[string]map[string]any{}, deks: map[string]map[string]any{}}
}
