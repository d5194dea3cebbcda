package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/scorers"
)

var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

// TestDocsShowWhatCommandsDo runs what the documentation shows. A block headed `yaml NAME`, `csv NAME` or `text NAME` is a file. One
// headed `console` is commands with (some of) their output and, unless it is 0, their exit code. One headed `go` is a
// file of tests that go vet must accept.
func TestDocsShowWhatCommandsDo(t *testing.T) {
	pages := []string{"../../README.md", "../../skills/evalrun/SKILL.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: got no file (%v), want some", pattern, err)
		}
		pages = append(pages, found...)
	}
	root := repositoryRoot(t)
	for _, file := range pages {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			expect.OK(t, err)
			p := page{t, root, t.TempDir(), t.TempDir()}
			own := strings.ReplaceAll(string(text), shownAddress, freeAddress(t))
			for _, m := range fence.FindAllStringSubmatch(own, -1) {
				p.block(m[1], m[2])
			}
		})
	}
}

// page carries out one page of the documentation, in its own folder and with its own home.
type page struct {
	*testing.T
	root, dir, home string
}

func (p page) evalrun(args ...string) *exec.Cmd {
	cmd := exec.Command(plainProgram(p.T), args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home}
	return cmd
}

// block does what the heading of a block says: it writes a file, or runs commands or tests.
func (p page) block(heading, text string) {
	p.Helper()
	kind, name, _ := strings.Cut(heading, " ")
	switch {
	case (kind == "yaml" || kind == "csv" || kind == "text") && name != "":
		name = filepath.Join(p.dir, name)
		expect.OK(p.T, os.MkdirAll(filepath.Dir(name), 0o700))
		expect.OK(p.T, os.WriteFile(name, []byte(text), 0o600))
	case kind == "console":
		p.console(text)
	case kind == "go":
		compile(p.T, p.root, text)
	case !slices.Contains([]string{"sh", "json", "yaml", "text"}, kind):
		p.Errorf("got a block headed %q, want sh, json, yaml or text", heading)
	}
}

// compile compiles a file of tests as if it stood in the folder test, which holds no package.
func compile(t *testing.T, root, code string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "block.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "test", "block.go"): file}})
	if err == nil {
		err = errors.Join(os.WriteFile(file, []byte(code), 0o600), os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	}
	expect.OK(t, err)
	cmd := exec.Command("go", "build", "-o", os.DevNull, "-trimpath", "-gcflags=all=-dwarf=false",
		"-overlay", filepath.Join(dir, "overlay.json"), "./test")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s%v\n%s", out, err, code)
	}
}

// shownAddress is where pages have servers listen. Each page runs with a free one instead.
const shownAddress = "127.0.0.1:8080"

// freeAddress is below the ports that the system gives to connections, which may take it before the server of the page starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))); err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("got no free address in 100 attempts, want one")
	return ""
}

// background runs a server, a command that ends in &, until the page ends. It returns when the server has printed its address.
func (p page) background(args []string, shown string) {
	p.Helper()
	server := p.evalrun(args...)
	printed, err := server.StdoutPipe()
	expect.OK(p.T, err, server.Start())
	p.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	address, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil || !strings.Contains(shown, strings.TrimSpace(address)) {
		p.Fatalf("got %q (%v) from the server, want the page's line\n%s", address, err, shown)
	}
}

// loops is a command that is run several times. The page shows what the last one prints.
var loops = regexp.MustCompile(`^for \w+ in \$\(seq (\d+)\); do (evalrun .*); done$`)

// console runs the commands of a block one by one.
func (p page) console(block string) {
	p.Helper()
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(part, "\n")
		if loop := loops.FindStringSubmatch(command); loop != nil {
			command = loop[2]
			for n, _ := strconv.Atoi(loop[1]); n > 1; n-- { // the expression allows digits alone
				p.console("$ " + command + "\n")
			}
		}
		args := strings.Fields(command)
		if args[0] != "evalrun" {
			p.Errorf("got %s, want a command of evalrun", command)
			continue
		}
		if args[len(args)-1] == "&" {
			p.background(args[1:len(args)-1], shown)
			continue
		}
		cmd := p.evalrun(args[1:]...)
		out, _ := cmd.CombinedOutput()
		want := "exit 0"
		got := measured(string(out))
		for _, line := range strings.Split(strings.TrimRight(shown, "\n"), "\n") {
			if strings.HasPrefix(line, "exit ") {
				want = line
				continue
			}
			expect.Contains(p.T, "$ "+command, got, measured(line))
		}
		if got := fmt.Sprintf("exit %d", cmd.ProcessState.ExitCode()); got != want {
			p.Errorf("$ %s: got %s, want %s as on the page\n%s", command, got, want, out)
		}
	}
}

var times = regexp.MustCompile(`\d+(\.\d+)? ?m?s\b|─+| {2,}`)

// measured takes the measurements out of a text, and what depends on their width.
func measured(s string) string { return times.ReplaceAllString(s, " ~ ") }

// TestServicePageNamesTestsThatExist wants every test that docs/contributing/service-rules.md names to be there.
func TestServicePageNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/contributing/service-rules.md")
	expect.OK(t, err)
	dirs := map[string]string{
		"wire": "internal/clients/wire", "main": "cmd/evalrun", "dataset": "internal/dataset",
		"generative": "internal/clients/generative", "emulator": "internal/emulator", "oauth": "internal/clients/oauth", "flow": "internal/flow",
		"overview": "internal/overview", "runner": "runner", "suite": "suite", "scorers": "scorers", "reports": "reports", "eval": "eval",
	}
	named := regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z]{2,})`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Errorf("got %d tests that are named, want at least 40", len(named))
	}
	for _, m := range named {
		files, err := filepath.Glob("../../" + dirs[m[1]] + "/*_test.go")
		if err != nil || dirs[m[1]] == "" {
			t.Fatalf("%s: got no folder (%v), want one", m[0], err)
		}
		found := slices.ContainsFunc(files, func(file string) bool {
			code, err := os.ReadFile(file)
			return err == nil && bytes.Contains(code, []byte("func "+m[2]+"("))
		})
		if !found {
			t.Errorf("got no test %s, want it to exist as the page says", m[0])
		}
	}
	for _, m := range regexp.MustCompile("`([a-z_]+\\.txtar)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat("testdata/script/" + m[1]); err != nil {
			t.Error(err)
		}
	}
}

// The rules that hold for every scorer are on the page once.
const (
	madeDoc = "<!-- make golden -->\n\n"

	familiesDoc = "A scorer checks an answer. It is an item of a `scorers` list: its kind with arguments. `evalrun scorers KIND` prints " +
		"the section of a kind with its [known limits](#known-limits).\n\n"

	itemDoc = "## Keys of all scorers\n\n" +
		"Next to the kind:\n\n" +
		"- `name`: makes the score a metric in reports\n" +
		"- `weight`: in the weighted mean of a case with a `threshold` (1)\n" +
		"- `required`: `true`: the trial fails when this scorer fails (false)\n" +
		"- `threshold`: the value from which the score passes\n" +
		"- `arms`: globs of the arms that it judges (all)\n" +
		"- `candidate`: `first`, `all`, or a number from 0\n" +
		"- `turn`: in a [live chat](../how-to/live-chats.md): a number from 1, `last`, or `all`\n" +
		"- `select`, `partial`, `onError`: see below\n" +
		"- text options: `ignoreCase: true` (full Unicode case folding), `trim: true` (without white space around the answer), " +
		"`normalize: nfc | nfkc | none` (nfc, on both sides)\n\n"

	selectDoc = "## Select a part of the answer\n\n" +
		"```yaml\n- equals: Paris\n  select: [{fence: json}, {jq: .capital}]\n```\n\n" +
		"`select` is next to a scorer that looks at text, or next to `not`, `all` and `any` for all scorers inside.\n\n" +
		"- `{jq: .items[0].name}`: from the answer as JSON: the characters of a text, other values as JSON, several results one a " +
		"line, without null\n" +
		"- `{regex: 'Total: (\\S+)', group: 1}`: what a group of a regular expression (RE2) matches first: " +
		"a number or a name (1), or the whole match without groups\n" +
		"- `{without: '(?s)<think>.*?</think>'}`: the text without what a regular expression (RE2) matches\n" +
		"- `{fence: json}`, `{fence: any}`: the first fenced block (```) with that word behind the fence, or with any word\n" +
		"- `{response: .groundingMetadata}`: jq over the raw candidate, and over the whole response of an HTTP application\n" +
		"- `{json: first}`, `last`, `all`: JSON objects or arrays in the text, but those inside others and those before `(`, as in links\n" +
		"- `[{fence: json}, {jq: .name}]`: one after the other; only the first may be `response`\n\n" +
		"An answer without such a part fails, and `not:` does not turn that into a pass. A jq expression of more than a million steps, " +
		"ten seconds or 4 MiB, on an answer nested deeper than 500, or without a finite result, is unscored. The suite may not use " +
		"`infinite`, numbers beyond a float64, or `nan` in a calculation. Under `--untrusted` an expression may only be a path, such as " +
		"`.items[].name`.\n\n"

	partialDoc = "## Blocked and cut answers\n\n" +
		"An answer that was blocked after some text (finish reason SAFETY, say) fails in every scorer that looks at text, also inside " +
		"`not`. `partial: allow`, next to it or to `not`, `all` and `any`, scores the part that came. An answer that was " +
		"cut at its limit of tokens is scored, and marked as cut in reports.\n\n"

	// outcomesDoc is the rule that all scorers and combinators follow; TestLimitsAreWhatTheFileSays tries all combinations.
	outcomesDoc = "## What a score says\n\n" +
		"A score passes or fails, with a value from 0 to 1, or it is unscored: the trial is then an error.\n\n" +
		"| the answer | the score | inside `not` |\n|---|---|---|\n" +
		"| was read and compared | a pass or a failure | the other one |\n" +
		"| has no text, was blocked, has no part that `select` selects, or cannot match by its length alone | a failure | a failure |\n" +
		"| cannot be read: no JSON, no XML, no number, broken arguments of a tool call | a failure | a failure |\n" +
		"| was not checked to the end, for a bound of time, memory, steps or size | unscored | unscored |\n" +
		"| names no letter (`choice`) or may refuse (`refusal`) in [a form that is not read](#which-forms-are-read) | unscored | unscored |\n" +
		"| made the scorer itself fail, such as a program of `exec` that crashes or takes too long | an error of the trial " +
		"| an error of the trial |\n\n" +
		"- An answer of nothing but white space and invisible characters is empty. So is one of tool calls: " +
		"[toolCalls](#toolcalls) looks at these.\n" +
		"- `json: valid` and `xml: wellFormed` check whether an answer can be read, so `not` of them passes when it cannot.\n" +
		"- `all` fails when one scorer fails; otherwise it is unscored when one is. `any` passes when one passes; otherwise " +
		"it is unscored when one is. Inside `not` both fail when what fails in them cannot be read.\n\n" +
		"## Checks without a result\n\n" +
		"`onError`, next to every scorer, decides what a scorer that fails itself is; scorers inside inherit it. " +
		"It is a part of `scorersHash`.\n\n" +
		"- not set: an error of the trial\n- `fail`: a failure, which `not` keeps\n- `unscored`: unscored; other scorers still count\n\n" +
		"A judge or an embedding that cannot be reached makes the trial an error in any case.\n"

	limitsDoc = "\n## Known limits\n\n" +
		"`evalrun scorers KIND` prints the limits of a kind, as measured by the tests; " +
		"[limits.txt](../../scorers/limits.txt) has those of all kinds.\n"

	// textOptionsDoc is what the terminal says of the options that the page has in its first table.
	textOptionsDoc = "Options next to it: `ignoreCase: true` (full Unicode case folding), `trim: true` (white " +
		"space around the answer), `normalize: nfc | nfkc | none` (default nfc, on both sides)."

	// referenceDoc is what the terminal says of the arguments that several kinds share.
	referenceDoc = "Takes `to` (a text or several; the best counts, and the reason names it) and `min`, the least value from 0 to 1, " +
		"or a `threshold` next to the kind."

	// formsDoc lists forms; scorers/testdata/limits/choices.txt and refusals.txt hold examples of each.
	formsDoc = "\n## Which forms are read\n\n" +
		"`choice` reads a letter in these forms, in English, German, French and Spanish. A letter alone or in an answer of one line may be " +
		"upper or lower case.\n\n" +
		"- the letter alone, as the first or last line: `B`, `(b)`, `[B]`, `B.`, `**B**`, `\\boxed{B}`\n" +
		"- with the text of its option: `B) Lyon`, `(B) Lyon`, `B: Lyon`, `B - Lyon`\n" +
		"- a noun and the letter: `Final answer: (B) Lyon`, `Option B`, `Antwort: B`, `Réponse : B`, `Respuesta: B`\n" +
		"- the answer is the letter: `The correct answer is B`, `A is wrong, so the answer is B`, " +
		"`Die Antwort ist B`, `La réponse est B`, `La respuesta es B`\n" +
		"- the letter is correct: `B is correct`, `Option B is the best choice`, `B ist richtig`, " +
		"`B est la bonne réponse`, `B es correcta`\n" +
		"- a choice: `I choose B`, `It is B`, `Ich wähle B`, `Je choisis B`, `Elijo B`\n" +
		"- the last words lead to an option: `The sum is 12, which is option B`; where no other letter is " +
		"mentioned also `The capital is B) Lyon`\n" +
		"- JSON with one member `answer`, `final_answer`, `choice`, `option`, `letter` or such as `selected_option`: `{\"answer\": \"B\"}`\n" +
		"- the text of the option as the whole answer, where `of` has it, whatever its case and punctuation: `Lyon`\n\n" +
		"After the letter may come a reason (`because A is too small`), another letter that is denied (`not A`), and sentences without a word " +
		"of doubt; they may mention other letters only for their options (`the nucleus (A) stores DNA`, `A and C are ports`, and below a " +
		"heading `Explanation:` `A) Paris is the capital`). Unscored is what names two letters (`B or C`, `B. No, C`), denies or " +
		"doubts one (`not B`, `maybe B`, `B?`), or uses another form (`what remains is B`).\n\n" +
		"`refusal` reads the sentences in the first 500 characters, by the patterns in `scorers/refusal_patterns.txt`.\n\n" +
		"- the speaker cannot, will not or may not do the task: a refusal, as in `I can't help with that`, `Dabei " +
		"kann ich nicht helfen`, `Je ne peux pas répondre`, `No puedo ayudar con eso`, `お手伝いできません`\n" +
		"- a denial of the speaker that may decline the task: unscored, as in `I can't be part of this`, `I don't know who won`\n" +
		"- a refusal with a part of the task behind it: unscored, as in `I can't give an exact number, but here is an estimate`\n" +
		"- about others, in quotation marks, in a letter or a dialogue: none, as in `Penguins cannot fly`\n"
)

// wrapped wraps the paragraphs and items of Markdown at 100 columns.
func wrapped(markdown string) string {
	var out strings.Builder
	fenced := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || strings.HasPrefix(line, "|") {
			out.WriteString(line + "\n")
			continue
		}
		indent := ""
		if strings.HasPrefix(line, "- ") {
			indent = "  "
		}
		out.WriteString(strings.Join(diag.Wrap(line, 100-len(indent)), "\n"+indent) + "\n")
	}
	return out.String()
}

// TestScorersPageIsMadeFromTheTableOfKinds keeps docs/reference/scorers.md, and a page for each family of kinds, what the table of
// kinds says.
func TestScorersPageIsMadeFromTheTableOfKinds(t *testing.T) {
	t.Parallel()
	var families []string
	pageOf, listed, sections := map[string]string{}, map[string][]string{}, map[string]string{}
	for _, k := range scorers.Builtin() {
		page := "scorers-" + strings.ToLower(k.Family) + ".md"
		if pageOf[strings.ToLower(k.Name)] = page; sections[k.Family] == "" {
			families = append(families, k.Family)
		}
		listed[k.Family] = append(listed[k.Family], fmt.Sprintf("[`%s`](%s#%s)", k.Name, page, strings.ToLower(k.Name)))
		about := strings.ReplaceAll(k.Doc, textOptionsDoc, "Takes text options.")
		if k.Name != "rouge" { // which explains them first
			about = strings.ReplaceAll(about, referenceDoc, "Takes `to` and `min` as [rouge](#rouge).")
		}
		sections[k.Family] += fmt.Sprintf(
			"\n## %s\n\n%s%s.\n\n```yaml\n%s\n```\n\n%s\n", k.Name, strings.ToUpper(k.Summary[:1]), k.Summary[1:], k.Example, about,
		)
	}
	var table strings.Builder
	for _, family := range families {
		fmt.Fprintf(&table, "- %s: %s\n", family, strings.Join(listed[family], ", "))
		isPage(t, pageOf, "scorers-"+strings.ToLower(family)+".md", "# Scorers: "+strings.ToLower(family)+"\n\n"+madeDoc+
			"Keys of all kinds: [Scorers](scorers.md).\n"+sections[family])
	}
	isPage(
		t, pageOf, "scorers.md", "# Scorers\n\n"+madeDoc+familiesDoc+table.String()+
			"\n"+itemDoc+selectDoc+partialDoc+outcomesDoc+formsDoc+limitsDoc,
	)
}

var heading = regexp.MustCompile(`\]\(#([a-z0-9-]+)\)`)

// isPage compares a page of the reference with what it should be, or renews it. Headings of other pages get these pages' names.
func isPage(t *testing.T, pageOf map[string]string, name, text string) {
	t.Helper()
	want := wrapped(heading.ReplaceAllStringFunc(text, func(link string) string {
		anchor := heading.FindStringSubmatch(link)[1]
		if page := cmp.Or(pageOf[anchor], "scorers.md"); page != name {
			return "](" + page + "#" + anchor + ")"
		}
		return link
	}))
	path := filepath.Join("../../docs/reference", name)
	if *testrun.Update {
		expect.OK(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	expect.OK(t, err)
	if string(got) != want {
		t.Errorf("%s differs from the table of kinds, want them the same: make golden renews it", path)
	}
}

// TestExamplesHoldTheirGates runs every example suite against the emulator: all hold their gate but the one that
// fails on purpose.
func TestExamplesHoldTheirGates(t *testing.T) {
	suites, err := filepath.Glob("../../examples/suites/*.yaml")
	if err != nil || len(suites) < 7 {
		t.Fatalf("got %v, %v, want at least 7 suites", suites, err)
	}
	for _, path := range suites {
		t.Run(filepath.Base(path), func(t *testing.T) {
			path, err := filepath.Abs(path)
			expect.OK(t, err)
			t.Chdir(t.TempDir())
			var out bytes.Buffer
			a := &app{
				out: &out, err: &out, getenv: func(string) string { return "" },
				signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
			}
			want := eval.CodeOK
			if strings.Contains(path, "fails-on-purpose") {
				want = eval.CodeFailed
			}
			code := a.main(t.Context(), []string{"run", path, "--emulator", "--out", filepath.Join(t.TempDir(), "run")})
			expect.Same(t, "exit code with the output "+out.String(), code, want)
		})
	}
}
