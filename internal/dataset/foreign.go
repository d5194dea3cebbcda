package dataset

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// HeadBytes is how many bytes of a file ForeignContent needs.
const HeadBytes = 3072

// Foreign is the error for a file in a format that evalrun does not read.
type Foreign struct {
	Name string // of the file; "" if only its content is known
	format
}

func (f *Foreign) Error() string {
	if f.Name == "" {
		return f.is
	}
	return fmt.Sprintf("%s is %s, which evalrun does not read", f.Name, f.is)
}

// In returns the same error with the name of the file.
func (f *Foreign) In(name string) *Foreign { return &Foreign{name, f.format} }

// plainName matches names that need no quotes in a shell command.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL\pN_./-]+$`)
})

// Hint returns a command that converts the file.
func (f *Foreign) Hint() string {
	name, rename := f.Name, ""
	if !f.named(name) {
		if !f.unpacks {
			name = strings.TrimSuffix(name, path.Ext(name))
		}
		name += strings.Fields(f.endings)[0]
		rename = "rename it to " + name + ", then "
	}
	if !plainName().MatchString(name) || strings.HasPrefix(name, "-") {
		name = "FILE"
	}
	command := strings.NewReplacer("FILE", name, "STEM", strings.TrimSuffix(name, path.Ext(name)), "FOLDER",
		path.Dir(name)).Replace(f.command)
	if f.unpacks {
		return rename + "unpack it with: " + command
	}
	return rename + "convert it with: " + command
}

// ForeignName returns an error for a file whose extension shows a format without rows of text, nil for
// others.
func ForeignName(name string) *Foreign {
	for _, one := range foreignFormats() {
		if one.named(name) {
			return &Foreign{name, one}
		}
	}
	return nil
}

// ForeignContent returns an error for a file that begins like another format, nil for anything that may be
// text.
func ForeignContent(head []byte) *Foreign {
	if IsText(head) {
		return nil
	}
	for found := mimetype.Detect(head); found != nil && found.Extension() != ""; found = found.Parent() {
		if foreign := ForeignName(found.Extension()); foreign != nil {
			return &Foreign{format: foreign.format}
		}
	}
	for _, one := range magics() {
		if bytes.HasPrefix(head, []byte(one.prefix)) {
			return &Foreign{format: ForeignName(one.ending).format}
		}
	}
	return nil
}

// IsText reports whether the beginning of a file looks like text.
func IsText(head []byte) bool {
	for i, c := range head {
		if c == 0 || c < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", rune(c)) {
			return false
		}
		if c >= utf8.RuneSelf && !utf8.FullRune(head[i:]) {
			return true // head ends inside this character
		}
	}
	return true
}

type format struct {
	is      string
	endings string // extensions
	command string // FILE is the file, STEM its name without extension, FOLDER its folder
	unpacks bool   // the command unpacks a file that evalrun may be able to read
}

func (f *format) named(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(strings.Fields(f.endings),
		func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// foreignFormats lists formats of published data, and archives. Longer extensions come before shorter ones.
func foreignFormats() []format {
	return slices.Concat(ofTables(), ofPrograms(), archives())
}

func ofTables() []format {
	const office = "libreoffice --headless --convert-to csv --outdir FOLDER FILE"
	return []format{
		{is: "an Excel workbook", endings: ".xlsx .xlsm .xlsb .xls", command: office},
		{is: "an OpenDocument spreadsheet", endings: ".ods .fods", command: office},
		{is: "an Apple Numbers sheet", endings: ".numbers", command: "File > Export To > CSV in Numbers"},
		{
			is: "an Office document", endings: ".docx .doc .odt .pptx .ppt .odp",
			command: strings.Replace(office, "csv", "txt", 1),
		},
		{is: "a Parquet file", endings: ".parquet .pq", command: duckDB("FROM read_parquet('FILE')")},
		{is: "a Feather file", endings: ".feather .ftr", command: pandas("feather")},
		{is: "an Arrow file", endings: ".arrow .ipc", command: python("datasets", "datasets.Dataset.from_file('FILE')")},
		{is: "an Avro file", endings: ".avro", command: "fastavro FILE > STEM.jsonl"},
		{is: "an ORC file", endings: ".orc", command: pandas("orc")},
		{
			is: "an SQLite database", endings: ".sqlite .sqlite3 .db .db3",
			command: `sqlite3 -header -csv FILE "SELECT * FROM cases" > STEM.csv`,
		},
		{is: "a DuckDB database", endings: ".duckdb", command: duckDB("FROM 'FILE'.cases")},
	}
}

func duckDB(table string) string {
	return `duckdb -c "COPY (` + table + `) TO 'STEM.jsonl' (FORMAT json)"`
}

// python returns a command that converts the value of an expression to JSON lines.
func python(library, expression string) string {
	return `python3 -c "import ` + library + "; " + expression + `.to_json('STEM.jsonl', orient='records', lines=True)"`
}

func pandas(format string) string { return python("pandas", "pandas.read_"+format+"('FILE')") }

func ofPrograms() []format {
	return []format{
		{
			is: "a Python pickle", endings: ".pkl .pickle",
			command: pandas("pickle") + ", if you trust its author: a pickle can run code",
		},
		{is: "a NumPy file", endings: ".npy .npz", command: python("numpy, pandas", "pandas.DataFrame(numpy.load('FILE'))")},
		{is: "an HDF5 file", endings: ".h5 .hdf5", command: pandas("hdf")},
		{is: "a Stata file", endings: ".dta", command: pandas("stata")},
		{is: "an SPSS file", endings: ".sav", command: pandas("spss")},
		{is: "a SAS file", endings: ".sas7bdat .xpt", command: pandas("sas")},
		{is: "an R file", endings: ".rds", command: `Rscript -e "write.csv(readRDS('FILE'), 'STEM.csv', row.names = FALSE)"`},
		{
			is:      "a MessagePack file",
			endings: ".msgpack",
			command: python("msgpack, pandas as p", "p.DataFrame(msgpack.Unpacker(open('FILE', 'rb')))"),
		},
		{is: "a BSON file", endings: ".bson", command: "bsondump FILE > STEM.jsonl"},
	}
}

func archives() []format {
	out := []format{
		{is: "a tar archive", endings: ".tar .tar.gz .tgz .tar.bz2 .tar.xz .tar.zst", command: "tar -xf FILE"},
		{is: "a zip archive", endings: ".zip .jar", command: "unzip FILE"},
		{is: "a 7-Zip archive", endings: ".7z", command: "7z x FILE"},
		{is: "a RAR archive", endings: ".rar", command: "unrar x FILE"},
		{is: "compressed with zstd", endings: ".zst", command: "zstd -d FILE"},
		{is: "compressed with bzip2", endings: ".bz2", command: "bunzip2 -k FILE"},
		{is: "compressed with xz", endings: ".xz .lzma", command: "unxz -k FILE"},
		{is: "compressed with lz4", endings: ".lz4", command: "lz4 -d FILE"},
		{is: "compressed with Brotli", endings: ".br", command: "brotli -d -k FILE"},
		{is: "compressed with compress", endings: ".z", command: "uncompress -k FILE"},
	}
	for i := range out {
		out[i].unpacks = true
	}
	return out
}

// magic has the first bytes of a format that the mimetype library does not know.
type magic struct{ prefix, ending string }

func magics() []magic {
	return []magic{
		{"PAR1", ".parquet"},
		{"FEA1", ".feather"},
		{"ARROW1\x00\x00", ".arrow"},
		{"\xff\xff\xff\xff", ".arrow"},
		{"Obj\x01", ".avro"},
		{"ORC", ".orc"},
		{"\x80\x02", ".pkl"},
		{"\x80\x03", ".pkl"},
		{"\x80\x04", ".pkl"},
		{"\x80\x05", ".pkl"},
		{"\x93NUMPY", ".npy"},
		{"\x89HDF\r\n\x1a\n", ".h5"},
		{"$FL2", ".sav"},
		{"$FL3", ".sav"},
		{"\x28\xb5\x2f\xfd", ".zst"},
		{"\x04\x22\x4d\x18", ".lz4"},
		{"\x1f\x9d", ".z"},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"}, // all Office documents begin like this
	}
}
