package reports_test

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// htmlBlock is a block of data of a page: what it is called, and the JSON in it.
type htmlBlock struct{ id, data string }

var script = regexp.MustCompile(`(?s)<script type="([^"]*)" id="([^"]*)">(.*?)</script>`)

// htmlBlocks takes the data out of a page, as the program in it does.
func htmlBlocks(t testing.TB, page []byte) []htmlBlock {
	t.Helper()
	var out []htmlBlock
	for _, m := range script.FindAllSubmatch(page, -1) {
		data := string(m[3])
		if string(m[1]) != "application/json" {
			packed, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
			if err != nil {
				t.Fatal(err)
			}
			data = string(plain)
		}
		if !json.Valid([]byte(data)) {
			t.Fatalf("block %s is no JSON: %.200s", m[2], data)
		}
		out = append(out, htmlBlock{string(m[2]), data})
	}
	return out
}

// htmlGolden is the data of a page, for people to read.
func htmlGolden(t testing.TB, page []byte) []byte {
	var b bytes.Buffer
	for _, block := range htmlBlocks(t, page) {
		fmt.Fprintf(&b, "== %s\n", block.id)
		data := strings.ReplaceAll(block.data, strings.Repeat("A long answer. ", 3000), "[long]")
		if err := json.Indent(&b, []byte(data), "", " "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func htmlOf(t testing.TB, d *journal.Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := reports.HTML(&b, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The policy allows the style and the program of the page by their hashes, and images that are in it.
func TestHTMLPolicy(t *testing.T) {
	t.Parallel()
	page := string(htmlOf(t, fixture(t)))
	between := func(from, to string) string {
		_, rest, ok1 := strings.Cut(page, from)
		text, _, ok2 := strings.Cut(rest, to)
		if !ok1 || !ok2 {
			t.Fatalf("no %s in the page", from)
		}
		return text
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := html.UnescapeString(between(`<meta http-equiv="Content-Security-Policy" content="`, `"`))
	want := "default-src 'none'; img-src data:; style-src " + hash(
		between("<style>", "</style>"),
	) + "; script-src " + hash(
		between("<script>", "</script>"),
	) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	if policy != want {
		t.Errorf("got  %s\nwant %s", policy, want)
	}
	program := strings.ReplaceAll(between("<script>", "</script>"), "'http://www.w3.org/2000/svg'", "")
	for _, unwanted := range []string{"http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch("} {
		if strings.Contains(program, unwanted) {
			t.Errorf("the program holds %s", unwanted)
		}
	}
}

// FuzzHTML holds that no text leaves its block, and that every block can be read again.
func FuzzHTML(f *testing.F) {
	for _, s := range append(hostile.Strings(), `</script><script>alert(1)</script>`, `<!--<script>`, "\u2028\u2029", `</title>`) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		w, err := journal.Create(dir, &eval.Run{ID: text, Suites: []eval.RunSuite{{Name: text, Dir: text}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := eval.Result{
			Trial: eval.Trial{ID: "x", Suite: text, Case: text, Arm: text, Tags: []string{text}}, Outcome: eval.Fail, Response: answered(text, text),
			Request: &eval.Request{
				Contents: []eval.Content{
					{Role: text, Parts: []eval.Part{{Text: text}, {Image: &eval.Image{Path: text, MIMEType: text, SHA256: text}}}},
				},
			},
			Scores: []eval.Score{
				{
					Scorer: text,
					Value:  value(0),
					Reason: text,
					Diff:   text,
					Judged: &eval.Judged{Judge: text, Choice: text, Rulings: []eval.Ruling{{Choice: text, Reason: text}}},
				},
			},
			Turns: []eval.Turn{{Response: *answered(text, text)}, {Response: *answered(text, text)}}, Metrics: map[string]float64{text: 1},
			Judgements: []eval.Judgement{{ID: text, Judge: text, Model: text, Reply: text, FinishReason: text, Error: &eval.Error{Message: text}}},
		}
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		d, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		page := htmlOf(t, d)
		if !utf8.Valid(page) {
			t.Error("not UTF-8")
		}
		blocks := htmlBlocks(t, page)
		if n := bytes.Count(page, []byte("<script")); len(blocks) != 4 || n != 5 || bytes.Count(page, []byte("</script>")) != 5 {
			t.Errorf("%d blocks, %d scripts", len(blocks), n)
		}
		if bytes.Count(page, []byte("</title>")) != 1 || bytes.Count(page, []byte("<!--")) != 0 {
			t.Errorf("the page has markup of the data")
		}
		var trials []eval.Result
		if err := json.Unmarshal([]byte(blocks[2].data), &trials); err != nil {
			t.Fatal(err)
		}
		if got, want := trials[0].Response.Text(), strings.ToValidUTF8(text, "\ufffd"); utf8.ValidString(text) && got != want &&
			len(want) <= 50_000 {
			t.Errorf("%q became %q", want, got)
		}
	})
}

// picture is a run whose one trial sends an image.
func picture(t *testing.T, options *eval.Options, img eval.Image, data []byte) *journal.Document {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.png"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	run := eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s", Dir: dir}}, Flags: options}
	w, err := journal.Create(filepath.Join(dir, "run"), &run, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		r := eval.Result{
			Trial:   eval.Trial{N: n, ID: fmt.Sprint(n), Suite: "s", Case: "c", Arm: "a/b"},
			Outcome: eval.Pass,
			Request: &eval.Request{Contents: []eval.Content{{Parts: []eval.Part{{Image: &img}}}}},
		}
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(&eval.End{Reason: eval.EndCompleted}); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// An image stands in the page once, when it is what was sent, and where it was.
func TestHTMLImages(t *testing.T) {
	t.Parallel()
	data := []byte("\x89PNG and more")
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	for name, test := range map[string]struct {
		flags *eval.Options
		img   eval.Image
		data  []byte
		want  int
	}{
		"as sent":        {nil, eval.Image{Path: "a.png", MIMEType: "image/png", SHA256: sum}, data, 1},
		"resized":        {nil, eval.Image{Path: "a.png", MIMEType: "image/png", SHA256: "00", SourceSHA256: sum}, data, 1},
		"changed since":  {nil, eval.Image{Path: "a.png", MIMEType: "image/png", SHA256: sum}, []byte("other"), 0},
		"not kept":       {&eval.Options{NoContent: true}, eval.Image{Path: "a.png", MIMEType: "image/png", SHA256: sum}, data, 0},
		"outside":        {nil, eval.Image{Path: "../a.png", MIMEType: "image/png", SHA256: sum}, data, 0},
		"gone":           {nil, eval.Image{Path: "b.png", MIMEType: "image/png", SHA256: sum}, data, 0},
		"a folder":       {nil, eval.Image{Path: "run", MIMEType: "image/png", SHA256: sum}, data, 0},
		"no type for it": {nil, eval.Image{Path: "a.png", MIMEType: "image/heic", SHA256: sum}, data, 0},
		"too large":      {nil, eval.Image{Path: "a.png", MIMEType: "image/png", SHA256: fmt.Sprintf("%x", sha256.Sum256(make([]byte, 1<<21)))}, make([]byte, 1<<21), 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for _, b := range htmlBlocks(t, htmlOf(t, picture(t, test.flags, test.img, test.data))) {
				if strings.HasPrefix(b.id, "image/") {
					n++
					if want := `"data:image/png;base64,` + base64.StdEncoding.EncodeToString(test.data) + `"`; b.data != want {
						t.Errorf("%s, want %s", b.data, want)
					}
				}
			}
			if n != test.want {
				t.Errorf("%d images, want %d", n, test.want)
			}
		})
	}
}
