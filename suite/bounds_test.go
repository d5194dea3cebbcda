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

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// What is too long or too much is refused with the bound.
func TestWhatIsTooLongIsRefusedWithItsBound(t *testing.T) {
	t.Parallel()
	many := func(n int, one string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") + "]"
	}
	scorer := func(text string) string {
		return "prompts: [{name: p, text: hello}]\ncases: [{name: a, scorers: [" + text + "]}]\n"
	}
	classes := make([]string, 251)
	for i := range classes {
		classes[i] = fmt.Sprint("c", i)
	}
	for name, test := range map[string]struct{ text, want, hint string }{
		"items of a list": {scorer("list: {items: " + many(1001, "x") + "}"), "1001 items; at most 1000", "split it into several scorers"},
		"calls": {
			scorer("toolCalls: {calls: " + many(1001, "{name: f}") + "}"), "1001 calls; at most 1000", "split them into several scorers",
		},
		"paths":             {scorer("xml: {required: " + many(101, "a/b") + "}"), "101 paths; at most 100", "split them into several scorers"},
		"elements of paths": {scorer("xml: {required: [" + strings.Repeat("a/", 600) + "a]}"), "a path of more than 500 elements", "shorten it"},
		"references": {
			scorer("bleu: {min: 0.5, to: [" + strings.Repeat("word ", 60_000) + "]}"),
			"the references have 299999 bytes, `bleu` takes at most 262144", "shorten them",
		},
		"functions": {
			"prompts: [{name: p, text: x, tools: " + many(129, "{name: f}") + "}]\ncases: [{name: a, scorers: [{contains: x}]}]\n",
			"there are 129 tools; at most 128 are allowed", "declare the ones that this prompt needs",
		},
		"classes": {
			"classification: {label: c1, classes: [" + strings.Join(classes, ", ") + "]}\n" + scorer("contains: x"),
			"251 classes are too many: 250 at most", "join the rare ones as `other`",
		},
		"a prompt": {
			"prompts: [{name: p, text: '" + strings.Repeat("hello ", 1<<20) + "'}]\ncases: [{name: a, scorers: [{contains: x}]}]\n",
			"the encoded prompt", "images count in base64, a third more than their files",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := fromText("version: 1\nname: s\ntargets: [{name: pro, model: svc-pro}]\n"+test.text, suite.Options{})
			var got []string
			for _, d := range diags.Sorted() {
				got = append(got, d.Message+": "+d.Hint)
				if strings.Contains(d.Message, test.want) && d.Hint == test.hint {
					return
				}
			}
			t.Errorf("got %.500q, want %q with the hint %q", got, test.want, test.hint)
		})
	}
}

// Images of a few kilobytes may have tens of millions of pixels. Loading a suite decodes none of them, and still finds
// damaged and oversized ones.
func TestLargeImagesAreNotDecodedWhileLoading(t *testing.T) {
	picture := func(w, h int) []byte {
		var b bytes.Buffer
		expect.OK(t, png.Encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})))
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
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, diags := fromFolder(files, suite.Options{})
	runtime.ReadMemStats(&after)
	if diags.HasErrors() {
		t.Fatalf("got %v, want no problem", diags.Err())
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
		t.Errorf("got %d MB, want at most 64", made>>20)
	}
	files["i7.png"].Data = picture(11_000, 11_500) // 126 million pixels
	_, diags = fromFolder(files, suite.Options{})
	expect.Fails(t, "an image of too many pixels", diags.Err(), "at most")
	files["i7.png"].Data = large[:20]
	if _, diags := fromFolder(files, suite.Options{}); !diags.HasErrors() {
		t.Error("got no problem for a damaged image, want one")
	}
}
