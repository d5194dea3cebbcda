package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// ceilings are how many messages no test and no golden shows, by what makes them. Write the test of a new message;
// lower a figure that you beat.
var ceilings = map[kindOfMessage]int{
	ofCommand:    11,
	ofDiagnostic: 13,
	ofError:      172,
	ofWrapped:    73,
}

// withoutHint is how many diagnostics say what is wrong and where, but have no hint.
const withoutHint = 14

// A kindOfMessage is what makes a message.
type kindOfMessage string

const (
	ofCommand    kindOfMessage = "exit.BadInput and exit.Incomplete"
	ofDiagnostic kindOfMessage = "diagnostics"
	ofError      kindOfMessage = "errors without an exit code"
	ofWrapped    kindOfMessage = "errors with the error of something else"
)

// leastMessages are how many messages of each kind there are at least: fewer mean that the search misses some.
var leastMessages = map[kindOfMessage]int{ofCommand: 0, ofDiagnostic: 0, ofError: 176, ofWrapped: 73}

// leastFragment is how many characters the longest literal part of a message has at least. A shorter one, as of
// "%s: %w", is in some test by accident.
const leastFragment = 12

// A message is the literal text of an error or a warning that the user reads.
type message struct {
	kind     kindOfMessage
	at       string
	fragment string // its longest literal part
	hinted   bool   // of a diagnostic: it has a hint, unless that is ""
}

// Tests show the messages that users read: a golden, a script or a test has the longest literal part of each.
func TestMessagesAreInTests(t *testing.T) {
	t.Parallel()
	absent, found, bare := map[kindOfMessage][]string{}, map[kindOfMessage]int{}, []string{}
	messages := messagesOf(t, "../..")
	shown := shownIn(textOfTests(t, "../.."), messages)
	for _, m := range messages {
		line := m.at + ": " + m.fragment
		if found[m.kind]++; !shown[m.fragment] {
			absent[m.kind] = append(absent[m.kind], line)
		}
		if m.kind == ofDiagnostic && !m.hinted {
			bare = append(bare, line)
		}
	}
	for kind, most := range ceilings {
		if found[kind] < leastMessages[kind] {
			t.Errorf("%s: got %d messages, want at least %d", kind, found[kind], leastMessages[kind])
		}
		if got := len(absent[kind]); got > most {
			t.Errorf("%s: got %d of %d messages that no test shows, want at most %d:\n%s",
				kind, got, found[kind], most, strings.Join(absent[kind], "\n"))
		}
	}
	if len(bare) > withoutHint {
		t.Errorf("got %d diagnostics without a hint, want at most %d:\n%s", len(bare), withoutHint, strings.Join(bare, "\n"))
	}
}

// The search finds a message of each form, and takes its longest literal part.
func TestMessagesAreFoundInCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(`package a

func (n Node) Errorf(hint, format string, args ...any) {}

func f(n Node, l List) error {
	fail := func(pos Pos, fix, format string, args ...any) {}
	fail(at(), "", "a closure has a \"message\" of %s", "its own words")
	n.Errorf("such as x", "a short one, %s, and the longer part of it", "an argument")
	n.Errorf(hint(), "with text " + "in two pieces" + variable + " and more")
	n.Errorf("", "%s: %s", a, b)
	exit.BadInput("the flag --cache: %w", err)
	return fmt.Errorf("this is an error")
}
`), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(`package a

// with text in two pieces
var want = "and the longer " + "part of it" + "the flag \\-\\-cache"
`), 0o600))
	messages := messagesOf(t, dir)
	shown := shownIn(textOfTests(t, dir), messages)
	var got []string
	for _, m := range messages {
		got = append(got, fmt.Sprint(shown[m.fragment], " ", m.fragment))
	}
	expect.Same(t, "messages", got, []string{
		`false a closure has a "message" of`, "true and the longer part of it", "false with text in two pieces",
		"true the flag --cache", "false this is an error",
	})
}

// shownIn are the fragments of messages that the text of all tests has. It reads the text once, since to search for each
// fragment takes seconds.
func shownIn(tests string, messages []message) map[string]bool {
	starts := map[string][]string{}
	for _, m := range messages {
		start := m.fragment[:leastFragment]
		starts[start] = append(starts[start], m.fragment)
	}
	shown := map[string]bool{}
	for i := range max(0, len(tests)-leastFragment+1) {
		for _, fragment := range starts[tests[i:i+leastFragment]] {
			if strings.HasPrefix(tests[i:], fragment) {
				shown[fragment] = true
			}
		}
	}
	return shown
}

// goldens are the endings of files with expected output.
var goldens = []string{".out", ".txtar", ".txt", ".golden", ".md", ".xml"}

// textOfTests is the literal text of tests and of their goldens, without the backslashes of patterns.
func textOfTests(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	eachFile(t, root, func(path string) {
		golden := strings.Contains(path, "testdata/") && slices.Contains(goldens, filepath.Ext(path))
		if test := strings.HasSuffix(path, "_test.go"); !golden && !test || filepath.Dir(path) == "internal/arch" {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		expect.OK(t, err)
		if golden {
			out.Write(text)
		} else {
			writeLiterals(&out, text)
		}
		out.WriteByte('\n')
	})
	return strings.ReplaceAll(out.String(), "\\", "")
}

// writeLiterals writes the strings of Go code; a sum of strings is one.
func writeLiterals(out *strings.Builder, code []byte) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	s.Init(file, code, nil, 0)
	before := token.ILLEGAL
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return
		case token.STRING:
			if before != token.ADD {
				out.WriteByte('\n')
			}
			text, _ := strconv.Unquote(lit)
			out.WriteString(text)
		}
		before = tok
	}
}

// forTests are packages whose messages users do not read.
var forTests = []string{
	"internal/arch", "internal/expect", "internal/hostile", "internal/forgetest", "internal/testrun", "internal/replies", "clients/emulator",
}

// eachFile passes the paths of the module's files, from root, to see. Other modules and programs that only test evalrun are left out.
func eachFile(t *testing.T, root string, see func(path string)) {
	t.Helper()
	expect.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		path = strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			see(path)
		case strings.HasPrefix(d.Name(), ".git"), slices.Contains([]string{"test", "fleet", "e2e", "examples", "tools", "docs"}, path):
			return filepath.SkipDir
		}
		return nil
	}))
}

// messagesOf lists the messages in the code of the module, but for its tests.
func messagesOf(t *testing.T, root string) []message {
	t.Helper()
	var out []message
	eachFile(t, root, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains(forTests, filepath.Dir(path)) {
			return
		}
		fset := token.NewFileSet()
		code, err := parser.ParseFile(fset, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		expect.OK(t, err)
		ast.Inspect(code, func(n ast.Node) bool {
			m, ok := messageOf(n)
			if ok && len(m.fragment) >= leastFragment {
				m.at = path + ":" + strconv.Itoa(fset.Position(n.Pos()).Line)
				out = append(out, m)
			}
			return true
		})
	})
	return out
}

// diagnostics are the functions that take a hint and a format, one after the other.
var diagnostics = []string{
	"Errorf", "ErrorfAt", "PlacedErrorf", "Warnf", "errorf", "errorAt", "suspect", "refuse", "fail",
}

// messageOf reads a call, or a diagnostic that is written as a value.
func messageOf(n ast.Node) (message, bool) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		text := valueOf(n, "Message")
		return message{kind: ofDiagnostic, fragment: fragmentOf(text), hinted: valueOf(n, "Hint") != nil}, text != nil
	case *ast.CallExpr:
		from, name := calledBy(n)
		switch {
		case from == "exit" && (name == "BadInput" || name == "Incomplete"):
			return errorAt(n, 0, ofCommand), true
		case from == "fmt" && name == "Errorf", from == "errors" && name == "New":
			return errorAt(n, 0, ofError), true
		case from == "eval" && name == "Errorf":
			return errorAt(n, 1, ofError), true
		case slices.Contains(diagnostics, name):
			return diagnosticOf(n)
		}
	}
	return message{}, false
}

// errorAt reads a call that makes an error of a format.
func errorAt(call *ast.CallExpr, format int, kind kindOfMessage) message {
	if len(call.Args) <= format {
		return message{}
	}
	text := call.Args[format]
	if strings.Contains(literal(text), "%w") {
		kind = ofWrapped
	}
	return message{kind: kind, fragment: fragmentOf(text)}
}

// diagnosticOf reads a call that makes a diagnostic. What follows its format are as many arguments as it has verbs.
func diagnosticOf(call *ast.CallExpr) (message, bool) {
	for at := 1; at < len(call.Args); at++ {
		if text := call.Args[at]; verbs(literal(text)) == len(call.Args)-at-1 {
			return message{kind: ofDiagnostic, fragment: fragmentOf(text), hinted: !isEmpty(call.Args[at-1])}, true
		}
	}
	return message{}, false
}

// calledBy is the name of a called function, and of what it is selected from: a package or a variable.
func calledBy(call *ast.CallExpr) (from, name string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			from = x.Name
		}
		return from, f.Sel.Name
	}
	return "", ""
}

// valueOf is the value of a field of a diagnostic.
func valueOf(lit *ast.CompositeLit, field string) ast.Expr {
	if typ, ok := lit.Type.(*ast.SelectorExpr); !ok || typ.Sel.Name != "Diagnostic" {
		return nil
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == field {
			return kv.Value
		}
	}
	return nil
}

func isEmpty(x ast.Expr) bool {
	lit, ok := x.(*ast.BasicLit)
	return ok && lit.Value == `""`
}

// verb is a verb of a format, or where an argument is added to the literal text.
var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?(?:\[[0-9]+\])?[a-zA-Z]`)

// verbs counts the arguments of a format, -1 without a literal.
func verbs(format string) int {
	if format == "" {
		return -1
	}
	return len(verb.FindAllString(strings.ReplaceAll(format, "%%", ""), -1))
}

// literal is the literal text of an expression, with a zero byte for each part that is not.
func literal(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			text, _ := strconv.Unquote(x.Value)
			return text
		}
	case *ast.BinaryExpr:
		if left, right := literal(x.X), literal(x.Y); strings.Trim(left+right, "\x00") != "" {
			return left + right
		}
	}
	return "\x00"
}

// fragmentOf is the longest literal part of a format.
func fragmentOf(x ast.Expr) string {
	text := verb.ReplaceAllString(strings.ReplaceAll(literal(x), "%%", "\x01"), "\x00")
	longest := slices.MaxFunc(strings.Split(text, "\x00"), func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return strings.Trim(strings.NewReplacer("\x01", "%", "\\", "").Replace(longest), " ,;:()`\n")
}
