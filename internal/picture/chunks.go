package picture

import (
	"encoding/binary"
	"errors"
	"image"
	"iter"
)

// chunk is a part of an image file: a PNG chunk, a WebP chunk or a JPEG segment.
type chunk struct {
	name string // of JPEG: the marker, such as "\xE1"
	data []byte
}

// pngChunks yields the chunks of a PNG file (ISO/IEC 15948, section 5.3).
func pngChunks(data []byte) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		for at := 8; at+12 <= len(data); {
			size := int(binary.BigEndian.Uint32(data[at:]))
			if size > len(data)-at-12 || !yield(chunk{string(data[at+4 : at+8]), data[at+8 : at+8+size]}) {
				return
			}
			at += 12 + size
		}
	}
}

// webpChunks yields the chunks of a WebP file (RFC 9649, section 2.3).
func webpChunks(data []byte) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		for at := 12; at+8 <= len(data); {
			size := int(binary.LittleEndian.Uint32(data[at+4:]))
			if size > len(data)-at-8 || !yield(chunk{string(data[at : at+4]), data[at+8 : at+8+size]}) {
				return
			}
			at += 8 + size + size%2
		}
	}
}

// jpegSegments yields the segments of a JPEG file before its picture (ISO/IEC 10918-1, annex B).
func jpegSegments(data []byte) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		for at := 2; at+4 <= len(data) && data[at] == 0xFF; {
			marker := data[at+1]
			if marker == 0xFF { // a fill byte
				at++
				continue
			}
			size := int(binary.BigEndian.Uint16(data[at+2:]))
			const startOfScan = 0xDA
			if marker == startOfScan || size < 2 || at+2+size > len(data) || !yield(chunk{string([]byte{marker}), data[at+4 : at+2+size]}) {
				return
			}
			at += 2 + size
		}
	}
}

// animated reports whether an image has several frames.
func animated(data []byte, mimeType string) bool {
	switch mimeType {
	case "image/png":
		for c := range pngChunks(data) {
			if c.name == "acTL" || c.name == "IDAT" { // the former stands before the latter, if at all
				return c.name == "acTL"
			}
		}
	case "image/webp":
		for c := range webpChunks(data) {
			if c.name == "ANIM" || c.name == "ANMF" {
				return true
			}
		}
	}
	return false
}

// webpCanvas reads the size of an extended WebP file.
func webpCanvas(data []byte) (image.Config, error) {
	for c := range webpChunks(data) {
		if c.name == "VP8X" && len(c.data) >= 10 {
			size := func(b []byte) int { return 1 + int(b[0]) + int(b[1])<<8 + int(b[2])<<16 }
			return canvas(size(c.data[4:]), size(c.data[7:])), nil
		}
	}
	return image.Config{}, errors.New("no size")
}

// orientation finds how an image is to be turned, 1 when it does not say.
func orientation(data []byte, mimeType string) int {
	switch mimeType {
	case "image/jpeg":
		for c := range jpegSegments(data) {
			if c.name == "\xE1" && len(c.data) > 6 && string(c.data[:6]) == "Exif\x00\x00" {
				return tiffOrientation(c.data[6:])
			}
		}
	case "image/png":
		for c := range pngChunks(data) {
			if c.name == "eXIf" {
				return tiffOrientation(c.data)
			}
		}
	case "image/webp":
		for c := range webpChunks(data) {
			if c.name == "EXIF" {
				if len(c.data) > 6 && string(c.data[:6]) == "Exif\x00\x00" { // as some programs write it
					return tiffOrientation(c.data[6:])
				}
				return tiffOrientation(c.data)
			}
		}
	}
	return 1
}

// orientationTag is the TIFF tag of the orientation (TIFF 6.0, page 36).
const orientationTag = 0x0112

// tiffOrientation reads the orientation out of the first directory of EXIF data, which is a TIFF
// file.
func tiffOrientation(data []byte) int {
	if len(data) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(data[:2]) == "MM" {
		order = binary.BigEndian
	} else if string(data[:2]) != "II" {
		return 1
	}
	at := int(order.Uint32(data[4:]))
	if at < 8 || at > len(data)-2 {
		return 1
	}
	const entry = 12
	n := int(order.Uint16(data[at:]))
	for at += 2; n > 0 && at+entry <= len(data); n, at = n-1, at+entry {
		if order.Uint16(data[at:]) == orientationTag {
			if v := int(order.Uint16(data[at+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
	}
	return 1
}
