package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// AnswerCache keeps answers across runs, one file per trial id. It ignores damaged files and failed writes,
// because it only saves calls.
type AnswerCache struct {
	Dir     string
	Service string // the answers of other services are not used
}

type cached struct {
	Answer json.RawMessage `json:"answer"`
	SHA256 string          `json:"sha256"` // hex, of the answer
}

func (c AnswerCache) path(trialID string) string {
	sum := sha256.Sum256([]byte(c.Service + "\n" + trialID))
	name := hex.EncodeToString(sum[:16])
	return filepath.Join(c.Dir, name[:2], name+".json")
}

// Answer returns the answer of a trial, nil if the cache has none.
func (c AnswerCache) Answer(trialID string) *StoredAnswer {
	data, err := files.ReadFile(c.path(trialID), maxFile)
	if err != nil || wirejson.Deeper(data, wirejson.MaxPartDepth) {
		return nil
	}
	var file cached
	var a StoredAnswer
	if json.Unmarshal(data, &file) != nil || sumOf(file.Answer) != file.SHA256 ||
		json.Unmarshal(file.Answer, &a) != nil || a.ID != trialID ||
		a.Response == nil {
		return nil
	}
	return &a
}

// Put stores the answer of a trial. It does not store blocks, because the service may answer another time.
func (c AnswerCache) Put(trialID string, resp *eval.Response, timing *eval.Timing) error {
	if len(resp.Candidates) == 0 || resp.Blocked() != "" {
		return nil
	}
	kept := StoredAnswer{
		ID: trialID, Response: resp, Usage: resp.Usage,
		Timing: &ScoredTiming{timing.LatencyMs, timing.StreamTiming},
	}
	answer, err := wirejson.Marshal(kept)
	if err != nil {
		return err
	}
	data, err := wirejson.Marshal(cached{answer, sumOf(answer)})
	if err != nil {
		return err
	}
	path := c.path(trialID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return files.Write(path, 0o600, func(w io.Writer) error { _, err := w.Write(data); return err })
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
