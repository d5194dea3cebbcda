package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

var files = []archiveFile{{"evalrun", []byte("program"), 0o755}, {"man/man1/evalrun.1", []byte(".TH"), 0o644}}

// An archive holds the files with their modes and one time, and is the same each time it is written.
func TestArchivesAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0).UTC()
	for name, pack := range map[string]func(io.Writer, string, []archiveFile, time.Time) error{"tar": writeTar, "zip": writeZip} {
		var first, second bytes.Buffer
		expect.OK(t, pack(&first, "evalrun-x", files, at), pack(&second, "evalrun-x", files, at))
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: got two archives that differ, want the same of the same files", name)
		}
		read := readTar
		if name == "zip" {
			read = readZip
		}
		got := read(t, first.Bytes())
		if len(got) != len(files) {
			t.Fatalf("%s: got %d files, want %d", name, len(got), len(files))
		}
		for i, f := range files {
			g := got[i]
			if g.name != "evalrun-x/"+f.name || string(g.data) != string(f.data) || g.mode.Perm() != f.mode {
				t.Errorf("%s: %s %v %q, want %s %v %q", name, g.name, g.mode, g.data, f.name, f.mode, f.data)
			}
			if !g.at.Equal(at) {
				t.Errorf("%s: %s is of %s, want %s", name, g.name, g.at, at)
			}
		}
	}
}

type found struct {
	archiveFile
	at time.Time
}

func readTar(t *testing.T, data []byte) (out []found) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	expect.OK(t, err)
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		expect.OK(t, err)
		content, err := io.ReadAll(tr)
		expect.OK(t, err)
		out = append(out, found{archiveFile{h.Name, content, fs.FileMode(h.Mode)}, h.ModTime})
	}
}

func readZip(t *testing.T, data []byte) (out []found) {
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	expect.OK(t, err)
	for _, f := range zr.File {
		r, err := f.Open()
		expect.OK(t, err)
		content, err := io.ReadAll(r)
		expect.OK(t, err)
		out = append(out, found{archiveFile{f.Name, content, f.Mode()}, f.Modified})
	}
	return out
}
