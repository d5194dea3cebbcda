package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// request writes what a trial sent to a model or an application.
func (c *caseReport) request(r *eval.Result, target *eval.RunTarget) {
	sent := r.Request
	if sent == nil {
		return
	}
	c.printf("  request\n")
	c.prompt(r)
	c.tools(sent)
	c.configuration(sent)
	if sent.App != nil {
		c.application(sent.App)
	}
	if target == nil || target.App != "" {
		return
	}
	if how := overview.NewSampling(target.GenerationConfig, c.d.Run.Model(target)).String(); how != "" {
		c.note("    ", "sampling %s", how)
	}
}

func (c *caseReport) configuration(r *eval.Request) {
	if r.GenerationConfig != nil {
		c.object("generationConfig", r.GenerationConfig)
	}
	if len(r.SafetySettings) > 0 {
		c.object("safetySettings", r.SafetySettings)
	}
	if len(r.Extra) > 0 {
		c.object("extra", r.Extra)
	}
}

// prompt writes the system text and the turns.
func (c *caseReport) prompt(r *eval.Result) {
	if r.Request.System != "" {
		defer func(width int) { c.label = width }(c.label)
		c.label = len("system")
		c.block("system", r.Request.System)
	}
	for _, content := range conversation(r) {
		for _, p := range content.Parts {
			c.block(cmp.Or(diag.CleanLine(content.Role), "text"), text.Part(p))
		}
	}
}

// conversation is the contents of a request without steps, which are shown separately. It includes the model's own
// turns in a chat, as they came.
func conversation(r *eval.Result) []eval.Content {
	if text.HasSteps(r) {
		return text.SuiteContents(r)
	}
	contents, replies := slices.Clone(r.Request.Contents), r.Calls
	for i := range contents {
		if own := &contents[i]; own.Role == eval.RoleModel && r.Request.Live && len(replies) > 0 {
			if said := replies[0].Candidates; len(said) > 0 {
				own.Parts = []eval.Part{eval.TextPart{Text: said[0].Text, Withheld: said[0].Withheld}}
			}
			replies = replies[1:]
		}
	}
	return contents
}

// tools writes the tools that the model may call: names or, if verbose, whole declarations.
func (c *caseReport) tools(r *eval.Request) {
	if len(r.Tools) > 0 {
		names := make([]string, 0, len(r.Tools))
		for i := range r.Tools {
			names = append(names, r.Tools[i].Name)
		}
		c.fact("tools", strings.Join(names, ", "))
	}
	if c.o.Verbose {
		for i := range r.Tools {
			c.declaration(&r.Tools[i])
		}
	}
	if choice := r.ToolChoice; choice != nil {
		c.fact("toolChoice", cmp.Or(choice.Name, string(choice.Mode)))
	}
	if r.ToolResults != "" {
		c.fact("toolResults", fmt.Sprintf("given by the suite, hash %.12s", r.ToolResults))
	}
}

func (c *caseReport) declaration(t *eval.Declaration) {
	text := t.Name
	if t.Description != "" {
		text += ": " + t.Description
	}
	if len(t.Parameters) > 0 {
		text += "\n" + string(t.Parameters)
	}
	c.block("tool", text)
}

func (c *caseReport) application(r *eval.Rendered) {
	switch p := r.Payload.(type) {
	case *eval.HTTP:
		c.http(p)
	case *eval.ProgramRun:
		c.program(p)
	case eval.EchoRun:
		c.fact("echo", "the application answers with the prompt")
	case *eval.Unknown:
		c.block("sent", string(p.JSON))
	}
}

func (c *caseReport) http(r *eval.HTTP) {
	c.block("sent", text.HTTP(r))
	if r.Stream {
		c.fact("stream", "server-sent events")
	}
}

func (c *caseReport) program(r *eval.ProgramRun) {
	command := r.Command
	if r.Args != nil {
		command = append(command[:1:1], r.Args...)
	}
	c.block("ran", text.ShellWords(command))
	if len(r.Input) > 0 && string(r.Input) != "null" { // not stored
		c.block("input", string(r.Input))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		c.fact("file", fmt.Sprintf("%s, sha256 %.12s", name, r.Files[name]))
	}
	if r.Workspace != "" {
		c.fact("workspace", fmt.Sprintf("a copy of the folder with sha256 %.12s", r.Workspace))
	}
}

func (c *caseReport) object(name string, v any) {
	text, err := wirejson.Marshal(v)
	if err != nil { // it comes from a run file
		panic(err)
	}
	c.fact(name, string(text))
}

// fact writes a short text on one line.
func (c *caseReport) fact(name, text string) {
	c.note(c.indent, "%s %s", name, text)
}

// block writes a text of any length under a label.
func (c *caseReport) block(label, text string) {
	c.painted(label, text, func(s string) string { return s })
}

// painted is block in a colour.
func (c *caseReport) painted(label, text string, paint func(string) string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\r\n", "\n")
	width := max(c.label, len(label))
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			label = ""
		}
		c.printf("%s%-*s | %s\n", c.indent, width, label, paint(diag.Clean(line)))
	}
}
