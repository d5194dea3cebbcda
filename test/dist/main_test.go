package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// The recipes name the archives and digests of the release, and each package of npm has one program and no script.
func TestPackagesNameTheirArchives(t *testing.T) {
	t.Parallel()
	common := []archiveFile{{"LICENSE", []byte("free"), 0o644}, {"man/man1/evalrun.1", nil, 0o644}}
	r := release{version: "v1.2.3", out: t.TempDir(), common: common}
	r.archives = []archive{
		{"darwin", "arm64", "evalrun-darwin-arm64.tar.gz", "d1"},
		{"linux", "amd64", "evalrun-linux-amd64.tar.gz", "d2"},
		{"windows", "amd64", "evalrun-windows-amd64.zip", "d3"},
	}
	program := []byte("program")
	expect.OK(
		t, r.writeRecipes(), r.addNpm("linux", "amd64", "evalrun", program), r.addNpm("windows", "arm64", "evalrun.exe", program),
		r.addNpmStarter(),
	)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(r.out, name))
		expect.OK(t, err)
		return string(text)
	}
	formula := read("evalrun.rb")
	expect.Contains(t, "formula", formula, `version "1.2.3"`)
	expect.Contains(t, "formula", formula, `on_macos do
    on_arm do
      url "https://github.com/evalrun/evalrun/releases/download/v1.2.3/evalrun-darwin-arm64.tar.gz"
      sha256 "d1"
    end
  end
`)
	if strings.Contains(formula, "windows") {
		t.Errorf("got %s, want no Windows", formula)
	}
	expect.Contains(t, "Dockerfile", read("Dockerfile"), `version="v1.2.3"`)
	starter := readTar(t, []byte(read("npm/evalrun-1.2.3.tgz")))
	expect.Same(t, "starter", starter[1].name, "package/bin/evalrun.js")
	var m map[string]any
	expect.OK(t, json.Unmarshal(starter[0].data, &m))
	want := map[string]any{"@evalrun/linux-x64": "1.2.3", "@evalrun/win32-arm64": "1.2.3"}
	expect.Same(t, "dependencies", m["optionalDependencies"], any(want))
	if m["scripts"] != nil || m["dependencies"] != nil {
		t.Errorf("got %v, want no scripts and no dependencies", m)
	}
	windows := readTar(t, []byte(read("npm/evalrun-win32-arm64-1.2.3.tgz")))
	expect.Same(t, "files", []string{windows[1].name, windows[2].name}, []string{"package/bin/evalrun.exe", "package/LICENSE"})
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v0.1.0-7-gabc-dirty": "0.1.0-7-gabc-dirty", "0123456": "0.0.0-g0123456"} {
		expect.Same(t, version, npmVersion(version), want)
	}
}

// The program of this platform is within the limits of a release, and one of too many bytes is not.
func TestReleasesAreWeighed(t *testing.T) {
	t.Parallel()
	test, err := os.Executable()
	expect.OK(t, err)
	program, err := os.ReadFile(test)
	expect.OK(t, err, weigh("this", program, nil))
	err = weigh("this", program, make([]byte, mostArchivedBytes+1))
	if err == nil || !strings.Contains(err.Error(), "its archive 13631489 bytes: at most") {
		t.Errorf("got %v, want the limits", err)
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

// The hook that the page of the installation names is there, and starts a command that checks suites.
func TestHookChecksSuites(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		expect.OK(t, err)
		return string(text)
	}
	expect.Contains(t, "hooks", read(".pre-commit-hooks.yaml"), "- id: evalrun-validate\n")
	expect.Contains(t, "hooks", read(".pre-commit-hooks.yaml"), "  entry: evalrun validate\n")
	expect.Contains(t, "page", read("docs/how-to/install.md"), "hooks: [{id: evalrun-validate, ")
}
