package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// Signable returns the signed part of a run's header: its line without the signature.
func Signable(run *eval.Run) ([]byte, error) {
	unsigned := *run
	unsigned.Version, unsigned.Signature = Version, ""
	line, err := appendLine(nil, "run", &unsigned, 0)
	if err != nil {
		return nil, err
	}
	return withoutFrame(line), nil
}

// withoutFrame is a line without its number and checksum.
func withoutFrame(line []byte) []byte {
	if at := bytes.LastIndex(line, []byte(seqPrefix)); at >= 0 {
		return line[:at]
	}
	return line
}

// Signable returns the signed part of the header. It reads the file, because a header of another version of
// evalrun may have fields that this one does not know.
func (d *Document) Signable() ([]byte, error) {
	line, err := readHeader(d.file)
	if err != nil {
		return nil, err
	}
	signature := `,"signature":"` + d.Run.Signature + `"`
	if d.Run.Signature == "" || bytes.Count(line, []byte(signature)) != 1 {
		return nil, errors.New("the header is not signed")
	}
	return withoutFrame(bytes.Replace(line, []byte(signature), nil, 1)), nil
}

func readHeader(file io.ReaderAt) ([]byte, error) {
	line, err := readLine(newReader(io.NewSectionReader(file, 0, 1<<62)), maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return line, nil
}

// CopiesOf computes the digests of the copies of suites' files, for the header.
func CopiesOf(copies map[string][]byte) map[string]string {
	if len(copies) == 0 {
		return nil
	}
	out := make(map[string]string, len(copies))
	for name, data := range copies {
		sum := sha256.Sum256(data)
		out[name] = hex.EncodeToString(sum[:])
	}
	return out
}

// ErrCopies is the error of copies that are not those with which the run began.
type ErrCopies struct{ File, Problem string }

func (e *ErrCopies) Error() string { return e.File + " " + e.Problem }

// CheckCopies compares the copies of the suites with their digests in the header. The error is an *ErrCopies, or of
// reading. Runs of versions that kept no digests are left to their hashes.
func (d *Document) CheckCopies() error {
	if d.Run.Copies == nil {
		return nil
	}
	for name, want := range d.Run.Copies {
		if err := checkCopy(d.Dir, name, want); err != nil {
			return err
		}
	}
	return d.noOtherCopies(d.Dir)
}

func checkCopy(root, name, want string) error {
	file := filepath.Join(root, filepath.FromSlash(name))
	if !fs.ValidPath(name) || !strings.HasPrefix(name, copiesDir+"/") {
		return &ErrCopies{file, "is not the path of a copy"}
	}
	got, err := sumOf(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &ErrCopies{file, "is gone"}
	case err != nil:
		return err
	case got != want:
		return &ErrCopies{file, "has changed since the run began"}
	}
	return nil
}

// copiesDir is where copies of suites are in a run directory.
const copiesDir = "suites"

// noOtherCopies wants no file among the copies that was not there when the run began: it would be read as part of a suite.
func (d *Document) noOtherCopies(root string) error {
	err := filepath.WalkDir(filepath.Join(root, copiesDir), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if _, known := d.Run.Copies[filepath.ToSlash(name)]; !known && !isTemporary(file) {
			return &ErrCopies{file, "was added since the run began"}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) && len(d.Run.Copies) == 0 {
		return nil
	}
	return err
}

// isTemporary recognizes files that editors and systems leave behind, which no suite names.
func isTemporary(file string) bool {
	return slices.Contains([]string{".DS_Store", "Thumbs.db"}, path.Base(filepath.ToSlash(file)))
}

func sumOf(file string) (string, error) {
	in, err := files.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
