package suite

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Programs says where the output of programs that write prompts and cases comes from. The zero Programs runs none, and the suite is
// incomplete then; see Suite.Missing.
type Programs struct {
	// Run runs the programs whose output Read has not found.
	Run bool
	// Takes selects the prompts that are written. nil: all.
	Takes func(*Case, Arm) bool
	// Keys are names of variables that hold keys. Programs do not get them.
	Keys []string
	// Stop ends the programs when it is closed. Optional.
	Stop <-chan struct{}

	kept    map[outputKey]string // nil without Read
	problem error                // with Read
}

// Read takes the output that a run directory has, from the copies of the suite in it.
func (p *Programs) Read(copies fs.FS) {
	p.kept = map[outputKey]string{}
	if p.problem = readOutputs(copies, p.kept); p.problem != nil {
		p.problem = fmt.Errorf("%s of the run cannot be read: %w", OutputsFile, p.problem)
	}
}

func (p *Programs) takes(c *Case, arm Arm) bool { return p.Takes == nil || p.Takes(c, arm) }

// OutputsFile is the name of the copy with the output of programs in a run directory. No file of a suite has it.
const OutputsFile = ".programs.jsonl"

// maxOutputs bounds the output of all programs of a suite together, in bytes.
const maxOutputs = 256 << 20

// outputKey identifies what a program was run for.
type outputKey struct {
	Prompt string `json:"prompt"`
	Target string `json:"target"`
	Input  string `json:"input"` // SHA-256
}

func (k outputKey) compare(o outputKey) int {
	return cmp.Or(cmp.Compare(k.Prompt, o.Prompt), cmp.Compare(k.Target, o.Target), cmp.Compare(k.Input, o.Input))
}

// outputs is what programs wrote. Several goroutines may use it.
type outputs struct {
	mu   sync.Mutex
	kept map[outputKey]string // in the run directory
	used map[outputKey]string
	size int // of used, in bytes
}

type output struct {
	outputKey
	Output string `json:"output"`
}

func readOutputs(copies fs.FS, to map[outputKey]string) error {
	file, err := copies.Open(OutputsFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer file.Close()                                                         //nolint:errcheck // it was only read
	in := json.NewDecoder(bufio.NewReader(io.LimitReader(file, 8*maxOutputs))) // escapes make it longer
	for {
		var one output
		switch err := in.Decode(&one); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		to[one.outputKey] = one.Output
	}
}

// get returns the output of a program; false when there is none.
func (o *outputs) get(key outputKey) (text string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text, ok = o.used[key]; ok {
		return text, true
	}
	if text, ok = o.kept[key]; ok {
		_ = o.put(key, text) // it was within the limit then
	}
	return text, ok
}

func (o *outputs) add(key outputKey, text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.put(key, text)
}

func (o *outputs) put(key outputKey, text string) error {
	if o.size+len(text) > maxOutputs {
		return fmt.Errorf("the programs of the suite wrote more than %d bytes together", maxOutputs)
	}
	if o.used == nil {
		o.used = map[outputKey]string{}
	}
	o.used[key] = text
	o.size += len(text)
	return nil
}

// each yields the output in use, in an order that does not depend on when programs ended.
func (o *outputs) each(yield func(outputKey, string) bool) {
	keys := make([]outputKey, 0, len(o.used))
	for key := range o.used {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, outputKey.compare)
	for _, key := range keys {
		if !yield(key, o.used[key]) {
			return
		}
	}
}

// file is the content of OutputsFile; nil without output.
func (o *outputs) file() []byte {
	var out bytes.Buffer
	for key, text := range o.each {
		line, _ := wirejson.Marshal(output{key, text}) // texts always encode
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// Written returns what the programs of the suite wrote, as a run directory keeps it; nil without programs.
func (s *Suite) Written() []byte { return s.files.texts[OutputsFile] }

// keepOutputs makes the output of programs a file of the suite, which goes into its copy and hash.
func (s *Suite) keepOutputs() {
	if data := s.outputs.file(); len(data) > 0 {
		s.files.texts[OutputsFile] = data
	}
}

// Unwritten is what programs that did not run would have written.
type Unwritten struct {
	Prompts int // each for a case on an arm
	Lists   int // of cases
}

// Unwritten returns what the suite lacks because its programs did not run.
func (s *Suite) Unwritten() Unwritten { return s.unwritten }

// Add adds what another suite lacks.
func (u *Unwritten) Add(other Unwritten) {
	u.Prompts += other.Prompts
	u.Lists += other.Lists
}

func (u Unwritten) String() string {
	prompts, lists := diag.Count(u.Prompts, "prompt"), diag.Count(u.Lists, "list")+" of cases"
	switch {
	case u.Lists == 0 && u.Prompts == 1, u.Prompts == 0 && u.Lists == 1:
		return map[bool]string{true: prompts, false: lists}[u.Lists == 0] + " comes from a program"
	case u.Lists == 0:
		return prompts + " come from a program"
	case u.Prompts == 0:
		return lists + " come from programs"
	}
	return prompts + " and " + lists + " come from programs"
}

// ErrUnwritten is the error of Suite.Render for a prompt whose program did not run.
var ErrUnwritten = errors.New("its program did not run")

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// cellsOfPrograms yields each selected case on each arm whose prompt a program writes.
func (s *Suite) cellsOfPrograms() iter.Seq2[*Case, Arm] {
	return func(yield func(*Case, Arm) bool) {
		if !slices.ContainsFunc(s.Prompts, func(p *Prompt) bool { return p.generator != nil }) {
			return
		}
		for c := range s.Cases() {
			for _, arm := range c.Arms {
				if arm.Prompt.generator != nil && s.opts.Programs.takes(c, arm) && !yield(c, arm) {
					return
				}
			}
		}
	}
}

// writePrompts runs the programs that write prompts, once for each case and arm, and checks what they wrote.
func (l *loader) writePrompts() {
	with := &l.opts.Programs
	if l.diags.HasErrors() || with.kept == nil && !with.Run {
		return
	}
	if with.Run && !l.runPrograms() {
		return
	}
	l.unwritten.Prompts = 0
	for c, arm := range l.cellsOfPrograms() {
		_, key := c.promptInput(arm)
		if _, ok := l.outputs.get(key); !ok {
			l.unwritten.Prompts++
			continue
		}
		l.checkPrompt(c, arm)
		if p := l.written(c, arm, l.diags); p != nil {
			l.checkArm(Arm{Target: arm.Target, Prompt: p})
		}
		if l.diags.Len() >= maxBadRows && l.diags.HasErrors() {
			return
		}
	}
}

type failedProgram struct {
	n   int // the place of its case and arm
	c   *Case
	arm Arm
	err error
}

// runPrograms runs the programs that write prompts, as many at once as there are processors. After a failure it starts no more,
// and reports the first one in the order of the suite.
func (l *loader) runPrograms() (fine bool) {
	with := &l.opts.Programs
	var mu sync.Mutex
	var first *failedProgram
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return first != nil
	}
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	begun := map[outputKey]bool{}
	var running sync.WaitGroup
	at := 0
	for c, arm := range l.cellsOfPrograms() {
		input, key := c.promptInput(arm)
		if _, known := l.outputs.get(key); known || begun[key] {
			continue
		}
		begun[key] = true
		room <- struct{}{}
		if failed() {
			break
		}
		at++
		n := at
		running.Go(func() {
			defer func() { <-room }()
			text, err := arm.Prompt.generator.run(input, with)
			if err == nil {
				err = l.outputs.add(key, text)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && (first == nil || n < first.n) {
				first = &failedProgram{n, c, arm, err}
			}
		})
	}
	running.Wait()
	switch {
	case first == nil:
	case errors.Is(first.err, files.ErrStopped):
		l.diags.Errorf(first.arm.Prompt.generator.node.Pos(), "", "the programs that write prompts were stopped")
	default:
		l.diags.Errorf(
			first.arm.Prompt.generator.node.Pos(), "", "case `%s` on the arm %s: %s", first.c.Name, first.arm.Name(), first.err,
		)
	}
	return first == nil
}
