package promptfoo

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// in16 is a text in UTF-16, big or little endian, with a byte order mark.
func in16(text string, big bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		high, low := byte(unit>>8), byte(unit)
		if big {
			high, low = low, high
		}
		b.Write([]byte{low, high})
	}
	return b.String()
}

// Files that are not UTF-8 arrive as they were written, and the report names them. What is no text is not taken for one.
func TestFilesOfOtherEncodingsAreConverted(t *testing.T) {
	t.Parallel()
	im := imported(t, map[string]string{
		"promptfooconfig.yaml": in16("prompts: [file://le.txt, file://be.txt, file://ansi.txt, "+
			"file://bom.txt, file://pic.txt, 'für {{q}}']\n"+
			"providers: [echo]\ntests: [file://t.csv, file://t.jsonl, {vars: {q: file://v.txt}}]\n", false),
		"le.txt": in16("Grüße „LE“ 🎈", false), "be.txt": in16("Grüße „BE“ 🎈", true),
		"ansi.txt": "Gr\xfc\xdfe \x84ANSI\x93 \x80", "bom.txt": "\ufeffGrüße BOM", "pic.txt": "\x89PNG\r\n\x1a\n\x00\x00",
		"t.csv":   "q\nZ\xfcrich\n",
		"t.jsonl": in16(`{"vars": {"q": "Málaga"}}`+"\n", true), "v.txt": "K\xf6ln",
	})
	suite := string(im.files[SuiteFile])
	for _, want := range []string{
		`"Grüße „LE“ 🎈"`, `"Grüße „BE“ 🎈"`, `"Grüße „ANSI“ €"`,
		"text: Grüße BOM\n", `"für {{.q}}"`, "Málaga", "Köln",
		"pic.txt is not a text",
	} {
		expect.Contains(t, "suite", suite, want)
	}
	expect.Contains(t, "data", string(im.files["data/t.csv"]), "Zürich")
	report := string(im.report())
	for _, want := range []string{
		"`ansi.txt`: converted from Windows-1252 or Latin-1", "`be.txt`: converted from UTF-16", "`le.txt`: converted from UTF-16",
		"`bom.txt`: converted from UTF-8 with a byte order mark", "`promptfooconfig.yaml`: converted from UTF-16",
	} {
		expect.Contains(t, "report", report, want)
	}
	if strings.Contains(report, "`pic.txt`: converted") {
		t.Error("a picture was converted, want it left alone")
	}
}
