package dataset_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	expect.OK(t, err)
	expect.OK(t, w.Close())
	return b.String()
}

func TestCompressedRowsAreThoseOfThePlainFile(t *testing.T) {
	t.Parallel()
	for format, text := range map[dataset.FileFormat]string{
		dataset.CSV:       "\ufeffa,b\r\n1,\"x\ny\"\n2\n3,z",
		dataset.TSV:       "a\tb\n1\t2\n",
		dataset.JSONLines: "{\"a\":1}\n\nno\n{\"a\":2}",
		dataset.JSON:      "[{\"a\":1},\n2,{\"a\":3}]",
	} {
		want := read(format, text)
		for name, file := range map[string]string{
			"one stream":  packed(t, text),
			"two streams": packed(t, text[:len(text)/2]) + packed(t, text[len(text)/2:]),
			"with none":   packed(t, "") + packed(t, text),
		} {
			expect.Same(t, string(format)+" of "+name, read(format, file), want)
			expect.OK(t, dataset.CheckPacked(strings.NewReader(file)))
		}
		n := 0
		for range dataset.Read(iotest.OneByteReader(strings.NewReader(packed(t, text))), dataset.Options{Format: format}) {
			n++
		}
		expect.Same(t, string(format)+" byte by byte", n, strings.Count(want, "\n"))
	}
}

// noise is text that shrinks little.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("a\n")
	for b.Len() < n {
		fmt.Fprintf(&b, "%x\n", random.Uint64())
	}
	return b.String()
}

// However a compressed file is cut or damaged, reading it ends in an error that says so.
func TestDamagedFilesEndInAnError(t *testing.T) {
	t.Parallel()
	whole := packed(t, noise(3000))
	last := func(file string) (last error) {
		for _, err := range dataset.Read(strings.NewReader(file), dataset.Options{Format: dataset.CSV, Packed: true}) {
			last = err
		}
		return last
	}
	var e *dataset.LineError
	for i := range len(whole) {
		for how, err := range map[string]error{
			"read": last(whole[:i]), "checked": dataset.CheckPacked(strings.NewReader(whole[:i])),
		} {
			if how == "checked" && i < 2 {
				continue // by its bytes it is not compressed
			}
			if !errors.As(err, &e) || e.Line != 0 || e.Hint == "" {
				t.Fatalf("the first %d bytes, %s: got %v, want an error with a hint", i, how, err)
			}
		}
	}
	for _, i := range []int{3, len(whole) / 2, len(whole) - 6} {
		broken := []byte(whole)
		broken[i] ^= 0xff
		if err := dataset.CheckPacked(bytes.NewReader(broken)); !errors.As(err, &e) {
			t.Errorf("with another byte at %d: got %v, want an error", i, err)
		}
	}
	for _, format := range []dataset.FileFormat{dataset.JSON, dataset.JSONLines, dataset.TSV} {
		cut := packed(t, "[{\"a\": 1},\n"+noise(3000))
		got := read(format, cut[:len(cut)-500])
		if !strings.HasSuffix(got, "! the compressed data ends in the middle: the file is cut off\n") && format != dataset.JSON {
			t.Errorf("%s: got %q, want that it is cut off", format, got)
		}
	}
	expect.Same(
		t,
		"a plain file named .gz",
		fmt.Sprint(last("a\n1\n")),
		"the file is named .gz, and what it holds is not compressed with gzip",
	)
}

// What grows beyond measure is refused before it was read, whatever comes before it.
func TestBombsAreRefused(t *testing.T) {
	t.Parallel()
	bomb := packed(t, "a\n"+strings.Repeat("x\n", 64<<20))
	for name, file := range map[string]string{"alone": bomb, "behind data": packed(t, noise(1<<20)) + bomb} {
		err := dataset.CheckPacked(strings.NewReader(file))
		expect.Same(t, name, fmt.Sprint(err), "the compressed data grows to more than 100 times its size")
	}
	many := packed(t, strings.Repeat("a line as tables have it, 12345, that shrinks well\n", 500_000))
	expect.OK(t, dataset.CheckPacked(strings.NewReader(many))) // 25 MB: small files may shrink as they like
}

func TestNamesOfOtherFormatsSayHowToConvert(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"a.xlsx":      {"an Excel workbook", "convert it with: libreoffice --headless --convert-to csv --outdir . a.xlsx"},
		"d/A.XLS":     {"an Excel workbook", "convert it with: libreoffice --headless --convert-to csv --outdir d d/A.XLS"},
		"d/a.parquet": {"a Parquet file", `convert it with: duckdb -c "COPY (FROM read_parquet('d/a.parquet')) TO 'd/a.jsonl' (FORMAT json)"`},
		"a.tar.gz":    {"a tar archive", "unpack it with: tar -xf a.tar.gz"},
		"a.csv.zst":   {"compressed with zstd", "unpack it with: zstd -d a.csv.zst"},
		"a.db":        {"an SQLite database", `convert it with: sqlite3 -header -csv a.db "SELECT * FROM cases" > a.csv`},
		"x $(y).bz2":  {"compressed with bzip2", "unpack it with: bunzip2 -k FILE"},
		"-rf.zip":     {"a zip archive", "unpack it with: unzip FILE"},
		"größe.avro":  {"an Avro file", "convert it with: fastavro größe.avro > größe.jsonl"},
	} {
		got := dataset.ForeignName(name)
		if got == nil {
			t.Errorf("%s: want it refused", name)
			continue
		}
		expect.Same(t, name, [2]string{got.Error(), got.Hint()}, [2]string{name + " is " + want[0] + ", which evalrun does not read", want[1]})
	}
	for _, name := range []string{"a.csv", "a.csv.gz", "a.txt", "a.png", "a.pdf", "a.mp3", "xlsx", "a", "a.json", "db", "a.html"} {
		if got := dataset.ForeignName(name); got != nil {
			t.Errorf("%s: %v, want it read", name, got)
		}
	}
}

// The bytes show a format behind any name, compressed or not.
func TestContentShowsOtherFormats(t *testing.T) {
	t.Parallel()
	for want, head := range map[string]string{
		"a Parquet file":       "PAR1\x15\x04\x15\x00",
		"an Arrow file":        "ARROW1\x00\x00\xff\xff\xff\xff",
		"a Feather file":       "FEA1\x00\x00\x00\x00",
		"an Avro file":         "Obj\x01\x04\x14avro.codec\x08null\x16",
		"a Python pickle":      "\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00]\x94K\x01a.",
		"a NumPy file":         "\x93NUMPY\x01\x00v\x00",
		"an SQLite database":   "SQLite format 3\x00\x10\x00\x01\x01",
		"compressed with zstd": "\x28\xb5\x2f\xfd\x04\x58",
		"compressed with xz":   "\xfd7zXZ\x00\x00\x04",
		"an HDF5 file":         "\x89HDF\r\n\x1a\n\x00",
		"an Excel workbook":    zipped(t, "[Content_Types].xml", "xl/workbook.xml"),
		"a zip archive":        zipped(t, "cases.csv"),
		"a tar archive":        tarred(t),
	} {
		for name, file := range map[string]string{"plain": head, "compressed": packed(t, head)} {
			for _, err := range dataset.Read(strings.NewReader(file), dataset.Options{Format: dataset.CSV}) {
				expect.Same(t, name+" bytes of "+want, fmt.Sprint(err), want)
			}
		}
	}
	for _, text := range []string{"ORCID,name\n1,2\n", "PAR1,b\n1,2\n", "FEA1\n1\n", "$FL2;x\n", "PK,b\n1,2\n", "BZh9,b\n1,2\n"} {
		if got := dataset.ForeignContent([]byte(text)); got != nil {
			t.Errorf("%q: %v, want it read", text, got)
		}
	}
}

func zipped(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		file, err := w.Create(name)
		expect.OK(t, err)
		_, err = io.WriteString(file, "<x/>")
		expect.OK(t, err)
	}
	expect.OK(t, w.Close())
	return b.String()
}

func tarred(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	expect.OK(t, w.WriteHeader(&tar.Header{Name: "a.csv", Size: 2, Mode: 0o600}))
	_, err := io.WriteString(w, "a\n")
	expect.OK(t, err)
	expect.OK(t, w.Close())
	return b.String()
}

func TestTablesWithoutAHeaderTakeNamesOfColumns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format dataset.FileFormat
		text   string
		want   string
	}{
		"plain":   {dataset.CSV, "\ufeff1,\"x, y\"\n3,4\n", `1 {"a":"1","b":"x, y"}` + "\n" + `2 {"a":"3","b":"4"}` + "\n"},
		"tabs":    {dataset.TSV, "1\t2\n", `1 {"a":"1","b":"2"}` + "\n"},
		"no rows": {dataset.CSV, "", ""},
		"other count": {
			dataset.CSV, "1,2\n1\n1,2,3\n5,6\n",
			`1 {"a":"1","b":"2"}` + "\n! line 2: the row has 1 cell, and `columns` names 2 columns\n" +
				"! line 3: the row has 3 cells, and `columns` names 2 columns\n" + `4 {"a":"5","b":"6"}` + "\n",
		},
		"semicolons": {dataset.CSV, "1;2\n", "! line 1: the cells seem to be separated by something else than ','\n"},
	} {
		var b strings.Builder
		for row, err := range dataset.Read(strings.NewReader(test.text), dataset.Options{Format: test.format, Columns: []string{"a", "b"}}) {
			if err != nil {
				fmt.Fprintf(&b, "! %s\n", err)
				continue
			}
			fmt.Fprintf(&b, "%d %s\n", row.Line, row.Vars)
		}
		expect.Same(t, name, b.String(), test.want)
	}
}
