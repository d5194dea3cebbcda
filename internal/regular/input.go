package regular

import (
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

func readAll(in io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes: %w", name, limit, ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
