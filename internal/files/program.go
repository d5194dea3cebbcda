package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// maxOutput bounds what a program may write to its standard output, in bytes, where Invocation.MaxOutput does not.
	maxOutput = 1 << 20
	// maxComplaint bounds what is kept of its standard error: the end of it.
	maxComplaint = 4 << 10
	// maxKey is more bytes than a key has; the tokens that logins get have up to 2 KiB.
	maxKey = 2 << 10
	// lingering is how long the output may stay open after the program has ended, feeding how long its input, and draining how long
	// the output when nothing of the program is left: on a busy machine other processes that are being started hold it too.
	lingering = time.Second
	feeding   = 10 * time.Second
	draining  = 30 * time.Second
)

// Invocation is a program with what it is given. It runs without a shell, with bounds on its time and on what it writes, and
// without what evalrun keeps secret. Whatever it started ends with it.
type Invocation struct {
	Path string // of the file
	Args []string
	Dir  string   // in which it runs
	Env  []string // NAME=VALUE, in addition to the environment of evalrun
	Pass []string // names of variables that evalrun keeps to itself otherwise; see environment
	Keys []string // names of variables that hold keys
	// Place is a folder that is its alone, "" for none: what runs there when it has ended is its own too.
	Place string
	// Caged says that the kernel ends what it leaves behind, which is no failure then.
	Caged bool
	// Bare leaves it the part of the environment that every program needs: PATH, the language, the time zone, the proxies.
	Bare  bool
	Input []byte
	// MaxOutput bounds its standard output in bytes; 0: maxOutput.
	MaxOutput int
	// Timeout is the longest it may run.
	Timeout time.Duration
	// Stop ends it early when it is closed. Optional.
	Stop <-chan struct{}
}

// ErrStopped is the error of a program that was ended by Invocation.Stop.
var ErrStopped = errors.New("was abandoned when the run was stopped")

// Failure is why a program gave no output.
type Failure struct {
	Err       error  // what happened, such as "ended with exit status 1"
	Complaint string // the end of its standard error
	Died      bool   // by a signal that was not evalrun's
}

func (f *Failure) Error() string {
	if f.Complaint == "" {
		return f.Err.Error() + "; its standard error is empty"
	}
	return f.Err.Error() + "; its standard error: " + f.Complaint
}

// Unwrap returns the underlying error.
func (f *Failure) Unwrap() error { return f.Err }

// Output runs the program to its end and returns what it wrote, next to an error too. The error is a *Failure.
func (c *Invocation) Output() ([]byte, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	timer := time.AfterFunc(c.Timeout, func() { cancel(late(c.Timeout)) })
	defer timer.Stop()
	go func() {
		select {
		case <-c.Stop:
			cancel(ErrStopped)
		case <-ctx.Done():
		}
	}()
	most := cmp.Or(c.MaxOutput, maxOutput)
	out := &output{most: most, full: func() { cancel(fmt.Errorf("wrote more than %d bytes", most)) }}
	complaint := &tail{}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...) //nolint:gosec // which program runs is the suite's choice
	cmd.Dir, cmd.Env = c.Dir, c.environ()
	mine := mark()
	if mine != "" {
		cmd.Env = append(cmd.Env, mine)
	}
	cmd.Stdin = bytes.NewReader(c.Input)
	cmd.WaitDelay = feeding
	ownGroup(cmd)
	runtime.LockOSThread() // the program ends with the thread that starts it
	defer runtime.UnlockOSThread()
	err := c.run(ctx, cmd, mine, out, complaint)
	if err = ended(err, context.Cause(ctx)); err != nil {
		died := cmd.ProcessState != nil && !cmd.ProcessState.Exited() && context.Cause(ctx) == nil
		return out.kept.Bytes(), &Failure{err, complaint.String(), died}
	}
	return out.kept.Bytes(), nil
}

// run runs the program until it has ended with all that it started, and its output is closed. The error is exec.ErrWaitDelay when
// something that it left running held that open.
func (c *Invocation) run(ctx context.Context, cmd *exec.Cmd, mine string, out, complaint io.Writer) error {
	outputs, err := pipes(out, complaint)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = outputs.in[0], outputs.in[1]
	err = cmd.Start()
	closeFiles(outputs.in)
	if err != nil {
		outputs.wait(draining)
		return err
	}
	err = cmd.Wait()
	open := ctx.Err() == nil && !c.Caged && !outputs.wait(lingering)
	left := endGroup(cmd) == nil // ends processes that it left running
	left = endStrays(mine, c.Place) || left
	late := !outputs.wait(draining)
	closeFiles(outputs.from)
	<-outputs.closed
	if c.Caged && errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err == nil && (late || open && left) {
		return exec.ErrWaitDelay
	}
	return err
}

// copies are pipes that are copied to writers until they are closed.
type copies struct {
	in, from []*os.File
	closed   chan struct{}
}

func pipes(to ...io.Writer) (*copies, error) {
	c := &copies{closed: make(chan struct{})}
	var copying sync.WaitGroup
	for _, w := range to {
		from, in, err := os.Pipe()
		if err != nil {
			closeFiles(c.in)
			return nil, err
		}
		c.in, c.from = append(c.in, in), append(c.from, from)
		copying.Go(func() {
			_, _ = io.Copy(w, from) // until it is closed, by either side
			_ = from.Close()
		})
	}
	go func() { copying.Wait(); close(c.closed) }()
	return c, nil
}

// wait reports whether all of them are closed within a time.
func (c *copies) wait(long time.Duration) bool {
	select {
	case <-c.closed:
		return true
	case <-time.After(long):
		return false
	}
}

func closeFiles(all []*os.File) {
	for _, one := range all {
		_ = one.Close() // of one that is closed already too
	}
}

// bareName matches the variables of Invocation.Bare. The last line is what programs on Windows need to start at all.
var bareName = regexp.MustCompile(`^(?:PATH|LANG|LANGUAGE|LC_.*|TZ|TERM|SSL_CERT_.*|(?i:[a-z]+_PROXY)|` +
	`(?i:PATHEXT|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PROCESSOR_.*|NUMBER_OF_PROCESSORS|OS))$`)

// environ is the environment of the program. Its PWD is where it runs, as programs expect.
func (c *Invocation) environ() []string {
	env := environment(os.Environ(), c.Keys, c.Pass)
	if c.Bare {
		env = slices.DeleteFunc(env, func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return !bareName.MatchString(name) && !has(c.Pass, name)
		})
	}
	if c.Dir != "" && runtime.GOOS != "windows" {
		env = append(env, "PWD="+c.Dir)
	}
	return append(env, c.Env...)
}

// ended says in words how a program ended, nil when it did as it should. cause is why it was killed, if it was.
func ended(err, cause error) error {
	var exit *exec.ExitError
	var start *os.PathError
	switch {
	case cause != nil:
		return cause
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return ExitStatus(exit.ExitCode())
	case errors.As(err, &exit):
		return fmt.Errorf("died: %s", exit.ProcessState)
	case errors.Is(err, exec.ErrWaitDelay):
		return errors.New("left a process behind that holds its output open")
	case errors.As(err, &start):
		return fmt.Errorf("cannot be started: %w", start.Err)
	}
	return fmt.Errorf("cannot be run: %w", err)
}

// ExitStatus is the error of a program that ended with a status other than 0.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("ended with exit status %d", int(s)) }

// StatusOf is the exit status by which a shell says how a command ended: 128 and more for a signal, 127 for one that is not there, and
// 126 for one that cannot be started.
func StatusOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if how, ok := exit.Sys().(syscall.WaitStatus); ok && how.Signaled() {
			return 128 + int(how.Signal())
		}
		return exit.ExitCode()
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return 127
	}
	return 126
}

type late time.Duration

func (l late) Error() string { return fmt.Sprintf("did not end within %s", time.Duration(l)) }

// Is reports that it is a timeout, by the name that package os has for one.
func (late) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// environment returns the part of an environment that programs get: all but the variables of evalrun
// (EVALRUN_...), which include its key, and those with the names in keys. Variables that pass names are
// always included.
func environment(all, keys, pass []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return IsPrivate(name, keys) && !has(pass, name)
	})
}

// IsPrivate reports whether programs do not get a variable unless the suite passes it on.
func IsPrivate(name string, keys []string) bool {
	return strings.HasPrefix(strings.ToUpper(name), "EVALRUN_") || has(keys, name)
}

// IsName reports whether a text can be the name of an environment variable.
func IsName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// has reports whether a variable is among some. Windows takes two spellings for one variable.
func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(one string) bool {
		return one == name || runtime.GOOS == "windows" && strings.EqualFold(one, name)
	})
}

// output keeps what is written, up to a number of bytes.
type output struct {
	kept bytes.Buffer // not embedded: its ReadFrom knows no bound
	most int
	full func()
}

func (o *output) Write(p []byte) (int, error) {
	if o.kept.Len()+len(p) > o.most {
		o.full()
		return len(p), nil
	}
	return o.kept.Write(p)
}

// tail keeps the end of what is written.
type tail struct {
	kept []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-maxComplaint-1):]...)
	if extra := len(t.kept) - maxComplaint; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string {
	text := strings.ToValidUTF8(string(t.kept), "\ufffd")
	if !t.cut {
		return strings.TrimSpace(text)
	}
	// It begins inside a word, which may be a key: the rest of one is not known as such. Where all is one word, what is longer than
	// a key goes.
	if rest := strings.TrimSpace(afterWord(text)); rest != "" {
		return "…" + rest
	}
	return "…" + strings.TrimSpace(strings.ToValidUTF8(string(t.kept[maxKey:]), "\ufffd"))
}

// afterWord is a text without its first word, which ends at a space, a quote or a character that no key has.
func afterWord(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' })
	if end < 0 {
		return ""
	}
	return text[end:]
}

// ReservedName matches names that Windows reads as devices, with any extension.
var ReservedName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\.|$)`)

// PlainLines is a text whose lines end in a line feed alone: git may have changed that.
func PlainLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
