package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/evalrun/evalrun/eval"
)

// Image reads an image of a request from the folder of its suite, since run files hold no images. The file must still
// be there, be of at most `most` bytes, and be the same by its hash. Of an image that was resized the whole file is
// read.
func (d *Document) Image(suite string, img *eval.Image, most int64) ([]byte, error) {
	dir := d.Run.Suite(suite).Dir
	if dir == "" {
		return nil, errors.New("the run does not say where its images are")
	}
	data, err := readBelow(dir, img.Path, most)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if is := hex.EncodeToString(sum[:]); is != img.SHA256 && is != img.SourceSHA256 {
		return nil, errors.New("the image has changed since")
	}
	return data, nil
}

// readBelow reads a file of at most most bytes in a folder, which no link leads out of.
func readBelow(dir, path string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	info, err := root.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most { // a pipe would keep us waiting
		return nil, fmt.Errorf("not a file of at most %d bytes", most)
	}
	file, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(file, most))
}
