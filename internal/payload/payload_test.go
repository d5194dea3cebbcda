package payload

import (
	"bytes"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
)

// Contents are sent in the service's spelling, byte by byte.
func TestContentsAsTheyAreSent(t *testing.T) {
	t.Parallel()
	image := &eval.Image{MIMEType: "image/png", Data: []byte{0xff, 0xfe}}
	for want, contents := range map[string][]eval.Content{
		`[]`:                            nil,
		`[{"parts":[]}]`:                {{}},
		`[{"parts":[{"text":"a\"b"}]}]`: {{Parts: []eval.Part{{Text: `a"b`}}}},
		`[{"role":"user","parts":[{"text":"x"},{"inline_data":{"mime_type":"image/png","data":"//4="}}]},` +
			`{"role":"model","parts":[{"text":"y"}]}]`: {
			{Role: "user", Parts: []eval.Part{{Text: "x"}, {Image: image}}}, {Role: "model", Parts: []eval.Part{{Text: "y"}}},
		},
	} {
		expect.Same(t, "contents", string(Append(nil, contents)), want)
		expect.Same(t, "after what is there", string(Append([]byte("x"), contents)), "x"+want)
		expect.Same(t, "size of "+want, Size(contents), len(want))
	}
	expect.Same(t, "the image after its size was asked", image.Data, []byte{0xff, 0xfe})
}

// Images of any length are as long as foretold, and their base64 has no line breaks.
func TestSizeOfImages(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		contents := []eval.Content{
			{Parts: []eval.Part{{Image: &eval.Image{Data: bytes.Repeat([]byte{1}, n)}}, {Image: &eval.Image{Data: []byte("x")}}}},
		}
		data := Append(nil, contents)
		expect.Same(t, "size", Size(contents), len(data))
		if bytes.ContainsAny(data, "\r\n") {
			t.Errorf("an image of %d bytes has line breaks", n)
		}
	}
}

// Bytes of texts and images are counted over all contents.
func TestTextsAndImagesAreCounted(t *testing.T) {
	t.Parallel()
	contents := []eval.Content{
		{Role: "user", Parts: []eval.Part{{Text: "日本"}, {Image: &eval.Image{Data: []byte("123")}}}},
		{Role: "model", Parts: []eval.Part{{Text: "abc"}, {Image: &eval.Image{}}, {Image: &eval.Image{}}}},
	}
	expect.Same(t, "bytes and images", [2]int{TextBytes(contents), Images(contents)}, [2]int{9, 3})
	expect.Same(t, "of nothing", [2]int{TextBytes(nil), Images(nil)}, [2]int{0, 0})
}
