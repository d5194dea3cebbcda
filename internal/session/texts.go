package session

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// maxTexts bounds a file of texts to embed, in bytes.
const maxTexts = 64 << 20

// Text is a text to embed and its place, for messages.
type Text struct{ Where, Text string }

// ReadTexts reads what is to be embedded: the lines of files, or each as a whole. The file files.Standard is in; it
// is read where no file is named.
func ReadTexts(in io.Reader, sources []string, whole bool) ([]Text, error) {
	if len(sources) == 0 {
		sources = []string{files.Standard}
	}
	var out []Text
	var names []string
	for _, file := range sources {
		data, err := readTexts(in, file)
		if err != nil {
			return nil, eval.BadInput("%w", err)
		}
		name := file
		if file == files.Standard {
			name = "standard input"
		}
		names = append(names, name)
		if whole {
			if text := string(data); strings.TrimSpace(text) != "" {
				out = append(out, Text{Where: name, Text: text})
			}
			continue
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if text := strings.TrimSuffix(string(line), "\r"); strings.TrimSpace(text) != "" {
				out = append(out, Text{Where: fmt.Sprintf("%s:%d", name, i+1), Text: text})
			}
		}
	}
	if len(out) == 0 {
		return nil, eval.Incomplete("there is no text to embed in %s", strings.Join(names, ", "))
	}
	return out, nil
}

func readTexts(in io.Reader, file string) ([]byte, error) {
	if file != files.Standard {
		f, err := files.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxTexts+1))
	if err == nil && len(data) > maxTexts {
		err = fmt.Errorf("%s has more than %d bytes", file, maxTexts)
	}
	return data, err
}
