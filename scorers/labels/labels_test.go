package labels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// said is a label of a person about an answer.
func said(who, text, word, comment string) *Label {
	return &Label{
		Suite: "s", Case: "c", CaseID: "id", Arm: "t/p", Repeat: 1, AnswerHash: digest([]byte(text)), Label: word, Comment: comment, Who: who,
		At: "2025-01-02T03:04:05Z",
	}
}

func folder(t *testing.T) (dir, lock string) {
	t.Helper()
	return t.TempDir(), filepath.Join(t.TempDir(), "lock")
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	expect.OK(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// The last label of each person counts, what was taken back does not, and a label twice is one line.
func TestTheLastLabelOfAPersonCounts(t *testing.T) {
	t.Parallel()
	dir, lock := folder(t)
	for _, l := range []*Label{
		said("Ada", "x", None, ""), said("Ada", "x", Pass, ""), said("Ada", "x", Pass, ""),
		said("Ben", "x", Fail, `<b>wrong</b> & "so"`), said("Ada", "x", Fail, "so\n"),
		said("Cleo", "x", Pass, ""), said("Cleo", "x", None, ""), said("Ada", "y", None, "only a remark"),
	} {
		expect.OK(t, Append(dir, lock, l))
	}
	f, err := Read(dir, "s")
	expect.OK(t, err, f.Err())
	var got []string
	for _, text := range []string{"x", "y", "z"} {
		for _, l := range f.Of(said("", text, "", "").Key()) {
			got = append(got, fmt.Sprintf("%s: %s %s %q", text, l.Who, l.Label, l.Comment))
		}
	}
	expect.Same(t, "labels", got, []string{`x: Ada fail "so\n"`, `x: Ben fail "<b>wrong</b> & \"so\""`, `y: Ada  "only a remark"`})
	expect.Same(t, "people", f.People(), []string{"Ada", "Ben", "Cleo"})
	expect.Same(t, "answers", f.Answers(), []AnswerKey{said("", "x", "", "").Key()})
	all := lines(t, filepath.Join(dir, "s.labels.jsonl"))
	expect.Same(t, "lines", len(all), 6)
	expect.Same(t, "the second line", all[1], `{"suite":"s","case":"c","caseId":"id","arm":"t/p","repeat":1,"answerHash":`+
		`"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","label":"fail","comment":"<b>wrong</b> & \"so\"","who":"Ben",`+
		`"at":"2025-01-02T03:04:05Z"}`)
}

// Lines of two branches come in any order; the later label counts.
func TestTheLaterLabelOfAPersonCounts(t *testing.T) {
	t.Parallel()
	late, early := said("Ada", "x", Pass, ""), said("Ada", "x", Fail, "")
	late.At, early.At = "2025-05-01T00:00:00+02:00", "2025-04-30T21:59:59.9Z"
	for _, order := range [][]*Label{{late, early}, {early, late}} {
		dir, lock := folder(t)
		for _, l := range order {
			expect.OK(t, Append(dir, lock, l))
		}
		f, err := Read(dir, "s")
		expect.OK(t, err)
		expect.Same(t, "what Ada says", Decide(f.Of(late.Key())), Pass)
	}
}

func TestDecideNeedsAMajority(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"": None, "p": Pass, "f": Fail, "pf": None, "pfp": Pass, "ffp": Fail, "-": None, "p-": Pass, "p-f": None,
	} {
		var all []Label
		for _, w := range words {
			all = append(all, Label{Label: map[rune]string{'p': Pass, 'f': Fail}[w]})
		}
		expect.Same(t, words, Decide(all), want)
	}
}

// Every line that is not a label is reported with its place, all at once; the others count.
func TestLinesThatAreNoLabelsAreReported(t *testing.T) {
	t.Parallel()
	good := func(change func(l *Label)) string {
		l := said("Ada", "x", Pass, "")
		change(l)
		data, err := json.Marshal(l)
		expect.OK(t, err)
		return string(data)
	}
	for _, test := range []struct{ line, want string }{
		{"<<<<<<< HEAD", ":1:1: git left a conflict here"},
		{"=======", "git left a conflict here"},
		{">>>>>>> other", "git left a conflict here"},
		{`{"suite": "s",}`, ":1:15: not a label: "},
		{`{"suite": "s"`, ":1:"},
		{`[]`, "not a label"},
		{`null`, "name of a suite"},
		{`{"suite": 3}`, "not a label"},
		{`{"sweet": "s"}`, `unknown field "sweet"`},
		{good(func(*Label) {}) + " {}", "write one label a line"},
		{good(func(l *Label) { l.Suite = "other" }), "other.labels.jsonl"},
		{good(func(l *Label) { l.Suite = "../s" }), "not the name of a suite"},
		{good(func(l *Label) { l.CaseID = "" }), "`caseId` is missing"},
		{good(func(l *Label) { l.Arm = "" }), "`arm` is missing"},
		{good(func(l *Label) { l.Repeat = 0 }), "`repeat` counts from 1"},
		{good(func(l *Label) { l.AnswerHash = "abc" }), "`answerHash` is not"},
		{good(func(l *Label) { l.AnswerHash = strings.ToUpper(l.AnswerHash) }), "`answerHash` is not"},
		{good(func(l *Label) { l.Label = "PASS" }), "neither pass nor fail"},
		{good(func(l *Label) { l.Who = " " }), "name of the person is empty"},
		{good(func(l *Label) { l.Who = "A\nB" }), "control character"},
		{good(func(l *Label) { l.Comment = strings.Repeat("x", MaxComment+1) }), "the comment has more than"},
		{good(func(l *Label) { l.At = "yesterday" }), "`at` is not a time"},
		{good(func(l *Label) { l.At = "2999-01-01T00:00:00Z" }), "`at` is in the future"},
	} {
		path := filepath.Join(t.TempDir(), "s.labels.jsonl")
		expect.OK(t, os.WriteFile(path, []byte("\ufeff"+test.line+"\r\n\n"+good(func(*Label) {})+"\nnothing"), 0o600))
		f, err := ReadFile(path)
		expect.OK(t, err)
		if err := f.Err(); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path+":4:") {
			t.Errorf("%s: got %v, want %q, and line 4", test.line, err, test.want)
		}
		expect.Same(t, "labels that count", len(f.Of(said("", "x", "", "").Key())), 1)
	}
}

// No name of a suite leads out of the folder, and labels go into no file but a regular one in it.
func TestLabelsStayInTheirFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "../x", "a/b", `a\b`, "/etc/x", "x\x00", "x\n", "ä", strings.Repeat("x", 201), "a:b"} {
		if got, err := FileName(name); err == nil {
			t.Errorf("%q: got %s, want an error", name, got)
		}
		dir, lock := folder(t)
		l := said("Ada", "x", Pass, "")
		l.Suite = name
		if err := Append(dir, lock, l); err == nil {
			t.Errorf("%q: got no error, want the label refused", name)
		}
	}
	dir, lock := folder(t)
	l := said("Ada", "x", Pass, "")
	l.Suite = ".."
	expect.OK(t, Append(dir, lock, l))
	expect.Same(t, "lines", len(lines(t, filepath.Join(dir, "...labels.jsonl"))), 1)
	target := filepath.Join(t.TempDir(), "target")
	expect.OK(t, os.WriteFile(target, nil, 0o600))
	for what, put := range map[string]func(path string) error{
		"a link out":  func(path string) error { return os.Symlink(target, path) },
		"a link in":   func(path string) error { return os.Symlink("...labels.jsonl", path) },
		"a dead link": func(path string) error { return os.Symlink(filepath.Join(dir, "gone"), path) },
		"a folder":    func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		path := filepath.Join(dir, "s.labels.jsonl")
		expect.OK(t, put(path))
		if err := Append(dir, lock, said("Ada", "x", Pass, "")); err == nil {
			t.Errorf("%s: got no error, want the label refused", what)
		}
		expect.OK(t, os.RemoveAll(path))
	}
	expect.Same(t, "what the link leads to", len(lines(t, target)[0]), 0)
	gone := filepath.Join(t.TempDir(), "gone")
	expect.OK(t, os.Symlink(gone, lock+"2"))
	if err := Append(dir, lock+"2", said("Ada", "x", Pass, "")); err == nil {
		t.Error("got no error for a lock that is a link, want one")
	}
	if _, err := os.Lstat(gone); err == nil {
		t.Error("the lock made a file behind the link, want none")
	}
}

// A last line without an end, as an editor may leave it, does not swallow the next label.
func TestALineIsNeverJoinedToAnother(t *testing.T) {
	t.Parallel()
	dir, lock := folder(t)
	path := filepath.Join(dir, "s.labels.jsonl")
	expect.OK(t, os.WriteFile(path, []byte(`{"cut":`), 0o600))
	expect.OK(t, Append(dir, lock, said("Ada", "x", Pass, "")))
	f, err := ReadFile(path)
	expect.OK(t, err)
	if f.Err() == nil || len(f.Of(said("", "x", "", "").Key())) != 1 {
		t.Errorf("got %v, %v, want a problem and a label", f.Err(), f.Of(said("", "x", "", "").Key()))
	}
}

const writerVariable = "EVALRUN_TEST_LABELS"

// Several processes that label at once lose nothing.
func TestProcessesTakeTurns(t *testing.T) {
	const processes, each = 3, 40
	if from := os.Getenv(writerVariable); from != "" {
		who, dir, _ := strings.Cut(from, " ")
		for i := range each {
			l := said(who, strconv.Itoa(i), []string{Pass, Fail}[i%2], strings.Repeat("long ", 500))
			expect.OK(t, Append(dir, filepath.Join(dir, "lock"), l))
		}
		return
	}
	dir := t.TempDir()
	var running []*exec.Cmd
	for i := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcessesTakeTurns$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=P%d %s", writerVariable, i, dir))
		expect.OK(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		expect.OK(t, cmd.Wait())
	}
	f, err := Read(dir, "s")
	expect.OK(t, err, f.Err())
	expect.Same(t, "lines", len(lines(t, f.Path)), processes*each)
	expect.Same(t, "answers", len(f.Answers()), each)
	for _, k := range f.Answers() {
		expect.Same(t, "labels of an answer", len(f.Of(k)), processes)
	}
	expect.Same(t, "pairs of people", len(f.Agreements()), processes*(processes-1)/2)
}

// Kappa of two people by the formula for a table of two words: 20 both pass, 5 and 10 differ, 15 both fail.
func TestAgreementIsKappaOfTwoPeople(t *testing.T) {
	t.Parallel()
	const a, b, c, d = 20, 5, 10, 15
	f := &File{said: map[AnswerKey][]Label{}}
	for i := range a + b + c + d {
		text := strconv.Itoa(i)
		f.add(said("Ada", text, map[bool]string{true: Pass, false: Fail}[i < a+b], ""))
		f.add(said("Ben", text, map[bool]string{true: Pass, false: Fail}[i < a || i >= a+b && i < a+b+c], ""))
	}
	f.add(said("Ada", "alone", Pass, ""))
	f.add(said("Cleo", "other", Pass, ""))
	all := f.Agreements()
	if len(all) != 1 {
		t.Fatalf("got %v, want one pair", all)
	}
	got := all[0]
	if got.One != "Ada" || got.Other != "Ben" || got.Answers != 50 || got.Agree != 35 || got.Cases != 1 {
		t.Errorf("got %+v, want 35 of 50 of Ada and Ben, of one case", got)
	}
	if want := 0.4; math.Abs(*got.Kappa-want) > 1e-12 {
		t.Errorf("got kappa %g, want %g", *got.Kappa, want)
	}
	for i, bound := range got.KappaInterval {
		if want := (got.Interval[i] - 0.5) / 0.5; math.Abs(bound-want) > 1e-12 {
			t.Errorf("bound %d of kappa: got %g, want %g", i, bound, want)
		}
	}
}

// The hash of a text is what a run without content keeps of it. Calls, candidates, turns and blocks count; names that
// the service gives to calls do not.
func TestHashOfIsKeptByARunWithoutContent(t *testing.T) {
	t.Parallel()
	text := func(s string) eval.Response {
		return eval.Response{Candidates: []eval.Candidate{{Text: s, FinishReason: "STOP"}}}
	}
	call := func(id, args string) eval.Response {
		r := text("hi")
		r.Candidates[0].Pieces = []eval.Piece{
			eval.TextPiece{Text: "hi"},
			eval.ReasoningPiece{Reasoning: "hm"},
			eval.CallPiece{Call: &eval.FunctionCall{ID: id, Name: "f", Args: json.RawMessage(args)}},
		}
		return r
	}
	turns := func(all ...eval.Response) []eval.AnsweredCall {
		var out []eval.AnsweredCall
		for _, one := range all {
			out = append(out, eval.AnsweredCall{Response: one})
		}
		return out
	}
	blocked, prompt := text("hi"), eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}
	blocked.Candidates[0].FinishReason = "SAFETY"
	two := text("hi")
	two.Candidates = append(two.Candidates, text("ho").Candidates...)
	seen := map[string]string{}
	for what, one := range map[string]*eval.Result{
		"text": {Response: new(text("hi"))}, "another text": {Response: new(text("hi "))}, "blocked": {Response: &blocked},
		"prompt": {Response: &prompt}, "odd": {Response: new(text("h\xff\xfei"))}, "two": {Response: &two},
		"call":        {Response: new(call("1", `{"a":1}`))},
		"other call":  {Response: new(call("1", `{"a":2}`))},
		"turns":       {Response: new(text("b")), Calls: turns(text("a"), text("b"))},
		"other turns": {Response: new(text("b")), Calls: turns(text("c"), text("b"))},
	} {
		k, ok := KeyOf(one)
		if !ok || seen[k.AnswerHash] != "" {
			t.Errorf("%s: got %q as %s, want a hash of its own", what, k.AnswerHash, seen[k.AnswerHash])
		}
		seen[k.AnswerHash] = what
		data, err := json.Marshal(one)
		expect.OK(t, err)
		var second eval.Result
		expect.OK(t, json.Unmarshal(data, &second))
		expect.Same(t, what+", read again", HashOf(second.Response, second.Calls), k.AnswerHash)
		second.Withhold()
		want := k.AnswerHash
		if strings.Contains(what, "call") {
			want = ""
		}
		expect.Same(t, what+", without content", HashOf(second.Response, second.Calls), want)
	}
	expect.Same(t, "another id", HashOf(new(call("2", `{ "a": 1 }`)), nil), HashOf(new(call("1", `{"a":1}`)), nil))
	expect.Same(t, "one turn", HashOf(new(text("a")), turns(text("a"))), digest([]byte("a")))
	expect.Same(t, "no answer", HashOf(nil, nil), "")
}

// A label that cannot be kept says which of its fields is invalid, and what the field takes.
func TestInvalidLabelsSayWhatTheirFieldsTake(t *testing.T) {
	t.Parallel()
	tooLong := strings.Repeat("x", MaxComment+1)
	for want, change := range map[string]func(*Label){
		`"a/b" is not the name of a suite: letters, digits, dot, dash and underscore, 200 at most`: func(l *Label) { l.Suite = "a/b" },
		"the name of the person is empty":                                        func(l *Label) { l.Who = " " },
		"the name of the person has more than 100 bytes":                         func(l *Label) { l.Who = strings.Repeat("x", maxWho+1) },
		"the name of the person holds a line break or another control character": func(l *Label) { l.Who = "a\nb" },
		"`caseId` is missing":                                                    func(l *Label) { l.CaseID = "" },
		"`arm` is missing":                                                       func(l *Label) { l.Arm = "" },
		"`repeat` counts from 1":                                                 func(l *Label) { l.Repeat = 0 },
		"`answerHash` is not a SHA-256 hash of 64 hexadecimal digits":            func(l *Label) { l.AnswerHash = "abc" },
		`the label "maybe" is neither pass nor fail, nor empty`:                  func(l *Label) { l.Label = "maybe" },
		"the comment has more than":                                              func(l *Label) { l.Comment = tooLong },
		"`at` is not a time such as 2027-01-31T12:00:00Z":                        func(l *Label) { l.At = "today" },
	} {
		var l Label
		l.Suite, l.Who, l.At, l.CaseID, l.Arm, l.Repeat = "s", "ann", "2027-01-31T12:00:00Z", "x", "pro/p", 1
		l.AnswerHash, l.Label = strings.Repeat("0", 64), Pass
		expect.OK(t, l.Check())
		change(&l)
		expect.Contains(t, "error", fmt.Sprint(l.Check()), want)
	}
}

// FuzzRead reads any bytes as labels: each line is a label or a problem, and a label can be appended whatever is there.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "{}\n", "<<<<<<<\n", "\xff\xfe", `{"suite":"s","case":"c","caseId":"id","arm":"t/p","repeat":1,"answerHash":"` + digest(nil) +
			`","label":"pass","who":"Ada","at":"2025-01-02T03:04:05Z"}`, "[[[[", "null\nnull", `{"suite":"s"}{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "s"+Suffix)
		expect.OK(t, os.WriteFile(path, data, 0o600))
		before, err := ReadFile(path)
		expect.OK(t, err)
		count, filled := len(before.problems), 0
		for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))) {
			if len(bytes.TrimSpace(line)) > 0 {
				filled++
			}
		}
		for k, all := range before.said {
			count += len(all)
			for _, l := range all {
				expect.OK(t, l.Check())
				expect.Same(t, "key", l.Key(), k)
			}
		}
		if count > filled || filled > 0 && count == 0 {
			t.Errorf("got %d labels and problems, want some, at most one of each of %d lines", count, filled)
		}
		one := said("Zoe", "x", Fail, "?")
		expect.OK(t, Append(dir, filepath.Join(dir, "lock"), one))
		after, err := Read(dir, "s")
		expect.OK(t, err)
		expect.Same(t, "problems", len(after.problems), len(before.problems))
		expect.Same(t, "what Zoe says", of(after.Of(one.Key()), "Zoe"), Fail)
	})
}
