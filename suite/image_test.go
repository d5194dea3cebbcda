package suite_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

func pictures(t *testing.T, parts string) (*suite.Suite, *diag.List) {
	t.Helper()
	var wide bytes.Buffer
	expect.OK(t, png.Encode(&wide, image.NewGray(image.Rect(0, 0, 3200, 1600))))
	heic, err := os.ReadFile("testdata/images/64x64.heic")
	expect.OK(t, err)
	text := "version: 1\nname: s\ntargets: [{name: eyes, model: svc-pro-vision}]\nprompts:\n  - name: p\n    parts:\n" + parts +
		"cases: [{name: c, vars: {file: wide.png}, scorers: [{contains: x}]}]\n"
	fsys := fstest.MapFS{
		"s.yaml":    {Data: []byte(text)},
		"wide.png":  {Data: wide.Bytes()},
		"x.heic":    {Data: heic},
		"huge.heic": {Data: append(heic, make([]byte, 4<<20)...)},
		"half.png":  {Data: wide.Bytes()[:200]},
	}
	return fromFolder(fsys, suite.Options{})
}

// A resized image is sent at the size that the service looks at, the same each time, and is the same case as
// its file.
func TestResizeScalesAnImageTheSameEachTime(t *testing.T) {
	t.Parallel()
	s, diags := pictures(
		t,
		"      - {image: \"{{.file}}\", resize: true, mimeType: image/png}\n      - {image: x.heic, resize: true}\n      - text: what is this?\n",
	)
	if diags.HasErrors() {
		t.Fatalf("got %v, want no problem", diags.Err())
	}
	first, second := shown(t, s), shown(t, s)
	hasSize(t, first, image.Pt(3072, 1536))
	if first.SHA256 != second.SHA256 || !bytes.Equal(first.Data, second.Data) {
		t.Errorf("got the image %s, then %s; want the same", first.SHA256, second.SHA256)
	}
	if !strings.HasPrefix(first.Identity(), "resized ") {
		t.Errorf("got %s, want it to say that it was resized", first.Identity())
	}
}

// shown is the first image of the first case; the second, a heic file, is never resized.
func shown(t *testing.T, s *suite.Suite) *eval.Image {
	t.Helper()
	for c := range s.Cases() {
		prompt, err := s.Render(c, c.Arms[0])
		expect.OK(t, err)
		if heic := prompt.Contents[0].Parts[1].(eval.ImagePart).Image; heic.MIMEType != "image/heic" || heic.SourceSHA256 != "" {
			t.Errorf("%+v, want a heic file as it was", heic)
		}
		return prompt.Contents[0].Parts[0].(eval.ImagePart).Image
	}
	t.Fatal("got no case, want one")
	return nil
}

func TestImagesThatCannotBeResizedAreProblems(t *testing.T) {
	t.Parallel()
	_, diags := pictures(t, strings.Join([]string{
		"      - {image: wide.png}", "      - {image: huge.heic, resize: true}", "      - {image: half.png, resize: true}",
		"      - {image: half.png}", "      - {text: x, resize: true}", "      - {image: huge.heic}", "",
	}, "\n"))
	err := diags.Err()
	if err == nil {
		t.Fatal("got no problem, want some")
	}
	said := diags.Sorted()
	for _, want := range []string{
		"s.yaml:8:17: case `c`: huge.heic cannot be resized: only png, jpeg and webp can be resized",
		"s.yaml:9:17: case `c`: half.png cannot be resized: the image is damaged",
		"s.yaml:11:19: resize belongs to an image",
		"s.yaml:12:17: case `c`: huge.heic has 4195645 bytes; at most 4194304 are read",
	} {
		if !slices.ContainsFunc(said, func(d diag.Diagnostic) bool { return strings.HasPrefix(d.Pos.String()+": "+d.Message, want) }) {
			t.Errorf("got no problem %s\n%v, want it", want, err)
		}
	}
}

func hasSize(t *testing.T, img *eval.Image, want image.Point) {
	t.Helper()
	c, format, err := image.DecodeConfig(bytes.NewReader(img.Data))
	if err != nil || "image/"+format != img.MIMEType {
		t.Errorf("got %s, want %s (%v)", format, img.MIMEType, err)
	}
	if got := image.Pt(c.Width, c.Height); got != want || img.Bytes != len(img.Data) {
		t.Errorf("got %v of %d bytes, want %v", got, img.Bytes, want)
	}
}
