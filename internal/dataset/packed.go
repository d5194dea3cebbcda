package dataset

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

const gzipMagic = "\x1f\x8b"

// A few bytes of gzip can unpack to gigabytes. So every window of output must use at least a maxRatio-th of
// its size in input. Published data rarely shrinks to less than a fiftieth.
const (
	window   = 32 << 20
	maxRatio = 100
)

// unpacked reads a gzip stream. Its errors are of type *Error.
type unpacked struct {
	in        counted
	z         *gzip.Reader
	out, next int64 // bytes unpacked, and the count at which to check the ratio
	taken     int64 // bytes of the file that were read before this window
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.z == nil {
		u.next = window
		if u.z, err = gzip.NewReader(&u.in); err != nil {
			return 0, packedError(err)
		}
	}
	n, err = u.z.Read(p)
	if u.out += int64(n); u.out >= u.next {
		if u.in.n-u.taken < window/maxRatio {
			return 0, &LineError{
				Message: fmt.Sprintf("the compressed data grows to more than %d times its size", maxRatio),
				Hint:    "look at it: gunzip -c FILE | head -c 1000; when it is right, decompress it and name the plain file",
			}
		}
		u.next, u.taken = u.out+window, u.in.n
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, packedError(err)
	}
	return n, err
}

// CheckPacked reads a gzip file to its end. It returns an *Error when the file is incomplete or unpacks to
// too much, or an error of r.
func CheckPacked(r io.Reader) error {
	file := bufio.NewReaderSize(r, bufferSize)
	head, err := peek(file, len(gzipMagic))
	if err != nil || string(head) != gzipMagic {
		return err
	}
	_, err = io.Copy(io.Discard, &unpacked{in: counted{r: file}})
	return err
}

// packedError explains an error of the gzip reader. It returns errors of the file as they are.
func packedError(err error) error {
	const hint = "copy or download the file again; `gzip -t FILE` checks it"
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &LineError{Message: "the compressed data ends in the middle: the file is cut off", Hint: hint}
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return &LineError{Message: "the compressed data is damaged", Hint: hint}
	}
	return err
}

func notPacked(empty bool) *LineError {
	if empty {
		return &LineError{Message: "the file is empty", Hint: "copy or download it again"}
	}
	return &LineError{
		Message: "the file is named .gz, and what it holds is not compressed with gzip",
		Hint:    "rename it: drop the .gz",
	}
}

// counted implements io.ByteReader so that the decompressor does not read ahead, which would make the count
// too high.
type counted struct {
	r interface {
		io.Reader
		io.ByteReader
	}
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counted) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
