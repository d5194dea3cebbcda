package fleet

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// CredsName is the name of the credentials file in a run directory.
const CredsName = "fleet.creds"

// Creds has the address of the server, the name of the fleet and the keys of its members. Only the owner
// may read the file.
type Creds struct {
	URL    string `json:"url"`             // of the server
	Fleet  string `json:"fleet"`           // random; all subjects include it
	Worker string `json:"worker"`          // seed of the workers' NKey; "" on an external cluster
	CA     string `json:"ca,omitempty"`    // certificates to trust, in PEM; "" for the system's
	Login  string `json:"login,omitempty"` // a NATS credentials file, for a cluster
	Ended  bool   `json:"ended,omitempty"` // the run is complete
	Master string `json:"-"`               // seed of the coordinator's NKey
	File   string `json:"-"`               // from which they were read
}

// NewCreds generates the keys of a fleet. The address is empty.
func NewCreds() (*Creds, error) {
	out := &Creds{Fleet: strings.ToLower(rand.Text()[:16])}
	for _, seed := range []*string{&out.Worker, &out.Master} {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		text, err := pair.Seed()
		if err != nil {
			return nil, err
		}
		*seed = string(text)
	}
	return out, nil
}

// ReadCreds reads a credentials file. Its error is bad input.
func ReadCreds(path string) (*Creds, error) {
	data, err := files.ReadFile(path, files.MaxPEM)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, eval.BadInput(
			"there is no file of credentials %s: `evalrun-fleet serve` writes %s into its run directory", path, CredsName,
		)
	}
	if err != nil {
		return nil, eval.BadInput("the credentials cannot be read: %w", err)
	}
	out := &Creds{File: path}
	if err := json.Unmarshal(data, out); err != nil || out.Fleet == "" {
		return nil, eval.BadInput("%s holds no credentials of a fleet; the file is %s of a run directory", path, CredsName)
	}
	return out, nil
}

// ended reports whether the run is complete, as its file says now.
func (c *Creds) ended() bool {
	now, err := ReadCreds(c.File)
	return err == nil && now.Fleet == c.Fleet && now.Ended
}

// write writes the credentials file, readable by its owner alone.
func (c *Creds) write(dir string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, CredsName), append(data, '\n'), 0o600)
}

// withKey authenticates with an NKey.
func withKey(seed string) (nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, eval.BadInput("the credentials hold no key: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("the credentials hold no key: %w", err)
	}
	return nats.Nkey(public, pair.Sign), nil
}

// publicKey returns the public half of a key.
func publicKey(seed string) (string, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}

// Workers publish to subjects of up, and subscribe to subjects of down.
func (c *Creds) up(name string) string { return "evr." + c.Fleet + ".up." + name }

func (c *Creds) down(worker, name string) string {
	return "evr." + c.Fleet + ".down." + worker + "." + name
}
func (c *Creds) coordinatorInbox() string         { return "evr." + c.Fleet + ".in.c" }
func (c *Creds) workerInbox(worker string) string { return "evr." + c.Fleet + ".in.w." + worker }
func (c *Creds) workersInboxes() string           { return "evr." + c.Fleet + ".in.w.>" }
func (c *Creds) workersHear() string              { return "evr." + c.Fleet + ".down.>" }
func (c *Creds) workersSend() string              { return "evr." + c.Fleet + ".up.>" }
func (c *Creds) answers() string                  { return "evr." + c.Fleet + ".in.c.>" }
