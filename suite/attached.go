package suite

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

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

var mediaType = regexp.MustCompile(`^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$`)

// mediaTypeOf reads the type that a suite gives a file. It reports invalid types, and types of images.
func mediaTypeOf(n yaml.Node) yaml.Node {
	switch given := n.Str(); {
	case n.IsZero():
	case !mediaType.MatchString(given):
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
