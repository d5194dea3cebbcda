package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/proxy"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// maxProgramOutput bounds the standard output of a program under test, in bytes.
const maxProgramOutput = wire.MaxResponseBytes

// ProgramConfig configures a program under test.
type ProgramConfig struct {
	Shown   string        // as messages name it
	Path    string        // of its file; "" when this machine has none
	Env     []string      // names of private variables that it may read
	Keys    []string      // names of variables with API keys, which it must not get
	Timeout time.Duration // for one call
	Late    bool          // what is there when the time is up is an answer
	Reading eval.Reading  // of the output; zero for the forms that every program may write
	// Place prepares the invocation of a call, with other arguments than those of the suite unless they are nil; its error is
	// for people.
	Place func(call *eval.Call, args []string) (*Place, error)
}

// Place is where a program runs for a call.
type Place struct {
	files.Invocation // without input, output and time
	// Calls are those of models that the program makes; nil: it can make none that are counted.
	Calls *proxy.Trial
	// Leave ends what Place began, and says whether the program could have seen the answers. out is what it wrote.
	Leave func(out []byte) (eval.Integrity, error)
}

// ProgramClient runs a program once per call.
type ProgramClient struct {
	cfg    ProgramConfig
	hidden *wire.Secrets // masks the values of Env
	read   *Reader       // nil without a Reading
}

// NewProgram returns a Program. It starts nothing.
func NewProgram(cfg ProgramConfig) *ProgramClient {
	out := &ProgramClient{cfg: cfg, hidden: wire.OfVariables(cfg.Env)}
	if cfg.Reading != (eval.Reading{}) {
		out.read = NewReader(cfg.Reading)
	}
	return out
}

// prepare makes the input of the program and the place in which it runs.
func (p *ProgramClient) prepare(call *eval.Call) (input []byte, place *Place, err error) {
	sent, err := call.To.Render(&eval.Input{
		Vars:     call.Vars,
		System:   call.System,
		Messages: wire.Messages(call.Contents),
		Trial:    call.TrialName,
		Attempt:  call.Timing.Attempts,
	})
	if err != nil {
		return nil, nil, eval.Errorf(eval.KindProgram, "the input of the program %q cannot be made: %s", p.cfg.Shown, err)
	}
	run, ok := sent.Payload.(*eval.ProgramRun)
	if !ok {
		return nil, nil, fmt.Errorf("the request is %T, and not one for a program", sent.Payload)
	}
	if p.cfg.Path == "" {
		return nil, nil, eval.Errorf(eval.KindProgram, "the program %q cannot be run: the suite does not come from a folder", p.cfg.Shown)
	}
	place, err = p.cfg.Place(call, run.Args)
	var known *eval.Error
	switch {
	case errors.As(err, &known):
		return nil, nil, known
	case err != nil:
		return nil, nil, eval.Errorf(eval.KindProgram, "the program %q cannot be run: %s", p.cfg.Shown, err)
	}
	return run.Input, place, nil
}

// Generate runs the program once. When ctx is done, it ends the program and every process that it started.
func (p *ProgramClient) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	input, place, err := p.prepare(call)
	if err != nil {
		return nil, err
	}
	command := place.Invocation
	command.Pass, command.Keys, command.Input = p.cfg.Env, p.cfg.Keys, slices.Concat(input, []byte("\n"))
	command.MaxOutput, command.Timeout = maxProgramOutput, p.cfg.Timeout
	running, end := context.WithCancel(ctx)
	defer end()
	if place.Calls != nil {
		place.Calls.WhenOver(end)
	}
	command.Stop = running.Done()
	began := time.Now()
	out, err := command.Output()
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(began))
	made, over := p.made(place.Calls)
	var left error
	if call.Timing.Integrity, left = place.Leave(out); call.Timing.Integrity == eval.Tainted {
		const message = "the program %q looked for the right answers: it gave away what only a decoy of them holds"
		return nil, with(made, eval.Errorf(eval.KindTainted, message, p.cfg.Shown))
	}
	if over != nil && ctx.Err() == nil {
		err = over
	}
	if limit := limitOf(err); p.cfg.Late && limit != "" {
		call.Timing.Limit, err = limit, nil
	}
	switch {
	case err != nil:
		return nil, with(made, p.failed(err))
	case left != nil:
		return nil, with(made, eval.Errorf(eval.KindProgram, "what the program %q left cannot be kept: %s", p.cfg.Shown, left))
	}
	resp, err := p.response(out, call.Timing.Limit)
	if err != nil {
		return nil, with(made, eval.AsError(err))
	}
	if resp.Calls = made; len(made) > 0 {
		resp.Usage = proxy.Usage(made)
		resp.Exchanges = place.Calls.Exchanges()
	}
	return resp, nil
}

// overLimit is why a program was ended that had made its calls.
type overLimit struct {
	limit, why string
	none       bool // it had made none: a budget of the run was spent before
}

func (o *overLimit) Error() string { return o.why }

// limitOf is the limit that ended a program, "" if another error did.
func limitOf(err error) string {
	var over *overLimit
	switch {
	case errors.As(err, &over) && !over.none:
		return over.limit
	case errors.Is(err, os.ErrDeadlineExceeded):
		return eval.LimitTime
	}
	return ""
}

// made ends the calls of a program and returns them, and what limit they have reached, nil for none.
func (p *ProgramClient) made(trial *proxy.Trial) ([]eval.ModelCall, error) {
	if trial == nil {
		return nil, nil
	}
	made := trial.Close()
	for i := range made {
		p.unshownCall(&made[i])
	}
	if miss := trial.Miss(); miss != nil {
		return made, miss
	}
	if limit, why := trial.Limit(); limit != "" {
		return made, &overLimit{limit, why, len(made) == 0}
	}
	return made, nil
}

func (p *ProgramClient) response(out []byte, limit string) (*eval.Response, error) {
	resp, err := p.readOutput(out)
	switch {
	case limit == "":
	case p.read != nil && p.read.stream:
		resp, err = p.read.lines(out, p.hidden).sofar(), nil
	case len(bytes.TrimSpace(out)) == 0:
		resp, err = new(answer).response(), nil
	case err != nil: // it may end anywhere
		resp, err = (&answer{text: strings.ToValidUTF8(string(out), "\ufffd")}).response(), nil
	}
	if err != nil {
		return nil, unshownError(err, p.hidden)
	}
	return unshown(resp, p.hidden), nil
}

// unshownCall masks secrets in what a program said to a model.
func (p *ProgramClient) unshownCall(c *eval.ModelCall) {
	if c.Response != nil {
		c.Response = unshown(c.Response, p.hidden)
	}
	for i := range c.Results {
		c.Results[i].Text = p.hidden.OutOfText(c.Results[i].Text)
	}
}

// with adds the calls that a program made to the error in which it ended.
func with(made []eval.ModelCall, e *eval.Error) *eval.Error {
	if len(made) == 0 {
		return e
	}
	out := *e
	kept := eval.Response{Candidates: []eval.Candidate{}}
	if e.Answer != nil {
		kept = *e.Answer
	}
	kept.Calls, kept.Usage = made, proxy.Usage(made)
	out.Answer = &kept
	return &out
}

// readOutput reads the output of a program by the expressions of the suite, or in one of the forms that every program may write.
func (p *ProgramClient) readOutput(out []byte) (*eval.Response, error) {
	switch {
	case p.read == nil:
		a, err := readOutput(out, p.hidden)
		if err != nil {
			return nil, err
		}
		return a.response(), nil
	case len(bytes.TrimSpace(out)) == 0:
		return nil, eval.Errorf(eval.KindMalformed, "the program wrote nothing")
	case !p.read.stream:
		out = p.hidden.OutOfAnswer(bytes.TrimPrefix(out, bom))
		resp, err := p.read.body(out, "")
		if e := eval.AsError(err); e != nil && e.Kind == eval.KindTruncated { // the program has ended by itself
			return nil, eval.Errorf(eval.KindMalformed, "what the program wrote ends before its JSON does: %s", wire.Excerpt(out))
		}
		return resp, err
	}
	a := p.read.lines(out, p.hidden)
	if a.broken != nil {
		return nil, a.broken
	}
	return a.response()
}

// bom is the mark with which some programs begin a text.
var bom = []byte("\xEF\xBB\xBF")

func (p *ProgramClient) failed(err error) *eval.Error {
	kind := eval.KindProgram
	var over *overLimit
	var miss *eval.Error
	switch {
	case errors.As(err, &miss):
		return miss
	case errors.As(err, &over) && over.none:
		return eval.Errorf(eval.KindBudget, "%s", over.why)
	case errors.As(err, &over):
		e := eval.Errorf(kind, "the program %q was ended at a limit: %s", p.cfg.Shown, over.why)
		e.Retry = eval.RetryNever
		return e
	case errors.Is(err, files.ErrStopped):
		kind = eval.KindCanceled
	case errors.Is(err, os.ErrDeadlineExceeded):
		kind = eval.KindTimeout
	}
	return eval.Errorf(kind, "the program %q %s", p.cfg.Shown, p.hidden.OutOf(err.Error()))
}

// outputKeys make an object an answer. An object without any of them is the text of the answer.
var outputKeys = []string{"text", "toolCalls", "usage", "error", "finishReason"}

// readOutput reads an object with one of outputKeys, or else a text, without line breaks at its end.
func readOutput(out []byte, hidden *wire.Secrets) (*answer, error) {
	out = bytes.TrimPrefix(out, bom)
	switch {
	case len(bytes.TrimSpace(out)) == 0:
		return nil, eval.Errorf(eval.KindMalformed, `the program wrote nothing; an answer without words is {"text": ""}`)
	case bytes.TrimSpace(out)[0] == '{' && wirejson.Deeper(out, wirejson.MaxDepth): // whether it is an answer cannot be read
		return nil, eval.Errorf(
			eval.KindMalformed, "what the program wrote nests deeper than %d levels: %s",
			wirejson.MaxDepth, wire.Excerpt([]byte(hidden.OutOf(string(out)))),
		)
	case !utf8.Valid(out):
		return nil, eval.Errorf(
			eval.KindMalformed, "what the program wrote is not UTF-8: %s", wire.Excerpt([]byte(hidden.OutOf(string(out)))),
		)
	}
	f, isAnswer := objectOf(out)
	if err := misspelled(f); err != nil {
		return nil, err
	}
	if isAnswer {
		return readAnswer(hidden.OutOfAnswer(out))
	}
	return &answer{text: strings.TrimRight(string(out), "\r\n")}, nil
}

// objectOf returns nil for anything but an object. isAnswer says that it has one of outputKeys.
func objectOf(out []byte) (f wire.Fields, isAnswer bool) {
	if bytes.TrimSpace(out)[0] != '{' || json.Unmarshal(out, &f) != nil {
		return nil, false
	}
	for _, key := range outputKeys {
		if _, ok := f[key]; ok {
			return f, true
		}
	}
	return f, false
}

// unknown returns an error for a key that is not read: what a program says of its answer is not dropped in silence.
func unknown(f wire.Fields, at string, keys ...string) error {
	for _, found := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(keys, found) {
			const message = "%s has the key %q, which is not read; its keys are %s"
			return eval.Errorf(eval.KindMalformed, message, at, found, strings.Join(keys, ", "))
		}
	}
	return nil
}

func unknownInCalls(raw json.RawMessage) error {
	var calls []wire.Fields
	_ = json.Unmarshal(raw, &calls) // readCalls reports what is no list of objects
	for i, call := range calls {
		if err := unknown(call, fmt.Sprintf("`toolCalls[%d]` in the answer", i), "name", "args", "id"); err != nil {
			return err
		}
	}
	return nil
}

// misspelled returns an error for an object with a key such as `tool_calls`. If it were read as a text, or
// the key were ignored, the answer would have no calls, and the scorer `toolCalls: none` would pass.
func misspelled(f wire.Fields) error {
	for _, found := range slices.Sorted(maps.Keys(f)) {
		for _, key := range outputKeys {
			if found != key && strings.EqualFold(strings.NewReplacer("_", "", "-", "").Replace(found), key) {
				const message = `the answer has the key %q; write %q, or the whole object as {"text": "..."}`
				return eval.Errorf(eval.KindMalformed, message, found, key)
			}
		}
	}
	return nil
}

func readAnswer(raw []byte) (a *answer, err error) {
	f := wire.Fields{}
	if err := wire.Decode(raw, &f); err != nil { // it may have too many values or levels
		return nil, err
	}
	if said := errorOf(f["error"]); said != "" {
		return nil, saidError(said)
	}
	if err := unknown(f, "the answer", outputKeys...); err != nil {
		return nil, err
	}
	a = &answer{text: textOf(f["text"]), reason: textOf(f["finishReason"])}
	if len(f) > 1 || isNull(f["text"]) {
		a.raw = compact(raw)
	}
	if _, listed := f["toolCalls"]; isNull(f["text"]) && !listed && a.reason == "" {
		return nil, eval.Errorf(eval.KindMalformed, "the answer has neither `text` nor `toolCalls`: %s", wire.Excerpt(raw))
	}
	var inCalls, inUsage error
	a.calls, inCalls = readCalls(f["toolCalls"])
	a.usage, inUsage = readUsage(f["usage"])
	return a, cmp.Or(inCalls, inUsage, unknownInCalls(f["toolCalls"]))
}

// maxSaid bounds how much of an application's message an error quotes, in code points.
const maxSaid = 1000

func saidError(said string) error {
	if utf8.RuneCountInString(said) > maxSaid {
		said = string([]rune(said)[:maxSaid]) + "..."
	}
	return eval.Errorf(eval.KindApp, "the application says: %s", said)
}
