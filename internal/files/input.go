package files

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// Standard is the name that stands for standard input.
const Standard = "-"

// taken says that standard input has a reader.
var taken atomic.Bool

// Input opens a regular file that a user named, or standard input for "-", which has one reader.
func Input(name string) (io.ReadCloser, error) {
	if name != Standard {
		return Open(name)
	}
	if taken.Swap(true) {
		return nil, errors.New("standard input can be read only once, and something else is read from it already")
	}
	return io.NopCloser(os.Stdin), nil
}

// ReadInput reads what Input opens, at most limit bytes of it.
func ReadInput(name string, limit int64) ([]byte, error) {
	in, err := Input(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	return readAll(in, name, limit)
}

// MaxPEM bounds a file of certificates or credentials, in bytes.
const MaxPEM = 1 << 20

// KeyPair reads a certificate and its key, in PEM form.
func KeyPair(cert, key string) (tls.Certificate, error) {
	public, err := ReadFile(cert, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := ReadFile(key, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(public, private)
}

func readAll(in io.Reader, name string, limit int64) ([]byte, error) {
	tooLarge := fmt.Errorf("%s has more than %d bytes: %w", name, limit, ErrTooLarge)
	if file, ok := in.(interface{ Stat() (os.FileInfo, error) }); ok { // spares the memory for what is refused anyway
		if info, err := file.Stat(); err == nil && info.Size() > limit {
			return nil, tooLarge
		}
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit: // it has grown
		return nil, tooLarge
	}
	return data, nil
}
