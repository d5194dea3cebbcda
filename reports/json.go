package reports

import (
	"bufio"
	"io"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/journal"
)

// jsonVersion is the version of the JSON report.
const jsonVersion = 1

type jsonHead struct {
	Version int         `json:"version"`
	Run     jsonRun     `json:"run"`
	Summary jsonSummary `json:"summary"`
	Arms    []jsonArm   `json:"arms"`
	Gate    eval.Gate   `json:"gate"`
	// Comparison is with the baseline of the gate.
	Comparison *compare.Comparison `json:"comparison,omitempty"`
}

type jsonRun struct {
	eval.Run
	FinishedAt  string         `json:"finishedAt,omitempty"`
	Reason      eval.EndReason `json:"reason,omitempty"`
	Message     string         `json:"message,omitempty"`
	Interrupted bool           `json:"interrupted"`
	Partial     bool           `json:"partial"`
	Damaged     []string       `json:"damaged,omitempty"`
	Spent       *eval.Spent    `json:"spent,omitempty"`
}

type jsonSummary struct {
	Trials int `json:"trials"`
	eval.Counts
	PassRate *float64 `json:"passRate"`
	// Cut counts answers that are not whole: they reached their limit of tokens, or were blocked after some text.
	Cut     jsonCut            `json:"cut"`
	Tokens  journal.Tokens     `json:"tokens"`
	Judging *judging           `json:"judging,omitempty"` // what judges were asked; no part of tokens
	Cases   journal.CaseCounts `json:"cases"`
}

type jsonCut struct {
	MaxTokens int `json:"maxTokens"`
	Blocked   int `json:"blocked"`
}

type jsonArm struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	eval.Counts
	PassRate      *float64              `json:"passRate"`
	Interval      *[2]float64           `json:"interval"`
	Level         float64               `json:"level"`
	Tokens        journal.Tokens        `json:"tokens"`
	MeanLatencyMs float64               `json:"meanLatencyMs"`
	Metrics       map[string]jsonMetric `json:"metrics"`
	Repeats       *repeats              `json:"repeats,omitempty"` // of cases that were judged more than once
	// What is under test, in runs that say so.
	Target   string    `json:"target,omitempty"`
	Model    string    `json:"model,omitempty"`
	Version  string    `json:"version,omitempty"` // of the model
	Sampling *sampling `json:"sampling,omitempty"`
	Stream   bool      `json:"stream,omitempty"`
}

type jsonMetric struct {
	Mean     float64    `json:"mean"`
	N        int        `json:"n"`
	Interval [2]float64 `json:"interval"`
}

// JSON writes the whole run as one JSON object, one trial a line.
func JSON(w io.Writer, d *journal.Document, _ Options) error {
	head, err := wirejson.Marshal(newHead(d))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	_, _ = out.Write(head[:len(head)-1]) // errors stay with the writer until Flush
	_, _ = out.WriteString(",\"trials\":[")
	first := true
	for line, err := range d.Lines() {
		if err != nil {
			return err
		}
		if !first {
			_ = out.WriteByte(',')
		}
		first = false
		_ = out.WriteByte('\n')
		_, _ = out.Write(line)
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}

func newHead(d *journal.Document) jsonHead {
	cases := newGateCases(d)
	head := jsonHead{
		Version: jsonVersion,
		Run: jsonRun{
			Run:         d.Run,
			Partial:     d.Partial(),
			Interrupted: d.End == nil && !d.Running || d.End != nil && d.End.Reason == eval.EndInterrupted,
			Damaged:     d.Damaged,
		},
		Summary: jsonSummary{
			Trials:  d.Summary.Counts.Total(),
			Counts:  d.Summary.Counts,
			Cut:     jsonCut{d.Summary.Cut, d.Summary.PartlyBlocked},
			Tokens:  d.Summary.Tokens,
			Judging: judgingOf(d),
			Cases:   cases.in(d.Summary.Cases),
		},
		Arms: []jsonArm{},
		Gate: d.Gate, Comparison: d.Comparison,
	}
	head.Run.Copies, head.Run.Signature = nil, "" // of use to nobody but evalrun
	if head.Gate.Rules == nil {
		head.Gate.Rules = []eval.GateRule{}
	}
	if d.End != nil {
		head.Run.FinishedAt, head.Run.Reason, head.Run.Message, head.Run.Spent = d.End.FinishedAt, d.End.Reason, d.End.Message, d.End.Spent
	}
	for _, one := range d.Summary.Suites {
		for i := range one.Arms {
			a := &one.Arms[i]
			arm := newArm(one.Name, a)
			arm.tell(&d.Run)
			arm.Repeats = repeatsOf(d, one.Name, a)
			head.Arms = append(head.Arms, arm)
		}
	}
	if rate, ok := d.Summary.PassRate(); ok {
		head.Summary.PassRate = &rate
	}
	return head
}

func newArm(suite string, a *journal.Arm) jsonArm {
	out := jsonArm{
		Suite:         suite,
		Arm:           a.Name,
		Counts:        a.Counts,
		Level:         level,
		Tokens:        a.Tokens,
		MeanLatencyMs: a.MeanLatencyMs,
		Metrics:       map[string]jsonMetric{},
	}
	if rate, ok := a.PassRate(); ok {
		lo, hi := interval(rate, a.Judged)
		out.PassRate, out.Interval = &rate, &[2]float64{lo, hi}
	}
	for _, m := range a.Metrics {
		lo, hi := interval(m.Mean, m.N)
		out.Metrics[m.Name] = jsonMetric{m.Mean, m.N, [2]float64{lo, hi}}
	}
	return out
}

// tell adds what the run knows of the arm's target.
func (a *jsonArm) tell(run *eval.Run) {
	name, _, _ := strings.Cut(a.Arm, "/")
	t := run.Target(a.Suite, name)
	if t == nil {
		return
	}
	m := run.Model(t)
	a.Target, a.Model, a.Stream, a.Sampling = t.Name, t.Model, t.Stream, new(newSampling(t.GenerationConfig, m))
	if m != nil {
		a.Version = m.Version
	}
}

// JSONLines writes one trial a line, in the order of the plan. Each says by itself when no model was asked.
func JSONLines(w io.Writer, d *journal.Document, _ Options) error {
	out := bufio.NewWriter(w)
	for line, err := range d.Lines() {
		if err != nil {
			return err
		}
		if d.Run.Emulator {
			line = append(line[:len(line)-1], `,"emulator":true}`...)
		}
		_, _ = out.Write(line) // errors stay with the writer until Flush
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}
