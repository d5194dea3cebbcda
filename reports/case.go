package reports

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/journal"
)

// Cases writes the cases whose name fits in full: the request as it was sent, every arm's answers,
// scores, safety ratings and timing. It reports whether it found any.
func Cases(w io.Writer, d *journal.Document, name glob.Pattern, arms glob.Patterns, o Options) (bool, error) {
	found := false
	for row := range d.Rows() {
		if !name.Match(row.Case) {
			continue
		}
		for r, err := range d.Read(row) {
			if err != nil {
				return found, err
			}
			if !arms.Match(r.Arm) {
				continue
			}
			found = true
			c := caseReport{tableReport{d: d, o: o}}
			c.trial(r)
			if _, err := w.Write(c.out.Bytes()); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// caseReport writes one trial with its whole texts.
type caseReport struct{ tableReport }

func (c *caseReport) printf(format string, args ...any) { fmt.Fprintf(&c.out, format, args...) }

func (c *caseReport) trial(r *eval.Result) {
	c.printf(
		"%s %s / %s on %s, repeat %d\n", c.paint(r.Outcome, diag.CleanLine(strings.ToUpper(string(r.Outcome)))),
		diag.CleanLine(r.Suite), diag.CleanLine(r.Case), diag.CleanLine(r.Arm), r.Repeat,
	)
	target := c.d.Run.Target(r.Suite, r.Target)
	c.printf("  trial %s, case %s, model %s\n", diag.CleanLine(r.ID), diag.CleanLine(r.CaseID), diag.CleanLine(modelOf(r.Model, target)))
	if r.SkipReason != "" {
		c.printf("  not asked: %s\n", diag.CleanLine(r.SkipReason))
	}
	if r.Error != nil {
		c.printf("  error %s: %s\n", diag.CleanLine(string(r.Error.Kind)), diag.CleanLine(r.Error.Error()))
	}
	c.request(r.Request, target)
	c.turns(r.Turns)
	c.response(r.Response)
	for _, s := range r.Scores {
		c.score(s)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		c.printf("  metric %s: %.3g\n", diag.CleanLine(name), r.Metrics[name])
	}
	c.cost(r.Timing, r.Usage)
	c.printf("\n")
}

// cost writes time and tokens, where they are known.
func (c *caseReport) cost(t *eval.Timing, u *eval.Usage) {
	if t != nil {
		c.printf("  time: %.0f ms service, %.0f ms waiting, %s\n", t.LatencyMs, t.QueuedMs, diag.Count(t.Attempts, "attempt"))
	}
	if t != nil && t.Chunks > 0 {
		c.printf("  stream: first text after %.0f ms, %s, at most %.0f ms apart\n", t.FirstTokenMs, diag.Count(t.Chunks, "chunk"), t.MaxGapMs)
	}
	if u != nil {
		c.printf("  tokens: %d prompt + %d output = %d (%s)\n", u.PromptTokens, u.OutputTokens, u.TotalTokens, diag.CleanLine(string(u.Source)))
	}
}

// modelOf names a model, with the version of the interface and whether it is streamed where that is known.
func modelOf(model string, t *eval.RunTarget) string {
	if t == nil {
		return model
	}
	if model += " " + t.APIVersion; t.Stream {
		model += ", streamed"
	}
	return model
}

func (c *caseReport) request(r *eval.Request, target *eval.RunTarget) {
	if r == nil {
		return
	}
	c.printf("  request\n")
	for _, content := range r.Contents {
		for _, p := range content.Parts {
			c.block(diag.CleanLine(content.Role), partText(&p))
		}
	}
	if r.GenerationConfig != nil {
		c.object("generationConfig", r.GenerationConfig)
	}
	if len(r.SafetySettings) > 0 {
		c.object("safetySettings", r.SafetySettings)
	}
	if target == nil {
		return
	}
	if how := overview.NewSampling(target.GenerationConfig, c.d.Run.Model(target)).String(); how != "" {
		c.printf("    sampling %s\n", how)
	}
}

// partText is a text, or what is known of an image.
func partText(p *eval.Part) string {
	img := p.Image
	if img == nil {
		return shownText(p.Text, p.Withheld)
	}
	resized := ""
	if img.SourceSHA256 != "" {
		resized = ", resized"
	}
	return fmt.Sprintf("[image %s, %s, %d bytes%s, sha256 %.12s]", img.Path, img.MIMEType, img.Bytes, resized, img.SHA256)
}

func (c *caseReport) object(name string, v any) {
	text, err := wirejson.Marshal(v)
	if err != nil { // it came out of a run file
		panic(err)
	}
	c.printf("    %s %s\n", name, diag.CleanLine(string(text)))
}

// shownText is a text, or what is kept of one that is withheld.
func shownText(text string, w *eval.Withheld) string {
	if w == nil {
		return text
	}
	return fmt.Sprintf("[%d bytes, not kept, sha256 %.12s]", w.Bytes, w.SHA256)
}

// block writes a text that may have several lines under a label.
func (c *caseReport) block(label, text string) {
	if label == "" {
		label = "text"
	}
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\r\n", "\n")
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			label = ""
		}
		c.printf("    %-5s | %s\n", label, diag.Clean(line))
	}
}

func (c *caseReport) response(r *eval.Response) {
	if r == nil {
		return
	}
	c.printf("  answer")
	if r.ModelVersion != "" {
		c.printf(" of %s", diag.CleanLine(r.ModelVersion))
	}
	c.printf("\n")
	if reason := r.PromptBlock(); reason != "" {
		c.printf("    the prompt was blocked: %s\n", diag.CleanLine(reason))
	}
	for i, candidate := range r.Candidates {
		c.block(fmt.Sprint(i), shownText(candidate.Text, candidate.Withheld))
		c.printf("    finish reason %s\n", diag.CleanLine(candidate.FinishReason))
		c.ratings("answer", candidate.SafetyRatings)
	}
	if r.PromptFeedback != nil {
		c.ratings("prompt", r.PromptFeedback.SafetyRatings)
	}
}

func (c *caseReport) ratings(of string, ratings []eval.SafetyRating) {
	if len(ratings) == 0 {
		return
	}
	var b bytes.Buffer
	for i, r := range ratings {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(r.Category, "HARM_CATEGORY_"), r.Probability)
		if r.Blocked {
			b.WriteString(" (blocked)")
		}
	}
	c.printf("    safety of the %s: %s\n", of, diag.CleanLine(b.String()))
}

func (c *caseReport) score(s eval.Score) {
	mark, outcome := "passed", eval.Pass
	value := "-"
	switch {
	case s.Value == nil:
		mark, outcome = "unscored", eval.Err
	case !s.Passed:
		mark, outcome = "failed", eval.Fail
	}
	if s.Value != nil {
		value = fmt.Sprintf("%.3g", *s.Value)
	}
	c.printf("  %s %s (%s): %s\n", c.paint(outcome, mark), diag.CleanLine(overview.ScoreName(s)), value, diag.CleanLine(s.Reason))
	if s.Diff != "" {
		for _, line := range strings.Split(s.Diff, "\n") {
			c.printf("    %s\n", diag.CleanLine(line))
		}
	}
	c.rulings(s.Judged)
}
