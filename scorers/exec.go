package scorers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

func execKind() Kind {
	return Kind{
		Name: "exec", Version: 2, Summary: "a program of your own scores the answer",
		Doc: "Takes a list of the program and its arguments, the program alone, or `{command, args, timeout, env, result, " +
			"verifier}`. `./check.sh` is an executable file of the project; a name without a slash is looked up in PATH. There is " +
			"no shell. The program runs in the suite's folder, once for each answer.\n\n" +
			"- Standard input is a JSON object with `version` (1), `answer` and other keys; standard output is true, false, a " +
			"number from 0 to 1, or `{\"score\": 0.8, \"passed\": true, \"reason\": \"...\"}`. `evalrun help " +
			"program-protocol#scorers` has all rules.\n" +
			"- It must end with exit status 0 within `timeout` (10s; at most 10m) and write at most 1 MiB, else the trial is an " +
			"error of kind `scorer`.\n" +
			"- Its environment has no keys and no `EVALRUN_` variables. `env` adds names with values, or lists private variables " +
			"to pass on.\n" +
			"- `result: exit` takes the exit status instead: 0 passes, 1 fails, and any other one, or a signal, is unscored. " +
			"`result: {junit: report.xml}` takes the share of the tests in that file that pass; all must, or a `threshold` " +
			"decides. The last lines and the tests that failed are the reason, and the output may have 16 MiB.\n" +
			"- `verifier: tests` is a folder of the project. The program runs in a copy of the workspace that an agent left, with " +
			"this folder over it and without links that lead out of it, or to what this folder has. A file that the command names " +
			"is the verifier's or the suite's. Python finds modules of the agent's last, and only where a file of the workspace or " +
			"the command names them.\n\n" +
			"Files of the project that the command names are a part of the scorer. With `--untrusted` it needs `--allow program`.",
		Example: "- exec: {command: [./check.sh, --strict], timeout: 5s}",
		takes:   yaml.Either(texts(), execKeys().Shape()), compile: compileExec,
	}
}

// maxReason bounds the reason that a program gives, in bytes.
const maxReason = 4 << 10

// execInput is the input of a program. Fields are only ever added, and the first two stay first: a line of sed
// finds the answer.
type execInput struct {
	Version        int                  `json:"version"`
	Answer         string               `json:"answer"`
	Candidate      int                  `json:"candidate"`
	FinishReason   string               `json:"finishReason"`
	SafetyRatings  []eval.SafetyRating  `json:"safetyRatings"`
	Candidates     []eval.Candidate     `json:"candidates"`
	PromptFeedback *eval.PromptFeedback `json:"promptFeedback,omitempty"`
	Suite          string               `json:"suite,omitempty"`
	Case           string               `json:"case,omitempty"`
	Arm            string               `json:"arm,omitempty"`
	Model          string               `json:"model,omitempty"`
	Repeat         int                  `json:"repeat,omitempty"`
	Vars           eval.Dict            `json:"vars"`
	Request        *eval.Request        `json:"request,omitempty"`
	Usage          *eval.Usage          `json:"usage"`
	Timing         *eval.Timing         `json:"timing"`
	Args           json.RawMessage      `json:"args,omitempty"`
	ToolCalls      []execCall           `json:"toolCalls"`
	Steps          int                  `json:"steps"`
	Calls          []eval.AnsweredCall  `json:"turns,omitempty"`
	Workspace      string               `json:"workspace,omitempty"`
}

// execCall is a tool call in a program's input; arguments are always present.
type execCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func execCalls(calls []eval.FunctionCall) []execCall {
	out := make([]execCall, len(calls))
	for i, c := range calls {
		out[i] = execCall{c.Name, c.Args}
		if len(c.Args) == 0 {
			out[i].Args = json.RawMessage("{}")
		}
	}
	return out
}

type execScorer struct {
	path, shown string // shown is the path as the suite writes it
	gone        error  // why the program has disappeared since it was compiled, else nil
	command     files.Invocation
	hidden      *wire.Secrets // values that the program gets and reasons must not show
	args        json.RawMessage
	result      string // resultJSON, resultExit, or "" when report counts
	report      string // the JUnit file that the program writes
	verifier    verifier
}

var execKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"command"},
		Keys: []yaml.Key{
			{Name: "command", Is: texts(), Doc: "The program and its arguments."},
			{Name: "args", Is: yaml.Any, Doc: "What the program gets as `args` in its input."},
			{Name: "timeout", Is: yaml.Duration, Doc: "How long it may take: 10s when not given, at most 10m."},
			{
				Name: "env",
				Is:   yaml.Either(yaml.MapShape(yaml.Text), yaml.List(yaml.Text)),
				Doc:  "Variables of its environment, or names of private variables that it gets nevertheless.",
			},
			{
				Name: "result",
				Is: yaml.Either(yaml.Word(resultJSON, resultExit), yaml.Block{
					Need: []string{"junit"},
					Keys: []yaml.Key{{Name: "junit", Is: yaml.Text, Doc: "The report's file, such as report.xml."}},
				}.Shape()),
				Doc: "Where the result is: in what it prints (json), in its exit status (exit), or in the report of its tests.",
			},
			{
				Name: "verifier", Is: yaml.Text,
				Doc: "A folder of the suite's folder. It is copied over a copy of the workspace, in which the program then runs.",
			},
		},
	}
})

func compileExec(a args) AnswerScorer {
	if a.Suite != nil {
		if why, hint := a.Suite.RefusesPrograms(); why != "" {
			a.Entry.Key(a.Kind).Errorf(hint, "%s", why)
			return nil
		}
	}
	x := execScorer{
		command: files.Invocation{Timeout: suite.CommandTime(yaml.Node{})}, hidden: wire.NewSecrets(), result: resultJSON,
	}
	command := a.Args
	if a.Args.IsMapping() {
		m := a.Args.Map(execKeys().Names()...)
		command = m.Need("command")
		x.read(m, a.Suite)
	}
	if command.IsZero() {
		return nil
	}
	c := a.Suite.NewCommand(command, a.Kind)
	if c == nil {
		return nil
	}
	x.shown, x.command.Args, x.command.Dir = c.Words[0], c.Words[1:], c.Dir
	x.path, x.gone = c.Path, c.Gone
	if x.verifier.name != "" {
		x.command.Args = x.verifier.found(x.command.Args)
	}
	identity := c.Identity
	if x.verifier.name != "" {
		identity += " " + x.verifier.digest
	}
	a.needs.Programs = append(a.needs.Programs, identity)
	return x
}

// read reads the options next to the command.
func (x *execScorer) read(m yaml.Map, s *suite.Suite) {
	if v := m.Get("args"); !v.IsZero() {
		x.args = v.JSON(nil)
	}
	x.command.Timeout = suite.CommandTime(m.Get("timeout"))
	if v := m.Get("result"); !v.IsZero() {
		x.result, x.report = readResult(v)
	}
	x.verifier = readVerifier(m.Get("verifier"), s)
	if v := m.Get("env"); v.IsSequence() {
		x.command.Pass = s.PassedVariables(v)
		x.hidden = wire.OfVariables(x.command.Pass)
	} else {
		x.command.Env = environment(v.Map())
	}
}

func environment(m yaml.Map) []string {
	var out []string
	for e := range m.Entries() {
		if !files.IsName(e.Name()) {
			e.Key.Errorf("letters, digits and `_` are allowed", "`%s` is not the name of an environment variable", e.Name())
		}
		if text := textOf(e.Value); strings.ContainsRune(text, 0) {
			e.Value.Errorf("remove it", "an environment variable cannot hold a zero byte")
		} else {
			out = append(out, e.Name()+"="+text)
		}
	}
	return out
}

// Score runs the program.
func (x execScorer) Score(a *Answer) Finding {
	if x.gone != nil {
		return Broken("the program cannot be run any more: %s", x.gone)
	}
	if x.path == "" {
		return Unscored("the program %s cannot be run: the suite does not come from a folder", quote(x.shown))
	}
	input, err := wirejson.Marshal(x.input(a))
	if err != nil { // it was decoded from JSON
		return Broken("%s", err)
	}
	command := x.command
	input = append(input, '\n')
	command.Path, command.Input = x.path, input
	if a.Context != nil {
		command.Stop, command.Keys = a.Context.Abandoned, a.Context.Keys
	}
	if x.verifier.name != "" {
		at, remove, err := x.verifier.place(workspaceOf(a), command.Env)
		if err != nil {
			return Broken("the program %s cannot run: %s", quote(x.shown), err)
		}
		defer remove()
		command.Dir, command.Env = at.dir, slices.Concat(command.Env, at.env)
	}
	if x.report != "" {
		command.MaxOutput = maxTestOutput
		return x.byReport(&command)
	}
	if x.result == resultExit {
		command.MaxOutput = maxTestOutput
		return x.byExit(command.Output())
	}
	return x.byOutput(command.Output())
}

func (x execScorer) byOutput(out []byte, err error) Finding {
	if err != nil {
		hint := ""
		if status := files.ExitStatus(0); errors.As(err, &status) && status == 1 {
			hint = didYouMeanExit
		}
		return Broken("the program %s %s%s", quote(x.shown), x.hidden.OutOf(err.Error()), hint)
	}
	out = x.hidden.OutOfAnswer(out)
	f, err := readFinding(out)
	if err != nil {
		hint := ""
		if errors.Is(err, errNothing) || errors.Is(err, errNotJSON) {
			hint = didYouMeanExit
		}
		return Broken("the program %s wrote something that is not a result: %s: %s%s", quote(x.shown), err, quote(string(out)), hint)
	}
	if f.Reason == "" {
		f.Reason = fmt.Sprintf("%s says %g", quote(x.shown), f.value)
	}
	return f
}

func (x execScorer) input(a *Answer) *execInput {
	in := &execInput{
		Version: 1, Candidate: a.Index, SafetyRatings: []eval.SafetyRating{}, Candidates: a.Response.Candidates,
		PromptFeedback: a.Response.PromptFeedback,
		Vars:           a.Vars, Request: a.Request, Usage: &a.Usage, Timing: &a.Timing, Args: x.args,
		ToolCalls: execCalls(a.toolCalls()), Steps: a.stepCount(), Calls: a.Calls,
	}
	if in.Candidates == nil {
		in.Candidates = []eval.Candidate{}
	}
	if c := a.Candidate; c != nil {
		in.Answer, in.FinishReason = c.Text, c.FinishReason
		in.SafetyRatings = append(in.SafetyRatings, c.SafetyRatings...)
	}
	if in.Vars == nil {
		in.Vars = eval.Dict{}
	}
	if a.Context != nil {
		t := &a.Context.Trial
		in.Suite, in.Case, in.Arm, in.Model, in.Repeat = t.Suite, t.Case, t.Arm, t.Model, t.Repeat
		in.Workspace = a.Context.Workspace
	}
	return in
}

// didYouMeanExit helps with programs that were written for their exit status.
const didYouMeanExit = " (did you mean `result: exit`, where 0 passes and 1 fails?)"

var (
	errNothing = errors.New("nothing at all")
	errNotJSON = errors.New("it is not JSON")
)

func workspaceOf(a *Answer) string {
	if a.Context == nil {
		return ""
	}
	return a.Context.Workspace
}

func readFinding(out []byte) (Finding, error) {
	reply, err := readReport(out)
	if err != nil {
		return Finding{}, err
	}
	reason := ""
	if reply.Reason != nil {
		reason = shortened(*reply.Reason)
	}
	switch score := string(reply.Score); {
	case score == "null" && reply.object:
		return Unscored("%s", cmp.Or(reason, "the program gave no score")), nil
	case score == "" && reply.Passed == nil:
		return Finding{}, errors.New("it has no `score`")
	case score == "":
		return Graded(truth(*reply.Passed), *reply.Passed, "%s", reason), nil
	}
	f, err := readScore(reply.Score)
	if reply.Passed != nil {
		f.state = stateOf(*reply.Passed)
	}
	f.Reason = reason
	return f, err
}

// programReport is the output of a program: an object, or a bare score.
type programReport struct {
	Score  json.RawMessage `json:"score"`
	Passed *bool           `json:"passed"`
	Reason *string         `json:"reason"`
	object bool
}

func readReport(out []byte) (result programReport, err error) {
	if len(bytes.TrimSpace(out)) == 0 {
		return result, errNothing
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return result, errNotJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return result, errors.New("there is more than one JSON value")
	}
	if value[0] != '{' {
		return programReport{Score: value}, nil
	}
	result.object = true
	fields, bad := readObject(string(value))
	if bad != nil {
		return result, errors.New(bad.why)
	}
	seen := map[string]bool{} // whatever the case of letters, which Unmarshal does not tell apart
	for key := range fields {
		if key = strings.ToLower(key); seen[key] {
			return result, fmt.Errorf("it has the key %s twice", quote(key))
		}
		seen[key] = true
	}
	if err := json.Unmarshal(value, &result); err != nil {
		return result, errors.New("`passed` is true or false, and `reason` a text")
	}
	return result, nil
}

// readScore reads true, false or a number from 0 to 1; only 1 passes.
func readScore(raw json.RawMessage) (Finding, error) {
	var score any
	if err := json.Unmarshal(raw, &score); err != nil {
		return Finding{}, errors.New("the score is not a number that can be read")
	}
	switch v := score.(type) {
	case bool:
		return Graded(truth(v), v, ""), nil
	case float64:
		if v < 0 || v > 1 || math.IsNaN(v) {
			return Finding{}, fmt.Errorf("the score %g is not between 0 and 1", v)
		}
		return Graded(v, v >= 1-1e-9, ""), nil
	}
	return Finding{}, errors.New("the score is neither true nor false nor a number")
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// shortened bounds the reason that a program gives.
func shortened(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "") + "..."
}
