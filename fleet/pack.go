package fleet

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/suite"
)

// Names in a pack.
const (
	packName    = "fleet.pack" // the file in a run directory
	headName    = "head.json"
	scriptName  = "emulator.yaml"
	projectName = "project/evalrun.yaml"
	programsDir = "programs" // what programs of the suites wrote
)

// ledgerVariable has the address of a ledger.
const ledgerVariable = "EVALRUN_LEDGER"

func hasLedger(o *evalrun.Options) bool {
	return !o.Ledger.None && (o.Ledger.URL != "" || o.Getenv != nil && o.Getenv(ledgerVariable) != "")
}

// maxPack bounds a pack and its unpacked files, in bytes.
const maxPack = 4 << 30

// packHead has the settings that workers need in addition to the files.
type packHead struct {
	Suites   []string          `json:"suites"` // paths with slashes; each suite is in its own folder, with the project around it
	Project  bool              `json:"project,omitempty"`
	Emulator string            `json:"emulator,omitempty"` // eval.DemoScript, or scriptName
	Seed     uint64            `json:"seed,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"`
	Repeats  int               `json:"repeats,omitempty"`
	Trials   int               `json:"maxTrials,omitempty"` // the most that the suites may have; 0 is the default
	Programs bool              `json:"programs,omitempty"`  // some suite has programs that write prompts or cases
	Ledger   bool              `json:"ledger,omitempty"`    // the coordinator uses a ledger, so workers need none
}

// packer records which files suites read.
type packer struct {
	mu    sync.Mutex
	files map[string]map[string]bool // paths, by suite

	written string // folder with what programs of the suites wrote; "" for none
}

func newPacker() *packer { return &packer{files: map[string]map[string]bool{}} }

// note records that a suite reads a file.
func (p *packer) note(suite, file string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files[suite] == nil {
		p.files[suite] = map[string]bool{}
	}
	p.files[suite][file] = true
}

// keepPrograms writes what the programs of a job's suites wrote into a temporary folder for the pack.
func (p *packer) keepPrograms(job *evalrun.Job) (remove func(), err error) {
	remove = func() {}
	if !slices.ContainsFunc(job.Suites(), func(s *suite.Suite) bool { return s.Written() != nil }) {
		return remove, nil
	}
	dir, remove, err := files.Scratch()
	if err == nil {
		p.written = dir
		err = job.KeepPrograms(dir)
	}
	return remove, err
}

// zipped is an archive to which each file is added once.
type zipped struct {
	*zip.Writer
	names map[string]bool
}

// pack makes the pack of a run: a zip archive of the suites and all files that they read. Equal files make
// equal packs.
func (p *packer) pack(o *evalrun.Options) ([]byte, error) {
	var out bytes.Buffer
	z := &zipped{zip.NewWriter(&out), map[string]bool{}}
	h := packHead{Seed: o.Seed, Vars: o.Vars, Repeats: o.Repeats, Trials: o.MaxTrials, Project: o.ProjectFile != ""}
	h.Ledger = hasLedger(o)
	for i, name := range o.Suites {
		if name == "-" {
			return nil, eval.BadInput("a fleet cannot run a suite on standard input: name a file")
		}
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			return nil, err
		}
		near, err := p.folder(z, i, name, real)
		if err != nil {
			return nil, err
		}
		h.Suites = append(h.Suites, near)
	}
	if h.Emulator = o.Emulator; h.Emulator != "" && h.Emulator != eval.DemoScript {
		if err := z.add(scriptName, h.Emulator); err != nil {
			return nil, err
		}
		h.Emulator = scriptName
	}
	if h.Project {
		if err := z.add(projectName, o.ProjectFile); err != nil {
			return nil, err
		}
	}
	if h.Programs = p.written != ""; h.Programs {
		if err := z.addAll(programsDir, p.written, "suites"); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	w, err := z.Create(headName)
	if err == nil {
		_, err = w.Write(text)
	}
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// folder adds the files of the i-th suite, and returns the path of the suite among them. The folder above all of its files is the
// top, so that `../` in the suite leads to the same files.
func (p *packer) folder(z *zipped, i int, name, real string) (string, error) {
	real, err := filepath.Abs(real)
	if err != nil {
		return "", err
	}
	suite := filepath.Dir(real)
	top, files := suite, []string{real}
	for file := range p.files[name] {
		if file, err = filepath.Abs(file); err != nil {
			return "", err
		}
		if near, err := filepath.Rel(file, suite); err == nil && filepath.IsLocal(near) { // a folder that was listed: its files are noted
			continue
		}
		files = append(files, file)
		for !isBelow(top, file) {
			top = filepath.Dir(top)
		}
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		near, err := filepath.Rel(top, file)
		if err == nil {
			err = z.addAll(strconv.Itoa(i), top, near)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	near, err := filepath.Rel(top, real)
	return filepath.ToSlash(near), err
}

// isBelow reports whether a path is a folder or below it.
func isBelow(folder, name string) bool {
	near, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(near) || filepath.Dir(folder) == folder
}

// addAll adds a file, or a folder with everything in it.
func (z *zipped) addAll(to, dir, near string) error {
	from := filepath.Join(dir, near)
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return z.add(path.Join(to, filepath.ToSlash(near)), from)
	}
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		near, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return z.add(path.Join(to, filepath.ToSlash(near)), file)
	})
}

// add adds a file once, since a suite may read a folder and files in it. It omits the time, so that equal
// files make equal packs.
func (z *zipped) add(name, from string) error {
	if z.names[name] {
		return nil
	}
	z.names[name] = true
	in, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(info.Mode().Perm())
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}

// hashOf identifies a pack.
func hashOf(pack []byte) string {
	sum := sha256.Sum256(pack)
	return hex.EncodeToString(sum[:])
}

// unpackTo writes the files of a pack into an empty folder.
func unpackTo(dir string, pack []byte) (*packHead, error) {
	z, err := zip.NewReader(bytes.NewReader(pack), int64(len(pack)))
	if err != nil {
		return nil, fmt.Errorf("what the coordinator sent is no archive: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // its files are closed one by one
	var h packHead
	left := uint64(maxPack)
	for _, f := range z.File {
		if !filepath.IsLocal(f.Name) || strings.Contains(f.Name, `\`) {
			return nil, fmt.Errorf("the archive of the coordinator has a file outside of its folder: %q", f.Name)
		}
		if f.UncompressedSize64 > left { // adding up the sizes could overflow
			return nil, errors.New("the archive of the coordinator is too large")
		}
		left -= f.UncompressedSize64
		if err := extract(root, f, &h); err != nil {
			return nil, fmt.Errorf("the files of the suites cannot be written: %w", err)
		}
	}
	if len(h.Suites) == 0 {
		return nil, errors.New("the archive of the coordinator has no suites")
	}
	return &h, nil
}

// extract writes a file of a pack, or decodes the head.
func extract(root *os.Root, f *zip.File, h *packHead) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()                                           //nolint:errcheck // only read
	bounded := io.LimitReader(in, int64(f.UncompressedSize64)) //nolint:gosec // checked by the caller
	if f.Name == headName {
		return json.NewDecoder(bounded).Decode(h)
	}
	if dir := path.Dir(f.Name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	out, err := root.OpenFile(f.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, bounded)
	return errors.Join(err, out.Close())
}
