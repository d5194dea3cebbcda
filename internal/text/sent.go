package text

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// Sent is the request of a trial as text, for a reader who compares two: what is under test and how it is set, what the model may
// call, what an application got, and the messages.
func Sent(r *eval.Result) string {
	q := r.Request
	if q == nil {
		return ""
	}
	var b strings.Builder
	line := func(name, value string) {
		if value != "" && value != "null" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	object := func(name string, v any) {
		data, _ := json.Marshal(v) // it was read from JSON
		line(name, string(data))
	}
	line("model", r.Model)
	line("service", q.Service)
	object("config", q.GenerationConfig)
	for _, s := range q.SafetySettings {
		line("safety "+s.Category, s.Threshold)
	}
	for _, name := range slices.Sorted(maps.Keys(q.Extra)) {
		line(name, string(q.Extra[name]))
	}
	for _, t := range q.Tools {
		line("tool "+t.Name, strings.TrimSpace(t.Description+"\n"+indented(t.Parameters)))
	}
	if c := q.ToolChoice; c != nil {
		line("toolChoice", cmp.Or(c.Name, string(c.Mode)))
	}
	if q.ToolResults != "" {
		line("toolResults", fmt.Sprintf("hash %.12s", q.ToolResults))
	}
	if q.App != nil {
		b.WriteString(application(q.App))
	}
	line("system", q.System)
	for _, c := range q.Contents {
		for _, part := range c.Parts {
			line(cmp.Or(c.Role, "text"), Part(part))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// application is what an application got, one thing a line.
func application(r *eval.Rendered) string {
	var lines []string
	switch p := r.Payload.(type) {
	case *eval.HTTP:
		shown := *p
		shown.Body = indented([]byte(p.Body))
		lines = append(lines, HTTP(&shown))
	case *eval.ProgramRun:
		lines = append(lines, "command: "+ShellWords(p.Command))
		for _, name := range slices.Sorted(maps.Keys(p.Files)) {
			lines = append(lines, fmt.Sprintf("file %s: sha256 %.12s", name, p.Files[name]))
		}
		if p.Workspace != "" {
			lines = append(lines, fmt.Sprintf("workspace: sha256 %.12s", p.Workspace))
		}
		if input := indented(p.Input); input != "" && input != "null" { // not kept
			lines = append(lines, "input: "+input)
		}
	case eval.EchoRun:
		lines = append(lines, "the application answers with the prompt")
	case *eval.Unknown:
		lines = append(lines, indented(p.JSON))
	}
	return strings.Join(append(lines, ""), "\n")
}

// HTTP is a request to an endpoint as text. Values that are secret are ***.
func HTTP(r *eval.HTTP) string {
	lines := []string{r.Method + " " + cmp.Or(r.URL, "[url not kept]")}
	for _, h := range r.Headers {
		value := h.Value
		if h.Secret {
			value = "***"
		}
		lines = append(lines, h.Name+": "+value)
	}
	if r.Body != "" {
		lines = append(lines, "", r.Body)
	}
	return strings.Join(lines, "\n")
}

// indented is JSON over several lines, so that a reader sees which of them changed. Other text stays as it is.
func indented(data []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}

// Part is the text of a part, or a description of another part.
func Part(p eval.Part) string {
	switch p := p.(type) {
	case eval.ImagePart:
		return fileText("image", p.Image)
	case eval.DataPart:
		return fileText("data", p.Data)
	case eval.RawPart:
		return "[raw] " + string(p.Raw)
	case eval.ResultPart:
		return "[result] " + Result(p.Result)
	case eval.TextPart:
		return Kept(p.Text, p.Withheld)
	}
	return ""
}

func fileText(what string, f *eval.Image) string {
	resized := ""
	if f.SourceSHA256 != "" {
		resized = ", resized"
	}
	return fmt.Sprintf("[%s %s, %s, %d bytes%s, sha256 %.12s]", what, f.Path, f.MIMEType, f.Bytes, resized, f.SHA256)
}

// Result is what the suite answered to a call.
func Result(r *eval.CallResult) string {
	if r.Text == "" {
		return r.Name
	}
	return r.Name + ": " + r.Text
}

// Kept is a text, or a description of one that was not kept.
func Kept(text string, w *eval.Withheld) string {
	switch {
	case w == nil:
		return text
	case w.SHA256 == "":
		return fmt.Sprintf("[%d bytes, not kept]", w.Bytes)
	}
	return fmt.Sprintf("[%d bytes, not kept, sha256 %.12s]", w.Bytes, w.SHA256)
}
