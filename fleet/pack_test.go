package fleet

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// folder is a folder with files, by their names with slashes.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

// filesOf are the files of a folder, by their names with slashes.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	expect.OK(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(data)
		return err
	}))
	return out
}

func packed(t *testing.T, p *packer, o *evalrun.Options) []byte {
	t.Helper()
	pack, err := p.pack(o)
	expect.OK(t, err)
	return pack
}

// options are those of a run of suites, with all that goes into a pack.
func options(dir string, suites ...string) *evalrun.Options {
	o := &evalrun.Options{
		Caller: runner.Caller{ProjectFile: filepath.Join(dir, "evalrun.yaml"), Getenv: func(string) string { return "" }},
		Options: eval.Options{
			Seed: math.MaxUint64, Vars: map[string]string{"city": "ירושלים", "quote": "\"'{{"},
			Emulator: filepath.Join(dir, "script.yaml"),
		},
	}
	o.Repeats = 3
	for _, name := range suites {
		o.Suites = append(o.Suites, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return o
}

func TestPackHoldsWhatSuitesReadAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a/s.yaml": "first", "a/data/rows.csv": "q\n1\n", "a/data/more/deep.txt": "deep", "a/secret.env": "KEY=hush", "b/s.yaml": "second",
		"b/שלום 100%.txt": "\xff\xfe", "evalrun.yaml": "version: 1\n", "script.yaml": "rules: []\n",
	})
	o := options(dir, "a/s.yaml", "b/s.yaml")
	p := newPacker()
	p.note(o.Suites[0], filepath.Join(dir, "a/data"))
	p.note(o.Suites[0], filepath.Join(dir, "a/gone.txt"))
	p.note(o.Suites[0], filepath.Join(dir, "a/data/rows.csv"))
	p.note(o.Suites[1], filepath.Join(dir, "b/שלום 100%.txt"))
	to := t.TempDir()
	h, err := unpackTo(to, packed(t, p, o))
	expect.OK(t, err)
	expect.Same(t, "files", filesOf(t, to), map[string]string{
		"0/s.yaml": "first", "0/data/rows.csv": "q\n1\n", "0/data/more/deep.txt": "deep",
		"1/s.yaml": "second", "1/שלום 100%.txt": "\xff\xfe",
		"project/evalrun.yaml": "version: 1\n", "emulator.yaml": "rules: []\n",
	})
	expect.Same(t, "head", *h, packHead{
		Suites: []string{"s.yaml", "s.yaml"}, Project: true, Emulator: scriptName, Seed: math.MaxUint64, Vars: o.Vars, Repeats: 3,
	})
}

// Matching the names of data files looks at their folder, and then each of them is read.
func TestASuiteWithAGlobOfDataFilesIsPackedAndLoaded(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"s.yaml": "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: \"{{.q}}\"}]\n" +
			"cases: [{dataset: \"rows/*.csv\", scorers: [{contains: x}]}]\n",
		"rows/a.csv": "q\none\ntwo\n", "rows/b.csv": "q\nthree\n",
	})
	p := newPacker()
	o := &evalrun.Options{
		Caller: runner.Caller{
			Suites: []string{filepath.Join(dir, "s.yaml")}, NoHistory: true, Reading: p.note, Getenv: func(string) string { return "" },
		},
		Options: eval.Options{Emulator: eval.DemoScript},
	}
	_, err := evalrun.Load(t.Context(), *o)
	expect.OK(t, err)
	to := t.TempDir()
	h, err := unpackTo(to, packed(t, p, o))
	expect.OK(t, err)
	worker := evalrun.Options{Caller: runner.Caller{Getenv: func(string) string { return "" }}}
	expect.OK(t, h.apply(&worker, to))
	_, err = evalrun.Load(t.Context(), worker)
	expect.OK(t, err)
}

// A suite that reads files above its folder finds them, hidden ones too, where it has been unpacked. A folder above that it lists
// is not packed as a whole.
func TestASuiteThatReadsItsProjectIsPackedAndLoaded(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"x/evals/s.yaml": "version: 1\nname: s\ntargets: [{name: t, program: {command: [sh, ../run.sh], workspace: ../../work}}]\n" +
			"prompts: [{name: p, file: ../../p/.p.txt}, {name: l, file: link.txt}]\n" +
			"cases: [{dataset: \"../../*.csv\", scorers: [{contains: x}]}]\n",
		"x/run.sh": "echo x", "work/.keep": "", "p/.p.txt": "{{.q}}", "rows.csv": "q\none\n", "secret.txt": "hush", ".git/HEAD": "",
	})
	expect.OK(t, os.Symlink("../../p/.p.txt", filepath.Join(dir, "x/evals/link.txt")))
	p := newPacker()
	o := &evalrun.Options{
		Caller: runner.Caller{
			Suites: []string{filepath.Join(dir, "x/evals/s.yaml")}, NoHistory: true, Reading: p.note,
			Getenv: func(string) string { return "" },
		},
		Options: eval.Options{AllowFile: []string{"p/*"}},
	}
	_, err := evalrun.Load(t.Context(), *o)
	expect.OK(t, err)
	to := t.TempDir()
	h, err := unpackTo(to, packed(t, p, o))
	expect.OK(t, err)
	got := filesOf(t, to)
	for _, name := range []string{"x/evals/s.yaml", "x/evals/link.txt", "x/run.sh", "work/.keep", "p/.p.txt", "rows.csv"} {
		if _, there := got["0/"+name]; !there {
			t.Errorf("%s is not in the pack, want it: %v", name, got)
		}
		delete(got, "0/"+name)
	}
	expect.Same(t, "other files", got, map[string]string{})
	worker := evalrun.Options{Caller: runner.Caller{Getenv: func(string) string { return "" }}}
	expect.OK(t, h.apply(&worker, to))
	_, err = evalrun.Load(t.Context(), worker)
	expect.OK(t, err)
	h.Suites = []string{"../../s.yaml"}
	if err := h.apply(&worker, to); eval.CodeOf(err) != eval.CodeBadInput {
		t.Errorf("a suite outside of the folder: %v, want bad input", err)
	}
}

func TestTheSameFilesMakeTheSamePack(t *testing.T) {
	t.Parallel()
	files := map[string]string{"s.yaml": "x", "b.txt": "b", "a.txt": "a", "evalrun.yaml": "", "script.yaml": ""}
	var hashes []string
	for range 3 {
		dir := folder(t, files)
		o, p := options(dir, "s.yaml"), newPacker()
		for _, name := range []string{"b.txt", "a.txt", "b.txt"} {
			p.note(o.Suites[0], filepath.Join(dir, name))
		}
		hashes = append(hashes, hashOf(packed(t, p, o)))
	}
	expect.Same(t, "hashes", hashes[1:], []string{hashes[0], hashes[0]})
	files["a.txt"] = "other"
	dir := folder(t, files)
	o, p := options(dir, "s.yaml"), newPacker()
	p.note(o.Suites[0], filepath.Join(dir, "a.txt"))
	if got := hashOf(packed(t, p, o)); got == hashes[0] {
		t.Errorf("got the hash %s for other files too, want another one", got)
	}
}

func TestPackRefusesWhatWorkersCannotRead(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"in/s.yaml": "x", "out.txt": "y", "evalrun.yaml": "", "script.yaml": ""})
	suite := filepath.Join(dir, "in/s.yaml")
	for name, test := range map[string]struct {
		suite, reads, want string
		code               int
	}{
		"standard input":     {"-", "", "a fleet cannot run a suite on standard input: name a file", eval.CodeBadInput},
		"a suite that left":  {filepath.Join(dir, "gone.yaml"), "", "no such file", eval.CodeBadInput},
		"the folder as such": {suite, filepath.Join(dir, "in"), "", eval.CodeOK},
	} {
		o, p := options(dir), newPacker()
		o.Suites = []string{test.suite}
		if test.reads != "" {
			p.note(test.suite, test.reads)
		}
		_, err := p.pack(o)
		expect.Same(t, "exit code of "+name, eval.CodeOf(err), test.code)
		if test.want != "" {
			expect.Contains(t, name, fmt.Sprint(err), test.want)
		}
	}
}

func TestHeadSaysThatTheCoordinatorSharesALedger(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"s.yaml": "x", "evalrun.yaml": "", "script.yaml": ""})
	for name, change := range map[string]func(*evalrun.Options){
		"a flag": func(o *evalrun.Options) { o.Ledger.URL = "http://127.0.0.1:1" },
		"a variable": func(o *evalrun.Options) {
			o.Getenv = func(name string) string { return map[string]string{ledgerVariable: "x"}[name] }
		},
	} {
		o := options(dir, "s.yaml")
		change(o)
		h, err := unpackTo(t.TempDir(), packed(t, newPacker(), o))
		expect.OK(t, err)
		expect.Same(t, "ledger by "+name, h.Ledger, true)
		worker := &evalrun.Options{
			Caller: runner.Caller{Ledger: o.Ledger, Getenv: func(name string) string { return "value of " + name }},
		}
		expect.OK(t, h.apply(worker, "dir"))
		expect.Same(t, "ledger of the worker", worker.Ledger.URL, "")
		expect.Same(t, "its variable", worker.Getenv(ledgerVariable), "")
		expect.Same(t, "another variable", worker.Getenv("EVALRUN_API_KEY"), "value of EVALRUN_API_KEY")
	}
}

func TestHeadAddsToTheOptionsOfAWorker(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		h         packHead
		untrusted bool
		emulator  string
		project   string
	}{
		"a script": {packHead{Suites: []string{"a.yaml"}, Emulator: scriptName}, false, filepath.Join("dir", scriptName), ""},
		"the demo": {packHead{Suites: []string{"a.yaml"}, Emulator: eval.DemoScript}, false, eval.DemoScript, ""},
		"a project": {
			packHead{Suites: []string{"a.yaml"}, Project: true}, false, "", filepath.Join("dir", "project", "evalrun.yaml"),
		},
		"an untrusted worker": {packHead{Suites: []string{"a.yaml"}, Project: true}, true, "", ""},
	} {
		o := &evalrun.Options{Options: eval.Options{Untrusted: test.untrusted}}
		test.h.Seed, test.h.Repeats, test.h.Vars = 7, 2, map[string]string{"a": "b"}
		expect.OK(t, test.h.apply(o, "dir"))
		expect.Same(t, "suites of "+name, o.Suites, []string{filepath.Join("dir", "0", "a.yaml")})
		expect.Same(t, "emulator of "+name, o.Emulator, test.emulator)
		expect.Same(t, "project file of "+name, o.ProjectFile, test.project)
		expect.Same(t, "history of "+name, o.NoHistory, true)
		expect.Same(t, "choices of "+name, [2]any{o.Seed, o.Repeats}, [2]any{uint64(7), 2})
		expect.Same(t, "variables of "+name, o.Vars, test.h.Vars)
	}
}

// A worker with a script of its own cannot take part in a run that has another.
func TestAWorkerTakesOneScript(t *testing.T) {
	t.Parallel()
	h := packHead{Emulator: scriptName}
	err := h.apply(&evalrun.Options{Options: eval.Options{Emulator: eval.DemoScript}}, "dir")
	expect.Same(t, "why", fmt.Sprint(err), "the run has a script for the emulator: leave out --emulator here")
	h.Emulator = eval.DemoScript
	expect.OK(t, h.apply(&evalrun.Options{Options: eval.Options{Emulator: eval.DemoScript}}, "dir"))
}

// archive is a zip archive of files.
func archive(t *testing.T, add func(z *zip.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add(z)
	expect.OK(t, z.Close())
	return b.Bytes()
}

// with adds a file under any name.
func with(t *testing.T, name, text string) func(z *zip.Writer) {
	return func(z *zip.Writer) {
		t.Helper()
		w, err := z.Create(name)
		expect.OK(t, err)
		_, err = w.Write([]byte(text))
		expect.OK(t, err)
	}
}

func TestUnpackingRefusesNamesOutsideOfTheFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"../x", "a/../../x", "/etc/x", "..", `a\..\..\x`, `C:\x`, "", "a/../../../" + strings.Repeat("x", 300),
	} {
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		expect.OK(t, os.Mkdir(dir, 0o700))
		_, err := unpackTo(dir, archive(t, with(t, name, "bad")))
		expect.Contains(
			t, fmt.Sprintf("error of %q", name), fmt.Sprint(err), "the archive of the coordinator has a file outside of its folder",
		)
		expect.Same(t, fmt.Sprintf("files after %q", name), filesOf(t, outer), map[string]string{})
	}
}

func TestUnpackingRefusesArchivesThatAreDamaged(t *testing.T) {
	t.Parallel()
	whole := archive(t, func(z *zip.Writer) {
		with(t, "0/s.yaml", strings.Repeat("version: 1\n", 50))(z)
		with(t, headName, `{"suites":["s.yaml"]}`)(z)
	})
	_, err := unpackTo(t.TempDir(), whole)
	expect.OK(t, err)
	for name, pack := range map[string][]byte{
		"nothing":         nil,
		"a text":          []byte("Not an archive."),
		"half":            whole[:len(whole)/2],
		"all but a byte":  whole[:len(whole)-1],
		"other contents":  bytes.Replace(whole, whole[40:44], []byte{1, 2, 3, 4}, 1),
		"no head":         archive(t, with(t, "0/s.yaml", "x")),
		"an empty head":   archive(t, with(t, headName, "")),
		"a cut head":      archive(t, with(t, headName, `{"suites":["s.y`)),
		"no suites":       archive(t, with(t, headName, `{"suites":[]}`)),
		"the same twice":  archive(t, func(z *zip.Writer) { with(t, "a", "1")(z); with(t, "a", "2")(z) }),
		"a file as place": archive(t, func(z *zip.Writer) { with(t, "a", "1")(z); with(t, "a/b", "2")(z) }),
	} {
		if h, err := unpackTo(t.TempDir(), pack); err == nil {
			t.Errorf("%s: got the head %+v, want an error", name, h)
		}
	}
}

// An archive may claim any size. One whose sizes add up to more than the bound is refused before anything of it is written.
func TestUnpackingRefusesSizesAboveTheBound(t *testing.T) {
	t.Parallel()
	claims := func(sizes ...uint64) []byte {
		return archive(t, func(z *zip.Writer) {
			with(t, headName, `{"suites":["s.yaml"]}`)(z)
			for i, size := range sizes {
				w, err := z.CreateRaw(&zip.FileHeader{
					Name: fmt.Sprint(i), Method: zip.Store, UncompressedSize64: size, CompressedSize64: 1,
					CRC32: crc32.ChecksumIEEE([]byte("x")),
				})
				expect.OK(t, err)
				_, err = w.Write([]byte("x"))
				expect.OK(t, err)
			}
		})
	}
	for name, sizes := range map[string][]uint64{
		"one file":               {maxPack + 1},
		"two files":              {1, maxPack},
		"the largest number":     {math.MaxUint64},
		"a number below zero":    {1 << 63},
		"one that adds to a sum": {math.MaxUint64 - maxPack, 2 * maxPack},
	} {
		dir := t.TempDir()
		_, err := unpackTo(dir, claims(sizes...))
		if err == nil || !strings.Contains(err.Error(), "is too large") {
			t.Errorf("%s: got the error %v, want that the archive is too large", name, err)
		}
	}
}
