package suite

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gabriel-vasile/mimetype"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// files opens what a suite names, relative to the suite's folder and never outside it. The
// confinement itself is the fs.FS's (an os.Root); files explains its refusals.
type files struct {
	fsys  fs.FS
	suite string
	texts map[string][]byte

	mu     sync.Mutex
	images map[string]eval.Image // without data
}

func newFiles(fsys fs.FS, suite string) *files {
	return &files{fsys: fsys, suite: suite, texts: map[string][]byte{}, images: map[string]eval.Image{}}
}

// text reads a text file and remembers it.
func (f *files) text(name string) ([]byte, error) {
	if data, ok := f.texts[name]; ok {
		return data, nil
	}
	data, err := f.read(name, yamlnode.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	f.texts[name] = data
	return data, nil
}

var errImageType = errors.New("the service takes png, jpeg, webp, heic and heif")

func imageHint(err error) string {
	if errors.Is(err, errImageType) {
		return errImageType.Error()
	}
	return ""
}

// image reads an image and tells its type from its bytes. Without load the bytes
// are read once and only their hash and size kept.
func (f *files) image(given string, load bool) (*eval.Image, error) {
	name := path.Clean(given)
	f.mu.Lock()
	known, ok := f.images[name]
	f.mu.Unlock()
	if ok && !load {
		return &known, nil
	}
	data, err := f.read(given, eval.MaxPromptBytes)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("the image %s is empty", name)
	}
	img := eval.Image{Path: name, MIMEType: known.MIMEType, Bytes: len(data)}
	if img.MIMEType == "" {
		if img.MIMEType, err = imageType(name, data); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(data)
	img.SHA256 = hex.EncodeToString(sum[:])
	f.mu.Lock()
	f.images[name] = img
	f.mu.Unlock()
	if load {
		img.Data = data
	}
	return &img, nil
}

func imageType(name string, data []byte) (string, error) {
	found := heifType(data)
	if found == "" {
		found, _, _ = strings.Cut(mimetype.Detect(data).String(), ";")
	}
	if !slices.Contains(eval.ImageTypes, found) {
		return "", imageTypeError{name, found}
	}
	return found, nil
}

// Brands of ISO base media files (ISO/IEC 23008-12, annex B and section 10) that hold images of the
// types that the service takes. The general library knows but a few of them.
var (
	heicBrands = []string{"heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"}
	heifBrands = []string{"mif1", "msf1", "avci", "avcs"}
)

// heifType tells image/heic and image/heif by the brands of the file, the major one first; ""
// for anything else, AVIF included, which shares the container and is another type.
func heifType(data []byte) string {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return ""
	}
	size := int(binary.BigEndian.Uint32(data))
	if size < 16 || size > len(data) {
		return ""
	}
	brands := []string{string(data[8:12])}
	for i := 16; i+4 <= size; i += 4 {
		brands = append(brands, string(data[i:i+4]))
	}
	isOf := func(known []string) bool {
		return slices.ContainsFunc(brands, func(b string) bool { return slices.Contains(known, b) })
	}
	switch {
	case isOf([]string{"avif", "avis"}):
		return ""
	case slices.Contains(heicBrands, brands[0]):
		return "image/heic"
	case slices.Contains(heifBrands, brands[0]):
		return "image/heif"
	case isOf(heicBrands):
		return "image/heic"
	case isOf(heifBrands):
		return "image/heif"
	}
	return ""
}

type imageTypeError struct{ name, found string }

func (e imageTypeError) Error() string        { return fmt.Sprintf("%s is %s", e.name, e.found) }
func (e imageTypeError) Is(target error) bool { return target == errImageType }

// read reads a regular file of at most limit bytes.
func (f *files) read(name string, limit int64) ([]byte, error) {
	clean := path.Clean(name)
	if name == "" {
		return nil, errors.New("the file name is empty")
	}
	if !fs.ValidPath(clean) || strings.ContainsAny(name, "\x00\\") {
		return nil, fmt.Errorf("%s is not a path inside the suite's folder", name)
	}
	info, err := fs.Stat(f.fsys, clean)
	if err != nil {
		return nil, explain(name, err)
	}
	if !info.Mode().IsRegular() { // opening a FIFO would wait for a writer
		return nil, fmt.Errorf("%s is not a file", name)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", name, info.Size(), limit)
	}
	file, err := f.fsys.Open(clean)
	if err != nil {
		return nil, explain(name, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, explain(name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, nil
}

func explain(name string, err error) error {
	var pathErr *fs.PathError
	cause := err.Error()
	if errors.As(err, &pathErr) {
		cause = pathErr.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s in the suite's folder", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read: permission denied", name)
	case strings.Contains(cause, "escapes"):
		return fmt.Errorf("%s is not inside the suite's folder", name)
	}
	return fmt.Errorf("%s cannot be read: %s", name, cause)
}
