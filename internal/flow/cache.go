package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Cache answers a request from an earlier run with the same request, to the letter, and keeps new answers. When
// several workers want one answer at once, it sends one request. Errors are not kept. notice gets a warning when
// answers cannot be kept.
// dir has one file per trial id; who is the service, since the answers of others are not used.
func Cache(dir, who string, next Service, notice func(string)) Service {
	return &caching{Service: next, cache: answerCache{dir, who}, notice: notice, under: map[string]*underway{}}
}

type caching struct {
	Service
	cache  answerCache
	notice func(string)
	warned sync.Once

	mu    sync.Mutex
	under map[string]*underway
}

// underway is a call that others wait for.
type underway struct {
	done chan struct{}
	resp *eval.Response
	err  error

	answer string // its id
}

func (c *caching) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if call.TrialID == "" {
		return c.Service.Generate(ctx, call)
	}
	c.mu.Lock()
	if u, ok := c.under[call.TrialID]; ok {
		c.mu.Unlock()
		select {
		case <-u.done:
			call.Timing.Answer = u.answer
			return u.resp, u.err
		case <-ctx.Done():
			return nil, eval.Errorf(eval.KindCanceled, "canceled")
		}
	}
	u := &underway{done: make(chan struct{})}
	c.under[call.TrialID] = u
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.under, call.TrialID)
		c.mu.Unlock()
		close(u.done)
	}()
	u.resp, u.err = c.generate(ctx, call)
	u.answer = call.Timing.Answer
	return u.resp, u.err
}

func (c *caching) generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if a := c.cache.answer(call.TrialID); a != nil && call.Earlier != eval.EarlierRefused {
		return a.Replay(call), nil
	}
	resp, err := c.Service.Generate(ctx, call)
	if err != nil {
		return nil, err
	}
	if err := c.cache.Put(call.TrialID, resp, &call.Timing); err != nil {
		c.warned.Do(func() { c.notice("warning: answers cannot be cached: " + err.Error()) })
	}
	return resp, nil
}

// answerCache has a file per trial id. It ignores damaged files and failed writes: it only saves calls.
type answerCache struct {
	Dir     string
	Service string // the answers of other services are not used
}

type cached struct {
	Answer json.RawMessage `json:"answer"`
	SHA256 string          `json:"sha256"` // hex, of the answer
}

func (c answerCache) path(trialID string) string {
	sum := sha256.Sum256([]byte(c.Service + "\n" + trialID))
	name := hex.EncodeToString(sum[:16])
	return filepath.Join(c.Dir, name[:2], name+".json")
}

// answer returns the answer of a trial, nil if the cache has none.
func (c answerCache) answer(trialID string) *storedAnswer {
	data, err := files.ReadFile(c.path(trialID), maxFile)
	if err != nil || wirejson.Deeper(data, wirejson.MaxPartDepth) {
		return nil
	}
	var file cached
	var a storedAnswer
	if json.Unmarshal(data, &file) != nil || sumOf(file.Answer) != file.SHA256 ||
		json.Unmarshal(file.Answer, &a) != nil || a.ID != trialID ||
		a.Response == nil {
		return nil
	}
	return &a
}

// Put stores the answer of a trial. It does not store blocks, because the service may answer another time.
func (c answerCache) Put(trialID string, resp *eval.Response, timing *eval.Timing) error {
	if len(resp.Candidates) == 0 || resp.Blocked() != "" {
		return nil
	}
	kept := storedAnswer{
		ID: trialID, Response: resp, Usage: resp.Usage,
		Timing: newTiming(timing),
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
