package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"runtime"
	"runtime/debug"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// maxSide is the largest width and height that the service uses.
const maxSide = 3072

// maxDecoded bounds the memory of a decoded image, in bytes. Photographs of fifty million pixels fit, and
// screenshots of thirty million.
const maxDecoded = 120 << 20

// largePixels is the number of pixels from which garbage is collected right after resizing.
const largePixels = 4 << 20

// turn admits one image at a time, because several would need several times the memory.
var turn = make(chan struct{}, 1)

// ErrType is returned for types that cannot be decoded here: heic and heif.
var ErrType = errors.New("only png, jpeg and webp can be resized")

// Fit returns an image of at most maxSide in width and height and at most limit bytes, as PNG or JPEG, upright as its
// EXIF data say. An image that fits is returned unchanged, whatever its type.
func Fit(data []byte, mimeType string, limit int) (out []byte, outType string, err error) {
	pixels, err := Check(data, mimeType, limit)
	if err != nil || pixels == 0 {
		return data, mimeType, err
	}
	turn <- struct{}{}
	defer func() { <-turn }()
	if pixels > largePixels { // otherwise the heap would grow several times before a collection
		percent := debug.SetGCPercent(20)
		defer func() {
			runtime.GC()
			debug.SetGCPercent(percent)
		}()
	}
	img, err := decode(data, mimeType)
	if err != nil {
		return nil, "", err
	}
	small := scale(img, shrunk(img.Bounds(), maxSide))
	return encode(upright(small, orientation(data, mimeType)), mimeType, limit)
}

// Check says why an image cannot be made to fit, as far as its header shows. It returns the number of pixels
// to decode for resizing, 0 if the image fits.
func Check(data []byte, mimeType string, limit int) (pixels int, err error) {
	config, err := decodeConfig(data, mimeType)
	light := len(data) <= limit
	switch {
	case errors.Is(err, ErrType) && light: // the service scales it itself
		return 0, nil
	case err != nil:
		return 0, err
	case light && max(config.Width, config.Height) <= maxSide:
		return 0, nil
	}
	if err := resizable(config); err != nil {
		return 0, err
	}
	if animated(data, mimeType) {
		return 0, errors.New("the image is an animation, and resizing it keeps only one frame")
	}
	return config.Width * config.Height, nil
}

// resizable refuses images beyond maxDecoded.
func resizable(c image.Config) error {
	if c.Width < 1 || c.Height < 1 {
		return errors.New("the image has no pixels")
	}
	if most := maxDecoded / pixelBytes(c.ColorModel); c.Width > most/c.Height {
		return fmt.Errorf("the image has %d x %d pixels; at most %d of its kind can be resized", c.Width, c.Height, most)
	}
	return nil
}

// pixelBytes returns the memory of a decoded pixel.
func pixelBytes(m color.Model) int {
	switch m {
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	case color.YCbCrModel: // usually 1.5 bytes, and 3 without chroma subsampling
		return 2
	case color.Gray16Model:
		return 2
	case color.GrayModel:
		return 1
	}
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	return 4
}

func decodeConfig(data []byte, mimeType string) (c image.Config, err error) {
	in := bytes.NewReader(data)
	switch mimeType {
	case "image/png":
		c, err = png.DecodeConfig(in)
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(in)
	case "image/webp":
		if c, err = webp.DecodeConfig(in); err != nil && animated(data, mimeType) {
			c, err = webpCanvas(data)
		}
	default:
		return c, ErrType
	}
	return c, damaged(err)
}

func decode(data []byte, mimeType string) (img image.Image, err error) {
	defer func() { // decoders may panic on files from anywhere
		if p := recover(); p != nil {
			err = fmt.Errorf("the image is damaged: %v", p)
		}
	}()
	in := bytes.NewReader(data)
	switch mimeType {
	case "image/png":
		img, err = png.Decode(in)
	case "image/jpeg":
		img, err = jpeg.Decode(in)
	default:
		img, err = webp.Decode(in)
	}
	return img, damaged(err)
}

func damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the image is damaged: %w", err)
}

// shrunk fits b into a square of the given side and keeps its proportions.
func shrunk(b image.Rectangle, side int) image.Point {
	w, h := float64(b.Dx()), float64(b.Dy())
	f := min(1, float64(side)/w, float64(side)/h)
	return image.Pt(max(1, int(math.Round(w*f))), max(1, int(math.Round(h*f))))
}

// scale resizes first the width and then the height, which has the same result. Its output type is one that
// package draw handles fast.
func scale(img image.Image, size image.Point) *image.RGBA {
	out := image.NewRGBA(image.Rectangle{Max: size})
	if size == img.Bounds().Size() {
		draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Src)
		return out
	}
	from := img.Bounds()
	narrow := image.NewRGBA(image.Rect(0, 0, size.X, from.Dy()))
	for y := 0; y < from.Dy(); y += band {
		end := min(y+band, from.Dy())
		draw.BiLinear.Scale(
			narrow, image.Rect(0, y, size.X, end), img, image.Rect(from.Min.X, from.Min.Y+y, from.Max.X, from.Min.Y+end),
			draw.Src, nil,
		)
	}
	for x := 0; x < size.X; x += band {
		end := min(x+band, size.X)
		draw.BiLinear.Scale(out, image.Rect(x, 0, end, size.Y), narrow, image.Rect(x, 0, end, from.Dy()), draw.Src, nil)
	}
	return out
}

// band is how many rows or columns are scaled at once, because draw allocates 32 bytes per pixel for its
// intermediate result.
const band = 64

// upright applies an orientation of EXIF 2.3, section 4.6.4: 1 to 8, where 1 is upright.
func upright(img *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	size := image.Pt(w, h)
	if orientation >= 5 { // rows become columns
		size = image.Pt(h, w)
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	for y := range h {
		for x := range w {
			tx, ty := turned(orientation, x, y, size)
			copy(out.Pix[out.PixOffset(tx, ty):][:4], img.Pix[img.PixOffset(x, y):][:4])
		}
	}
	return out
}

// turned returns the upright position of the stored pixel x, y. size is that of the upright image.
func turned(orientation, x, y int, size image.Point) (tx, ty int) {
	if orientation >= 5 {
		x, y = y, x
	}
	right, bottom := size.X-1-x, size.Y-1-y
	switch orientation {
	case 2, 6:
		return right, y
	case 3, 7:
		return right, bottom
	case 4, 8:
		return x, bottom
	}
	return x, y
}

// step is the factor by which an image shrinks while it has too many bytes.
const step = 0.8

// encode writes an image, and shrinks it until it has at most limit bytes.
func encode(img *image.RGBA, mimeType string, limit int) ([]byte, string, error) {
	for {
		if out, outType, err := encodeSize(img, mimeType, limit); err != nil || out != nil {
			return out, outType, err
		}
		side := int(step * float64(max(img.Rect.Dx(), img.Rect.Dy())))
		if side < 1 {
			return nil, "", fmt.Errorf("the image cannot be brought under %d bytes", limit)
		}
		img = scale(img, shrunk(img.Rect, side))
	}
}

// encodeSize writes an image in its current size, or returns nil if that needs more than limit bytes.
// Transparent images must be PNG. A PNG, which may be a screenshot, stays PNG if it fits. Others become
// JPEG.
func encodeSize(img *image.RGBA, mimeType string, limit int) ([]byte, string, error) {
	transparent := !img.Opaque()
	if transparent || mimeType == "image/png" {
		if out, err := encodePNG(img); err != nil || len(out) <= limit {
			return out, "image/png", err
		}
	}
	if transparent {
		return nil, "", nil
	}
	out, err := encodeJPEG(img, limit)
	return out, "image/jpeg", err
}

// encodeJPEG lowers the quality, which costs less than shrinking. It returns nil if no quality fits into
// limit bytes.
func encodeJPEG(img *image.RGBA, limit int) ([]byte, error) {
	for _, q := range []int{90, 80, 70} {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: q}); err != nil || b.Len() <= limit {
			return b.Bytes(), err
		}
	}
	return nil, nil
}

func encodePNG(img *image.RGBA) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}

func canvas(w, h int) image.Config {
	return image.Config{ColorModel: color.NRGBAModel, Width: w, Height: h}
}
