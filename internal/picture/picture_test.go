package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
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
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
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

func TestFit(t *testing.T) {
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
			out, outType, err := Fit(test.data, test.mimeType, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			c, format, err := image.DecodeConfig(bytes.NewReader(out))
			if err != nil || c.Width != test.w || c.Height != test.h || outType != test.outType || "image/"+format != outType ||
				len(out) > test.limit {
				t.Errorf("%s %s %dx%d, %d bytes, %v", outType, format, c.Width, c.Height, len(out), err)
			}
			again, _, err := Fit(test.data, test.mimeType, test.limit)
			if err != nil || !bytes.Equal(again, out) {
				t.Error("another result the second time", err)
			}
		})
	}
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
func TestOrientation(t *testing.T) {
	t.Parallel()
	// Where the red quadrant of the stored picture is to be seen: left or right, top or bottom.
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
			out, _, err := Fit(data, "image/jpeg", len(data)-1) // so that it is written anew
			if err != nil {
				t.Fatal(err)
			}
			img, err := jpeg.Decode(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			size := img.Bounds().Size()
			if (o >= 5) != (size.Y > size.X) {
				t.Errorf("orientation %d: %v", o, size)
			}
			x, y := size.X/4, size.Y/4
			if !at[0] {
				x = size.X * 3 / 4
			}
			if !at[1] {
				y = size.Y * 3 / 4
			}
			if r, g, b, _ := img.At(x, y).RGBA(); r < 0xC000 || g > 0x4000 || b > 0x4000 {
				t.Errorf("orientation %d: no red at %d,%d of %v", o, x, y, size)
			}
		}
	}
	data, err := os.ReadFile("testdata/exif-orientation6-40x20.jpg")
	if err != nil {
		t.Fatal(err)
	}
	if o := orientation(data, "image/jpeg"); o != 6 {
		t.Errorf("orientation %d", o)
	}
	for _, junk := range []string{"", "II", "II*\x00\xff\xff\xff\xff", "XX*\x00\x08\x00\x00\x00\x01\x00", "MM\x00*\x00\x00\x00\x08\xff\xff"} {
		if o := tiffOrientation([]byte(junk)); o != 1 {
			t.Errorf("%q: %d", junk, o)
		}
	}
}

// claimed is a PNG file that says it has so many pixels, and ends there.
func claimed(w, h uint32) []byte {
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), w), h)
	header = append(header, 8, 2, 0, 0, 0)
	out := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), uint32(len(header)-4))
	return binary.BigEndian.AppendUint32(append(out, header...), crc32.ChecksumIEEE(header))
}

func TestWhatIsNotResized(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	whole := asPNG(t, quadrants(4000, 50))
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
		"animated WebP": {read("animated.webp"), "image/webp", "animation"},
		"heic":          {read("64x64.heic"), "image/heic", "only png, jpeg and webp"},
	} {
		if _, _, err := Fit(test.data, test.mimeType, 100); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Fit(read("64x64.heic"), "image/heic", 100); !errors.Is(err, ErrType) {
		t.Error(err)
	}
	heic := read("64x64.heic")
	if out, mimeType, err := Fit(heic, "image/heic", megabyte); err != nil || mimeType != "image/heic" || !bytes.Equal(out, heic) {
		t.Error(mimeType, err)
	}
}

// All kinds of files that are decoded, small enough or not.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{
		"gopher-doc.with-alpha.lossless.webp": "image/webp", "blue-purple-pink.lossy.webp": "image/webp",
		"cmyk.jpeg": "image/jpeg", "16bit.png": "image/png",
	} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if out, _, err := Fit(data, kind, len(data)); err != nil || !bytes.Equal(out, data) {
			t.Errorf("%s: %v", name, err)
		}
		out, outType, err := Fit(data, kind, len(data)/2)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, format, err := image.DecodeConfig(bytes.NewReader(out)); err != nil || "image/"+format != outType || len(out) > len(data)/2 {
			t.Errorf("%s: %s %s %d bytes, %v", name, outType, format, len(out), err)
		}
	}
}

func FuzzFit(f *testing.F) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile("testdata/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		for _, kind := range []string{"image/png", "image/jpeg", "image/webp"} {
			f.Add(data, kind)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, kind string) {
		if c, err := decodeConfig(data, kind); err == nil && c.Width > 4096/max(1, c.Height) {
			return // large ones only take time
		}
		limit := max(200, len(data)/2)
		if out, _, err := Fit(data, kind, limit); err == nil && len(out) > limit {
			t.Errorf("%d bytes, at most %d", len(out), limit)
		}
	})
}
