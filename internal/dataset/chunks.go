package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"iter"
	"slices"
)

type chunk struct {
	name string // for JPEG, the marker, such as "\xE1"
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
	const fill, startOfScan = 0xFF, 0xDA
	return func(yield func(chunk) bool) {
		for at := 2; at+4 <= len(data) && data[at] == 0xFF; {
			marker := data[at+1]
			if marker == fill {
				at++
				continue
			}
			end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
			if marker == startOfScan || end < at+4 || end > len(data) {
				return
			}
			if !yield(chunk{string([]byte{marker}), data[at+4 : end]}) {
				return
			}
			at = end
		}
	}
}

func animated(data []byte, mimeType string) bool {
	switch mimeType {
	case "image/png": // acTL comes before IDAT, if at all
		c, _ := firstChunk(pngChunks(data), "acTL", "IDAT")
		return c.name == "acTL"
	case "image/webp":
		_, found := firstChunk(webpChunks(data), "ANIM", "ANMF")
		return found
	}
	return false
}

func firstChunk(chunks iter.Seq[chunk], names ...string) (chunk, bool) {
	for c := range chunks {
		if slices.Contains(names, c.name) {
			return c, true
		}
	}
	return chunk{}, false
}

// webpCanvas reads the size of an extended WebP file (RFC 9649, section 2.7).
func webpCanvas(data []byte) (image.Config, error) {
	for c := range webpChunks(data) {
		if c.name == "VP8X" && len(c.data) >= 10 {
			size := func(b []byte) int { return 1 + int(b[0]) + int(b[1])<<8 + int(b[2])<<16 }
			return canvas(size(c.data[4:]), size(c.data[7:])), nil
		}
	}
	return image.Config{}, errors.New("no size")
}

// orientation returns the EXIF orientation of an image, 1 (upright) if it has none.
func orientation(data []byte, mimeType string) int {
	const exifHead = "Exif\x00\x00" // some programs write this header into WebP files too
	switch mimeType {
	case "image/jpeg":
		for c := range jpegSegments(data) {
			if tiff, ok := bytes.CutPrefix(c.data, []byte(exifHead)); ok && c.name == "\xE1" && len(tiff) > 0 {
				return tiffOrientation(tiff)
			}
		}
	case "image/png":
		c, _ := firstChunk(pngChunks(data), "eXIf")
		return tiffOrientation(c.data)
	case "image/webp":
		c, _ := firstChunk(webpChunks(data), "EXIF")
		return tiffOrientation(bytes.TrimPrefix(c.data, []byte(exifHead)))
	}
	return 1
}

// orientationTag is the TIFF tag for orientation (TIFF 6.0, page 36).
const orientationTag = 0x0112

// tiffOrientation reads the orientation from the first directory of EXIF data, which has the format of a
// TIFF file.
func tiffOrientation(data []byte) int {
	order := byteOrder(data)
	if order == nil {
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
			return validOrientation(int(order.Uint16(data[at+8:])))
		}
	}
	return 1
}

// validOrientation replaces undefined values by 1, upright.
func validOrientation(v int) int {
	if v < 1 || v > 8 {
		return 1
	}
	return v
}

// byteOrder returns nil for data that is not a TIFF file.
func byteOrder(data []byte) binary.ByteOrder {
	if len(data) < 8 {
		return nil
	}
	switch string(data[:2]) {
	case "MM":
		return binary.BigEndian
	case "II":
		return binary.LittleEndian
	}
	return nil
}
