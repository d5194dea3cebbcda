// Command dist builds what a release consists of: for each platform an archive with the program, its licence, README,
// shell completions and manual pages, and the checksums of all. The same commit gives the same bytes, wherever and
// whenever it is built.
//
//	go run ./test/dist -version v1.2.3 -out dist linux/amd64 windows/amd64
//
// Beside the archives lie a Dockerfile and a formula of Homebrew, and with -npm the packages of npm.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "what the programs say of themselves (default: what git says of the commit)")
	out := flag.String("out", "dist", "folder for the archives; what is in it is lost")
	npm := flag.Bool("npm", false, "also write packages of npm, to the folder npm")
	flag.Parse()
	if err := dist(*version, *out, *npm, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		os.Exit(1)
	}
}

// archiveFile is one file of an archive.
type archiveFile struct {
	name string
	data []byte
	mode fs.FileMode
}

// dist builds the archives of the platforms, each named as OS/ARCHITECTURE.
func dist(version, out string, npm bool, platforms []string) error {
	if version == "" {
		said, err := output("git", "describe", "--tags", "--always", "--dirty")
		if err != nil {
			return err
		}
		version = strings.TrimSpace(string(said))
	}
	at, err := timeOfCommit()
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "evalrun-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // what is left lies among what is temporary
	common, err := commonFiles(version, work)
	if err != nil {
		return err
	}
	r := release{version: version, out: out, work: work, common: common, at: at}
	for _, platform := range platforms {
		if err := r.add(platform, npm); err != nil {
			return err
		}
	}
	if err := r.writeRecipes(); err != nil {
		return err
	}
	if npm {
		if err := r.addNpmStarter(); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), r.sums.Bytes(), 0o644)
}

// release is a version with its archives.
type release struct {
	version   string
	out, work string        // folders
	common    []archiveFile // of all platforms
	at        time.Time
	sums      bytes.Buffer
	archives  []archive
	npm       []string // the packages of platforms
}

// add builds the archive of a platform, and on request the package of npm, and notes its digest.
func (r *release) add(platform string, npm bool) error {
	system, architecture, ok := strings.Cut(platform, "/")
	if !ok {
		return fmt.Errorf("%q is no platform: OS/ARCHITECTURE", platform)
	}
	program, err := build(r.version, filepath.Join(r.work, "program"), system, architecture)
	if err != nil {
		return err
	}
	name, binary, pack := fmt.Sprintf("evalrun-%s-%s", system, architecture), "evalrun", writeTar
	file := name + ".tar.gz"
	if system == "windows" {
		file, binary, pack = name+".zip", "evalrun.exe", writeZip
	}
	files := append([]archiveFile{{binary, program, 0o755}}, r.common...)
	var packed bytes.Buffer
	if err := pack(&packed, name, files, r.at); err != nil {
		return err
	}
	if err := weigh(platform, program, packed.Bytes()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, file), packed.Bytes(), 0o644); err != nil {
		return err
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(packed.Bytes()))
	r.archives = append(r.archives, archive{system, architecture, file, digest})
	fmt.Fprintf(io.MultiWriter(&r.sums, os.Stdout), "%s  %s\n", digest, file)
	if npm {
		return r.addNpm(system, architecture, binary, program)
	}
	return nil
}

// timeOfCommit is the time of all files: SOURCE_DATE_EPOCH, else that of the commit.
func timeOfCommit() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		said, err := output("git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, err
		}
		text = string(said)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build compiles the program. Nothing of this machine goes into it: no path, no build id, no state of the working
// copy but the version.
func build(version, to, system, architecture string) ([]byte, error) {
	cmd := exec.Command( //nolint:gosec // the version is the caller's
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+version, "-o", to,
		"./cmd/evalrun",
	)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	if system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH="+architecture)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the program for %s/%s: %w", system, architecture, err)
	}
	return os.ReadFile(to)
}

// commonFiles are the same on every platform. The completions and the manual are written by the program itself, built
// for this machine.
func commonFiles(version, work string) ([]archiveFile, error) {
	program := filepath.Join(work, "evalrun")
	if _, err := build(version, program, "", ""); err != nil {
		return nil, err
	}
	var out []archiveFile
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, archiveFile{name, data, 0o644})
	}
	scripts, err := completions(program)
	if err != nil {
		return nil, err
	}
	pages, err := manual(program, filepath.Join(work, "man1"))
	out = slices.Concat(out, scripts, pages)
	slices.SortFunc(out, func(a, b archiveFile) int { return cmp.Compare(a.name, b.name) })
	return out, err
}

func completions(program string) (out []archiveFile, err error) {
	names := map[string]string{"bash": "evalrun.bash", "zsh": "_evalrun", "fish": "evalrun.fish", "powershell": "evalrun.ps1"}
	for shell, name := range names {
		script, err := output(program, "completion", shell)
		if err != nil {
			return nil, err
		}
		out = append(out, archiveFile{"completions/" + name, script, 0o644})
	}
	return out, nil
}

func manual(program, dir string) (out []archiveFile, err error) {
	if _, err := output(program, "man", dir); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(dir)
	for _, page := range pages {
		data, readErr := os.ReadFile(filepath.Join(dir, page.Name()))
		err = errors.Join(err, readErr)
		out = append(out, archiveFile{"man/man1/" + page.Name(), data, 0o644})
	}
	return out, err
}

// output is what a program prints on standard output.
func output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...) //nolint:gosec // git, and the program that was built here
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err)
	}
	return out, nil
}

// writeTar writes the files below a folder, without an owner.
func writeTar(w io.Writer, folder string, files []archiveFile, at time.Time) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		header := &tar.Header{
			Name:     path.Join(folder, f.name),
			Mode:     int64(f.mode),
			Size:     int64(len(f.data)),
			ModTime:  at,
			Typeflag: tar.TypeReg,
			Format:   tar.FormatUSTAR,
		}
		err := tw.WriteHeader(header)
		if err == nil {
			_, err = tw.Write(f.data)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), zw.Close())
}

func writeZip(w io.Writer, folder string, files []archiveFile, at time.Time) error {
	zw := zip.NewWriter(w)
	zw.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	for _, f := range files {
		header := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := zw.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(f.data)
		}
		if err != nil {
			return err
		}
	}
	return zw.Close()
}
