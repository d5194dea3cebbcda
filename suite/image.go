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

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/yaml"
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

// attached is a file other than an image: audio, video, a PDF. MIMEType is the type found in its bytes, or "".
type attached struct {
	eval.Image
	detected *mimetype.MIME
}

// attached reads a file and finds its type in its bytes. It returns the bytes only with load.
func (f *sourceFiles) attached(name string, load bool) (*attached, error) {
	clean := path.Clean(name)
	f.mu.Lock()
	known, ok := f.others[clean]
	f.mu.Unlock()
	if ok && !load {
		return &known, nil
	}
	data, err := f.read(name, wire.MaxPromptBytes)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s is empty", clean)
	}
	out := attached{eval.Image{Path: clean, SHA256: sumOf(data), Bytes: len(data)}, mimetype.Detect(data)}
	out.MIMEType = heifType(data)
	if out.MIMEType == "" && showsType(out.detected) {
		out.MIMEType, _, _ = strings.Cut(out.detected.String(), ";")
	}
	f.mu.Lock()
	f.others[clean] = out
	f.mu.Unlock()
	if load {
		out.Data = data
	}
	return &out, nil
}

// showsType reports whether the type found in the bytes is specific enough for the service, not only a container or text.
func showsType(found *mimetype.MIME) bool {
	return isMedia(found.String()) && !found.Is("application/ogg")
}

// isMedia reports whether the bytes of a file identify this type with certainty.
func isMedia(mimeType string) bool {
	kind, _, _ := strings.Cut(mimeType, "/")
	return kind == "image" || kind == "audio" || kind == "video" || mimeType == "application/pdf"
}

var mediaType = pattern(`^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$`)

// mediaTypeOf reads the type that a suite gives a file. It reports invalid types, and types of images.
func mediaTypeOf(n yaml.Node) yaml.Node {
	switch given := n.Str(); {
	case n.IsZero():
	case !mediaType().MatchString(given):
		if n.IsScalar() && !n.IsNull() {
			n.Errorf("such as audio/mpeg or application/pdf", "`%s` is not a media type", given)
		}
	case strings.HasPrefix(given, "image/"):
		n.Errorf("write `image:` instead of `data:`", "%s is the type of an image", given)
	default:
		return n
	}
	return yaml.Node{}
}

func (one dataInTurn) file(name string, c *Case, files *sourceFiles, diags *diag.List, load bool) *eval.Image {
	fail := func(hint, format string, args ...any) *eval.Image {
		diags.Errorf(one.source.node.Pos(), hint, "case `%s`: %s", c.Name, fmt.Sprintf(format, args...))
		return nil
	}
	found, err := files.attached(name, load)
	switch {
	case err != nil:
		return fail("", "%s", err)
	case strings.HasPrefix(found.MIMEType, "image/"):
		return fail("write `image:` instead of `data:`", "%s is %s, an image", name, found.MIMEType)
	case one.mimeType.IsZero() && found.MIMEType == "":
		return fail("add `mimeType`, such as text/plain or audio/L16", "the bytes of %s do not show its type", name)
	case one.mimeType.IsZero():
		return &found.Image
	}
	given := one.mimeType.Str()
	if !found.mayBe(given) {
		hint := "remove `mimeType`: the type is read from the bytes"
		if found.MIMEType == "" {
			hint = "give the type of what the file holds"
		}
		one.mimeType.WithDiags(diags).Errorf(hint, "%s is %s, not %s", name, found.words(), given)
		return nil
	}
	found.MIMEType = given // a type has several names: use the one in the suite
	return &found.Image
}

func (a *attached) words() string {
	found, _, _ := strings.Cut(a.detected.String(), ";")
	return found
}

// containers groups types that share a container format, which the first bytes do not distinguish. The library knows
// further names of a type.
func containers() [][]string {
	return [][]string{
		{
			"video/mp4", "audio/mp4", "audio/x-m4a", "audio/m4a", "video/quicktime",
			"video/mov", "video/x-m4v", "video/3gpp", "video/3gpp2",
		},
		{"audio/ogg", "video/ogg", "application/ogg", "audio/opus"},
		{"video/webm", "audio/webm", "video/matroska", "video/x-matroska"},
		{"video/mpeg", "video/mpg"},
		{"video/x-ms-asf", "video/wmv", "video/x-ms-wmv"},
	}
}

// mayBe reports whether the bytes may be of a type. Unknown bytes may be of any type, but text is never audio, video or a
// PDF.
func (a *attached) mayBe(mimeType string) bool {
	found := a.words()
	switch {
	case a.detected.Is(mimeType), slices.ContainsFunc(containers(), func(group []string) bool {
		return slices.Contains(group, found) && slices.Contains(group, strings.ToLower(mimeType))
	}):
		return true
	case a.MIMEType != "":
		return false
	}
	return !isMedia(mimeType) || !a.isText()
}

func (a *attached) isText() bool {
	for m := a.detected; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}
