package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/dataset"
)

var errImageType = errors.New("the service takes png, jpeg, webp, heic and heif")

func imageHint(err error) string {
	var long *tooManyBytes
	switch {
	case errors.Is(err, errImageType):
		return errImageType.Error()
	case errors.Is(err, dataset.ErrType):
		return "convert it to png or jpeg"
	case errors.As(err, &long) && long.limit < maxSource: // else it is too long to be resized, too
		return "`resize: true` next to the image brings it down"
	}
	return ""
}

// maxSource is the largest image file to resize, in bytes.
const maxSource = 64 << 20

type wish struct {
	name  string // as written in the suite
	limit int    // most bytes to send, for an image to resize; 0 sends it unchanged
}

type stored struct {
	eval.Image        // with Data only if it was resized
	sourceType string // media type of the file
	decoded    bool   // false while it is still to be resized, when Bytes is an upper bound
}

// maxChecked is the most pixels to decode during Load in order to find damaged images. Further images are decoded when they
// are sent.
const maxChecked = 16 << 20

// maxStored is the most data of resized images to keep in memory. Further images are resized again when they are sent.
const maxStored = 128 << 20

// image reads an image and finds its type in its bytes. It returns the bytes only with load.
func (f *sourceFiles) image(w wish, load bool) (*stored, error) {
	key := wish{path.Clean(w.name), w.limit}
	f.mu.Lock()
	known, ok := f.images[key]
	f.mu.Unlock()
	if ok && (!load || known.Data != nil) {
		if !load {
			known.Data = nil
		}
		return &known, nil
	}
	img, err := f.readImage(w, known.sourceType, load)
	if err != nil {
		return nil, err
	}
	keep := *img
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.limit == 0 || f.stored+len(keep.Data) > maxStored {
		keep.Data = nil
	}
	f.stored += len(keep.Data)
	f.images[key] = keep
	if !load {
		img.Data = nil
	}
	return img, nil
}

func (f *sourceFiles) readImage(w wish, sourceType string, load bool) (*stored, error) {
	limit := int64(wire.MaxPromptBytes)
	if w.limit > 0 {
		limit = maxSource
	}
	data, err := f.read(w.name, limit)
	if err != nil {
		return nil, err
	}
	name := path.Clean(w.name)
	if len(data) == 0 {
		return nil, fmt.Errorf("the image %s is empty", name)
	}
	if sourceType == "" {
		if sourceType, err = imageType(name, data); err != nil {
			return nil, err
		}
	}
	img := &stored{eval.Image{Path: name, MIMEType: sourceType, SHA256: sumOf(data), Data: data}, sourceType, true}
	if w.limit > 0 {
		if err := f.resize(img, w.limit, load); err != nil {
			return nil, fmt.Errorf("%s cannot be resized: %w", name, err)
		}
	}
	if img.decoded {
		img.Bytes = len(img.Data)
	}
	return img, nil
}

// resize makes an image fit its limit. Without load, a large image is only checked.
func (f *sourceFiles) resize(img *stored, limit int, load bool) error {
	data := img.Data
	if !load {
		pixels, err := dataset.Check(data, img.MIMEType, limit)
		if err != nil {
			return err
		}
		if !f.mayDecode(pixels) {
			img.SourceSHA256 = img.SHA256
			img.Bytes = limit // no more than that will be sent
			img.Data = nil
			img.decoded = false
			return nil
		}
	}
	var err error
	if img.Data, img.MIMEType, err = dataset.Fit(data, img.MIMEType, limit); err != nil {
		return err
	}
	if sum := sumOf(img.Data); sum != img.SHA256 {
		img.SourceSHA256, img.SHA256 = img.SHA256, sum
	}
	return nil
}

func (f *sourceFiles) mayDecode(pixels int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pixels+pixels > maxChecked {
		return false
	}
	f.pixels += pixels
	return true
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func imageType(name string, data []byte) (string, error) {
	found := heifType(data)
	if found == "" {
		found, _, _ = strings.Cut(mimetype.Detect(data).String(), ";")
	}
	if !slices.Contains(wire.ImageTypes, found) {
		return "", imageTypeError{name, found}
	}
	return found, nil
}

// heifType distinguishes image/heic and image/heif by the brands of the file, the major one first. It is "" for
// anything else, including AVIF, which shares the container and is another type.
func heifType(data []byte) string {
	brands := brandsOf(data)
	if len(brands) == 0 || slices.Contains(brands, "avif") || slices.Contains(brands, "avis") {
		return ""
	}
	types := make([]string, len(brands))
	for i, b := range brands {
		types[i] = brandType(b)
	}
	if types[0] == "" && slices.Contains(types, "image/heic") {
		return "image/heic"
	}
	return cmp.Or(types...)
}

// brandsOf returns the brands of an ISO base media file, the major one first; nil for anything else.
func brandsOf(data []byte) []string {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return nil
	}
	size := int(binary.BigEndian.Uint32(data))
	if size < 16 || size > len(data) {
		return nil
	}
	brands := []string{string(data[8:12])}
	for i := 16; i+4 <= size; i += 4 {
		brands = append(brands, string(data[i:i+4]))
	}
	return brands
}

// brandType returns the media type of a brand of ISO base media files (ISO/IEC 23008-12, annex B and section 10) that the
// service accepts. The general library knows only a few of them.
func brandType(brand string) string {
	switch brand {
	case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs":
		return "image/heic"
	case "mif1", "msf1", "avci", "avcs":
		return "image/heif"
	}
	return ""
}

type imageTypeError struct{ name, found string }

func (e imageTypeError) Error() string        { return fmt.Sprintf("%s is %s", e.name, e.found) }
func (e imageTypeError) Is(target error) bool { return target == errImageType }
