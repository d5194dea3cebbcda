package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

const megabyte = 1 << 20

// quadrants is an image with a colour of its own in each corner.
func quadrants(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{255, 0, 0, 255}
			switch {
			case x >= w/2 && y < h/2:
				c = color.NRGBA{0, 255, 0, 255}
			case x < w/2 && y >= h/2:
				c = color.NRGBA{0, 0, 255, 255}
			case x >= w/2:
				c = color.NRGBA{255, 255, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, png.Encode(&b, img))
	return b.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, jpeg.Encode(&b, img, nil))
	return b.Bytes()
}

func noise(w, h int, alpha bool) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(rng.Uint32())
		if i%4 == 3 && !alpha {
			img.Pix[i] = 255
		}
	}
	return img
}

func TestFitScalesToTheLimit(t *testing.T) {
	t.Parallel()
	transparent := quadrants(4000, 100)
	transparent.SetNRGBA(5, 5, color.NRGBA{})
	for name, test := range map[string]struct {
		data     []byte
		mimeType string
		limit    int
		w, h     int
		outType  string
	}{
		"fits":               {asPNG(t, quadrants(3072, 10)), "image/png", megabyte, 3072, 10, "image/png"},
		"wide":               {asPNG(t, quadrants(6144, 100)), "image/png", megabyte, 3072, 50, "image/png"},
		"high":               {asJPEG(t, quadrants(100, 4000)), "image/jpeg", megabyte, 77, 3072, "image/jpeg"},
		"needle":             {asPNG(t, quadrants(10000, 1)), "image/png", megabyte, 3072, 1, "image/png"},
		"transparent":        {asPNG(t, transparent), "image/png", megabyte, 3072, 77, "image/png"},
		"heavy, opaque":      {asPNG(t, noise(500, 500, false)), "image/png", 400_000, 500, 500, "image/jpeg"},
		"heavy, transparent": {asPNG(t, noise(300, 300, true)), "image/png", 250_000, 240, 240, "image/png"},
	} {
		t.Run(name, func(t *testing.T) {
			out, outType := fitted(t, test.data, test.mimeType, test.limit)
			c := config(t, out, outType)
			if got, want := image.Pt(c.Width, c.Height), image.Pt(test.w, test.h); got != want || outType != test.outType {
				t.Errorf("got %s of %v, want %s of %v", outType, got, test.outType, want)
			}
			if second, _ := fitted(t, test.data, test.mimeType, test.limit); !bytes.Equal(second, out) {
				t.Error("another result the second time, want the same bytes")
			}
		})
	}
}

// fitted is data made to fit, which has to end within the limit.
func fitted(t *testing.T, data []byte, mimeType string, limit int) ([]byte, string) {
	t.Helper()
	out, outType, err := Fit(data, mimeType, limit)
	expect.OK(t, err)
	if len(out) > limit {
		t.Errorf("got %d bytes, want at most %d", len(out), limit)
	}
	return out, outType
}

func config(t *testing.T, data []byte, mimeType string) image.Config {
	t.Helper()
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || "image/"+format != mimeType {
		t.Errorf("got %s, want %s (%v)", format, mimeType, err)
	}
	return c
}

// withOrientation puts an EXIF segment into a JPEG file.
func withOrientation(data []byte, o byte, order binary.ByteOrder) []byte {
	tiff := []byte("II*\x00\x08\x00\x00\x00")
	if order == binary.ByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*\x00\x00\x00\x08")
	}
	entry := make([]byte, 2+12+4)
	order.PutUint16(entry, 1)
	order.PutUint16(entry[2:], orientationTag)
	order.PutUint16(entry[4:], 3)
	order.PutUint32(entry[6:], 1)
	order.PutUint16(entry[10:], uint16(o))
	body := append(append([]byte("Exif\x00\x00"), tiff...), entry...)
	segment := binary.BigEndian.AppendUint16([]byte{0xFF, 0xE1}, uint16(len(body)+2))
	return append(append(append([]byte{}, data[:2]...), append(segment, body...)...), data[2:]...)
}

// Every orientation ends with the picture upright: the red corner where it belongs.
func TestOrientationEndsUpright(t *testing.T) {
	t.Parallel()
	// Where the red quadrant of the stored picture ends: left or right, top or bottom.
	want := map[byte][2]bool{
		1: {true, true},
		2: {false, true},
		3: {false, false},
		4: {true, false},
		5: {true, true},
		6: {false, true},
		7: {false, false},
		8: {true, false},
	}
	for o, at := range want {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			data := withOrientation(asJPEG(t, quadrants(400, 200)), o, order)
			out, _ := fitted(t, data, "image/jpeg", len(data)-1) // so that it is written again
			img, err := jpeg.Decode(bytes.NewReader(out))
			expect.OK(t, err)
			size := img.Bounds().Size()
			if (o >= 5) != (size.Y > size.X) {
				t.Errorf("orientation %d: %v, want a high picture from 5 on, a wide one before", o, size)
			}
			if p := quadrant(size, at[0], at[1]); !red(img.At(p.X, p.Y)) {
				t.Errorf("orientation %d: got another color at %v of %v, want red", o, p, size)
			}
		}
	}
}

// quadrant is the middle of one of the four quadrants.
func quadrant(size image.Point, left, top bool) image.Point {
	p := size.Mul(3).Div(4)
	if left {
		p.X = size.X / 4
	}
	if top {
		p.Y = size.Y / 4
	}
	return p
}

func red(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return r >= 0xC000 && g <= 0x4000 && b <= 0x4000
}

func TestOrientationIsReadFromFiles(t *testing.T) {
	t.Parallel()
	expect.Same(t, "orientation", orientation(testFile(t, "exif-orientation6-40x20.jpg"), "image/jpeg"), 6)
	for _, junk := range []string{
		"", "II", "II*\x00\xff\xff\xff\xff", "XX*\x00\x08\x00\x00\x00\x01\x00", "MM\x00*\x00\x00\x00\x08\xff\xff",
	} {
		expect.Same(t, junk, tiffOrientation([]byte(junk)), 1)
	}
}

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	expect.OK(t, err)
	return data
}

// claimed is a PNG file that claims this size, and ends there.
func claimed(w, h uint32) []byte {
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), w), h)
	header = append(header, 8, 2, 0, 0, 0)
	out := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), uint32(len(header)-4))
	return binary.BigEndian.AppendUint32(append(out, header...), crc32.ChecksumIEEE(header))
}

func TestPicturesThatCannotBeReadAreNotResized(t *testing.T) {
	t.Parallel()
	whole, heic := asPNG(t, quadrants(4000, 50)), testFile(t, "64x64.heic")
	for name, test := range map[string]struct {
		data     []byte
		mimeType string
		want     string
	}{
		"bomb":          {claimed(65535, 65535), "image/png", "65535 x 65535 pixels"},
		"half a file":   {whole[:len(whole)/2], "image/png", "damaged"},
		"no PNG":        {[]byte("\x89PNG\r\n\x1a\nnonsense"), "image/png", "damaged"},
		"no JPEG":       {[]byte("\xff\xd8\xff\xe0"), "image/jpeg", "damaged"},
		"no WebP":       {[]byte("RIFF\x00\x00\x00\x00WEBPVP8 "), "image/webp", "damaged"},
		"animated WebP": {testFile(t, "animated.webp"), "image/webp", "animation"},
		"heic":          {heic, "image/heic", "only png, jpeg and webp"},
	} {
		if _, _, err := Fit(test.data, test.mimeType, 100); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	if _, _, err := Fit(heic, "image/heic", 100); !errors.Is(err, ErrType) {
		t.Errorf("got %v, want ErrType", err)
	}
	if out, mimeType := fitted(t, heic, "image/heic", megabyte); mimeType != "image/heic" || !bytes.Equal(out, heic) {
		t.Errorf("a heic file that fits: got another of type %s, want it as it was", mimeType)
	}
}

// All kinds of files that are decoded, small enough or not.
func TestAllKindsOfPicturesAreDecoded(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{
		"gopher-doc.with-alpha.lossless.webp": "image/webp", "blue-purple-pink.lossy.webp": "image/webp",
		"cmyk.jpeg": "image/jpeg", "16bit.png": "image/png",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := testFile(t, name)
			if out, _ := fitted(t, data, kind, len(data)); !bytes.Equal(out, data) {
				t.Error("an image that fits became another, want the same bytes")
			}
			out, outType := fitted(t, data, kind, len(data)/2)
			config(t, out, outType)
		})
	}
}

func FuzzFit(f *testing.F) {
	files, err := fs.Glob(os.DirFS("testdata"), "*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		for _, kind := range []string{"image/png", "image/jpeg", "image/webp"} {
			f.Add(testFile(f, name), kind)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, kind string) {
		if c, err := decodeConfig(data, kind); err == nil && c.Width > 4096/max(1, c.Height) {
			return // large ones only take time
		}
		limit := max(200, len(data)/2)
		if out, _, err := Fit(data, kind, limit); err == nil && len(out) > limit {
			t.Errorf("got %d bytes, want at most %d", len(out), limit)
		}
	})
}
