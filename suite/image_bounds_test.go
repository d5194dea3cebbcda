package suite_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Images of a few kilobytes may have tens of millions of pixels. Loading a suite decodes none of them, and still finds
// damaged and oversized ones.
func TestLargeImagesAreNotDecodedWhileLoading(t *testing.T) {
	picture := func(w, h int) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	large := picture(8000, 8000)
	files := fstest.MapFS{}
	var parts strings.Builder
	for i := range 8 {
		name := fmt.Sprintf("i%d.png", i)
		files[name] = &fstest.MapFile{Data: append(bytes.Clone(large), byte(i))}
		fmt.Fprintf(&parts, "      - {image: %s, resize: true}\n", name)
	}
	text := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts:\n  - name: p\n    parts:\n" + parts.String() +
		"      - text: hi\ncases: [{name: c, scorers: [{contains: x}]}]\n"
	files["s.yaml"] = &fstest.MapFile{Data: []byte(text)}
	load := func() *diag.List {
		var diags diag.List
		suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
		return &diags
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	diags := load()
	runtime.ReadMemStats(&after)
	if diags.HasErrors() {
		t.Fatalf("got %v, want no problem", diags.Err())
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
		t.Errorf("got %d MB, want at most 64", made>>20)
	}
	files["i7.png"].Data = picture(11_000, 11_500) // 126 million pixels
	if diags := load(); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "at most") {
		t.Errorf("got %v, want an error about the size", diags.Err())
	}
	files["i7.png"].Data = large[:20]
	if diags := load(); !diags.HasErrors() {
		t.Error("got no problem for a damaged image, want one")
	}
}
