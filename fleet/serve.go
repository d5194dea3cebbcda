package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// ServeConfig configures a coordinator.
type ServeConfig struct {
	// Settings of the embedded server.

	Listen  string // its address; "" means that of an earlier start, or a free local port
	Host    string // the name under which workers reach it; "" means the host of Listen
	TLSCert string // file with its certificate, required beyond loopback
	TLSKey  string // file with the key of the certificate

	// Settings of an external server, which replaces the embedded one.

	NATS  string // its address
	Login string // file with NATS credentials

	TLSCA string // file with the certificates that workers trust; "" means those of their systems
	// Resume is the run to continue, without Options.Suites. "" begins the run in Options.Out, or continues it if it began
	// with the same suites and options.
	Resume  string
	Options evalrun.Options
	// Print gets the address for workers.
	Print  func(url string)
	Notice func(string)
}

// masterName is the file with the coordinator's own key and address.
const masterName = "fleet.key"

// master is the content of that file, which only the coordinator reads.
type master struct {
	Seed   string `json:"seed"`
	Listen string `json:"listen"`
	Hash   string `json:"hash"` // of the pack
}

// Serve runs suites with workers, or continues an interrupted run.
func Serve(ctx context.Context, cfg ServeConfig) (*evalrun.Result, error) {
	f := &serving{cfg: &cfg, dir: cfg.Options.Out, files: newPacker()}
	if cfg.Resume != "" {
		f.dir = rundir.At(cfg.Options.Dir).Path(cfg.Resume)
	}
	defer f.close()
	if err := f.open(); err != nil {
		return nil, err
	}
	return f.run(ctx)
}

// serving is the state of Serve.
type serving struct {
	cfg         *ServeConfig
	dir         string
	files       *packer
	lock        *flock.Flock
	creds       *Creds
	master      master
	server      *server.Server
	coordinator *Coordinator
	resumed     bool // an earlier process began the run
	complete    bool // workers have nothing left to do
}

// open locks the run directory and reads or generates credentials.
func (f *serving) open() (err error) {
	if f.dir == "" {
		return eval.BadInput("name the run directory with --out: a coordinator that is started again continues what is in it")
	}
	if f.cfg.Resume != "" && !f.begun() {
		return rundir.At(f.cfg.Options.Dir).NoRun(f.cfg.Resume)
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return eval.BadInput("the run directory cannot be made: %w", err)
	}
	f.lock = flock.New(filepath.Join(f.dir, "fleet.lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR)) // which waits for no writer of a pipe
	switch ours, err := f.lock.TryLock(); {
	case err != nil:
		return eval.BadInput("the run directory cannot be used: %w", err)
	case !ours:
		return eval.Incomplete("another coordinator serves %s: a run has one; nothing was sent", f.dir)
	}
	f.resumed = f.begun()
	if f.creds, err = ReadCreds(filepath.Join(f.dir, CredsName)); err == nil {
		return f.readMaster()
	}
	if f.resumed {
		return eval.BadInput("%s holds a run of a single process: `evalrun resume %s` continues it", f.dir, f.dir)
	}
	f.creds, err = NewCreds()
	return err
}

// begun reports whether there is a run in the directory.
func (f *serving) begun() bool {
	_, err := os.Stat(filepath.Join(f.dir, journal.FileName))
	return err == nil
}

// readMaster reads the file that the coordinator left when it began the run.
func (f *serving) readMaster() error {
	name := filepath.Join(f.dir, masterName)
	text, err := files.ReadFile(name, files.MaxPEM)
	if err == nil {
		err = json.Unmarshal(text, &f.master)
	}
	if err != nil {
		return eval.BadInput("the coordinator's key %s cannot be read: %w", name, err)
	}
	f.creds.Master = f.master.Seed
	return nil
}

// start starts the embedded server or connects to an external one, and prints the address.
func (f *serving) start() error {
	pack, err := f.pack()
	if err != nil {
		return err
	}
	seed := ""
	if f.cfg.NATS == "" {
		if err := f.embed(); err != nil {
			return err
		}
		seed = f.creds.Master
	} else if err := f.foreign(); err != nil {
		return err
	}
	text, err := json.Marshal(master{f.creds.Master, f.master.Listen, f.master.Hash})
	if err == nil {
		err = renameio.WriteFile(filepath.Join(f.dir, masterName), text, 0o600)
	}
	if err == nil {
		f.creds.Ended = false
		err = f.creds.write(f.dir)
	}
	if err != nil {
		return eval.BadInput("the credentials cannot be written: %w", err)
	}
	f.cfg.Print(f.creds.URL)
	return f.connect(seed, pack)
}

func (f *serving) embed() error {
	listen := f.cfg.Listen
	if listen == "" {
		listen = f.master.Listen
	}
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return eval.BadInput("--listen %s: write HOST:PORT, such as 127.0.0.1:4222", listen)
	}
	var certificate *tls.Certificate
	switch {
	case f.cfg.TLSCert != "" && f.cfg.TLSKey != "":
		pair, err := files.KeyPair(f.cfg.TLSCert, f.cfg.TLSKey)
		if err != nil {
			return eval.BadInput("the certificate cannot be used: %w", err)
		}
		certificate = &pair
	case f.cfg.TLSCert+f.cfg.TLSKey != "":
		return eval.BadInput("--tls-cert and --tls-key go together: give both")
	case !wire.IsLoopback(host):
		return eval.BadInput("%s is not of this machine alone: give a certificate by --tls-cert and --tls-key", listen)
	}
	if f.cfg.TLSCA != "" {
		text, err := files.ReadFile(f.cfg.TLSCA, files.MaxPEM)
		if err != nil {
			return eval.BadInput("the certificates for workers cannot be read: %w", err)
		}
		f.creds.CA = string(text)
	}
	if f.server, err = startServer(f.creds, listen, certificate); err != nil {
		return eval.Incomplete("the server for workers cannot listen on %s: %w", listen, err)
	}
	f.master.Listen = f.server.Addr().String()
	f.creds.URL = address(f.server, f.cfg.Host, certificate != nil)
	return nil
}

// foreign prepares the credentials for an external server.
func (f *serving) foreign() error {
	if err := checkURL(f.cfg.NATS); err != nil {
		return err
	}
	if f.cfg.Login != "" {
		text, err := files.ReadFile(f.cfg.Login, files.MaxPEM)
		if err != nil {
			return eval.BadInput("the NATS credentials cannot be read: %w", err)
		}
		f.creds.Login = string(text)
	}
	f.creds.URL, f.creds.Worker = f.cfg.NATS, ""
	return nil
}

func (f *serving) connect(seed string, pack []byte) error {
	options, err := f.creds.options(seed, func(err error) { f.cfg.Notice("the server for workers: " + err.Error()) })
	if err != nil {
		return err
	}
	options = append(options, nats.CustomInboxPrefix(f.creds.coordinatorInbox()))
	url := f.creds.URL
	if f.server != nil {
		url = ""
		options = append(options, nats.InProcessServer(f.server))
	}
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return refusal(f.creds.URL, err)
	}
	return f.coordinator.begin(conn, pack)
}

// pack returns the pack for workers: the suites as they were when the run began.
func (f *serving) pack() ([]byte, error) {
	name := filepath.Join(f.dir, packName)
	if f.resumed {
		pack, err := files.ReadFile(name, maxPack)
		if err == nil && hashOf(pack) == f.master.Hash {
			return pack, nil
		}
		if f.cfg.Resume != "" {
			return nil, eval.BadInput("%s is gone: `evalrun-fleet serve SUITE... --out %s` makes it again from the suites", name, f.dir)
		}
	}
	pack, err := f.files.pack(&f.cfg.Options)
	if err != nil {
		return nil, eval.Incomplete("the suites cannot be packed for workers: %w", err)
	}
	if f.resumed && hashOf(pack) != f.master.Hash {
		return nil, eval.BadInput("%s is gone, and the suites have changed since the run began: workers cannot load what it runs", name)
	}
	f.master.Hash = hashOf(pack)
	if err := renameio.WriteFile(name, pack, 0o600); err != nil {
		return nil, eval.Incomplete("the suites cannot be packed for workers: %w", err)
	}
	return pack, nil
}

// run runs the suites, or continues them.
func (f *serving) run(ctx context.Context) (*evalrun.Result, error) {
	o := f.cfg.Options
	var job *evalrun.Job
	f.coordinator = newCoordinator(f.creds, o.Version, f.cfg.Notice)
	o.Executor = f.coordinator
	if f.cfg.Resume == "" {
		var err error
		o.Reading = f.files.note
		if f.resumed {
			o.ProgramsFrom = f.dir
		}
		if job, err = evalrun.Load(ctx, o); err != nil {
			return nil, err
		}
		if err := f.check(job); err != nil {
			return nil, err
		}
		remove, err := f.files.keepPrograms(job)
		if err != nil {
			return nil, eval.Incomplete("the suites cannot be packed for workers: %w", err)
		}
		defer remove()
	}
	if err := f.start(); err != nil {
		return nil, err
	}
	var result *evalrun.Result
	var err error
	if f.resumed {
		o.Suites, o.ProgramsFrom = nil, ""
		result, err = evalrun.Resume(ctx, f.dir, o)
	} else {
		result, err = evalrun.Run(ctx, job)
	}
	f.complete = result != nil && result.End != nil && result.End.Completed()
	if n := f.coordinator.late.Load(); n > 0 {
		were := map[bool]string{true: " was", false: " were"}[n == 1]
		f.cfg.Notice(diag.Count(int(n), "call") + were + " repeated, since the workers that made them are gone")
	}
	return result, err
}

// check refuses suites that a fleet cannot run or that do not continue the run in the directory.
func (f *serving) check(job *evalrun.Job) error {
	for _, s := range job.Suites() {
		for _, t := range s.Targets {
			if p, ok := t.Of.(*suite.Program); ok && p.Workspace != "" {
				return eval.BadInput(
					"%s: the program of the target `%s` works in a copy of the workspace %s, which its scorers look at "+
						"on another machine: run it with `evalrun run`", s.File, t.Name, p.Workspace,
				)
			}
		}
	}
	if !f.resumed {
		return nil
	}
	doc, err := journal.Open(f.dir)
	if err != nil {
		return eval.BadInput("the run cannot be continued: %w", err)
	}
	defer doc.Close() //nolint:errcheck // it was only read
	err = job.Continues(&doc.Run)
	if !doc.Partial() {
		err = errors.New("it is complete")
	}
	if err != nil {
		return eval.BadInput(
			"there is a run in %s already, and %w: `evalrun-fleet serve --resume %s` continues that run, "+
				"and another --out begins a new one",
			f.dir, err, f.dir,
		)
	}
	return nil
}

// close dismisses the workers of a complete run and stops the server.
func (f *serving) close() {
	if f.complete {
		f.creds.Ended = true
		if err := f.creds.write(f.dir); err != nil {
			f.cfg.Notice("the credentials cannot be marked, so later workers wait for the run: " + err.Error())
		}
	}
	if f.coordinator != nil {
		f.coordinator.finish(f.complete, f.resumed)
	}
	if f.server != nil {
		f.server.Shutdown()
		f.server.WaitForShutdown()
	}
	if f.lock != nil {
		_ = f.lock.Unlock() // ends with the process anyway
	}
}
