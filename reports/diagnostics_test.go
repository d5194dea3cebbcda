package reports_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/reports"
)

func TestDiagnosticsAreAnnotated(t *testing.T) {
	t.Parallel()
	var l diag.List
	l.AddInclude("parts/p.yaml", diag.Pos{File: "s.yaml", Line: 3, Col: 10})
	l.Warnf(diag.Pos{File: "s.yaml", Line: 5, Col: 2}, "", "50%% of it")
	l.Errorf(diag.Pos{File: "parts/p.yaml", Line: 1, Col: 1}, "try `name`", "unknown key `nmae`")
	l.Errorf(diag.Pos{}, "", "no place")
	var b bytes.Buffer
	expect.OK(t, reports.DiagnosticsGitHub(&b, &l))
	want := "::error title=evalrun validate::no place\n" +
		"::error file=parts/p.yaml,line=1,col=1,title=evalrun validate::unknown key `nmae`%0Ahint: try `name`%0Aincluded from s.yaml:3:10\n" +
		"::warning file=s.yaml,line=5,col=2,title=evalrun validate::50%25 of it\n"
	expect.Same(t, "written", b.String(), want)
	b.Reset()
	expect.OK(t, reports.DiagnosticsJSON(&b, []string{"s.yaml"}, &l))
	var got any
	expect.OK(t, json.Unmarshal(b.Bytes(), &got))
	text, _ := json.Marshal(got)
	want = `{"diagnostics":[{"message":"no place","severity":"error"},` +
		`{"col":1,"file":"parts/p.yaml","hint":"try ` + "`name`" + `","includedFrom":[{"col":10,"file":"s.yaml","line":3}],` +
		`"line":1,"message":"unknown key ` + "`nmae`" + `","severity":"error"},` +
		`{"col":2,"file":"s.yaml","line":5,"message":"50% of it","severity":"warning"}],"files":["s.yaml"],"version":1}`
	expect.Same(t, "text", string(text), want)
}

func TestManyDiagnosticsAreCounted(t *testing.T) {
	t.Parallel()
	var l diag.List
	for i := range 30 {
		l.Errorf(diag.Pos{File: "s.yaml", Line: i + 1}, "", "no")
	}
	var b bytes.Buffer
	expect.OK(t, reports.DiagnosticsGitHub(&b, &l))
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 10 || !strings.Contains(lines[9], "21 more errors") {
		t.Errorf("got %v, want 10 lines, the last of 21 more errors", b.String())
	}
}

// FuzzDiagnostics holds that nothing in a file's name, a message or a hint ends an annotation or begins another, and that the document is
// JSON whatever they hold.
func FuzzDiagnostics(f *testing.F) {
	f.Add("a.yaml", "message", "hint")
	for _, s := range hostile.Strings() {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, file, message, hint string) {
		var l diag.List
		l.AddInclude(file, diag.Pos{File: message, Line: 1, Col: 1})
		l.Errorf(diag.Pos{File: file, Line: 1, Col: 2}, hint, "%s", message)
		var b bytes.Buffer
		if err := reports.DiagnosticsGitHub(&b, &l); err != nil {
			t.Fatal(err)
		}
		line, ok := strings.CutSuffix(b.String(), "\n")
		if !ok || !strings.HasPrefix(line, "::error ") || strings.ContainsFunc(line, unsafe) {
			t.Fatalf("%q, want an error without control characters", line)
		}
		b.Reset()
		if err := reports.DiagnosticsJSON(&b, []string{file}, &l); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) {
			t.Fatalf("%q, want JSON", b.String())
		}
	})
}
