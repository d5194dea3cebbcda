package wire

import (
	"bytes"
	"encoding/base64"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Append appends contents in the form that is sent: a JSON array with inline_data and mime_type in the
// service's spelling, and images in base64 without line breaks.
func Append(dst []byte, contents []eval.Content) []byte {
	dst = append(dst, '[')
	for i, c := range contents {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if c.Role != "" {
			dst = append(dst, `"role":`...)
			dst = wirejson.AppendString(dst, c.Role)
			dst = append(dst, ',')
		}
		dst = append(dst, `"parts":[`...)
		for j := range c.Parts {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendPart(dst, c.Parts[j])
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

func appendPart(dst []byte, p eval.Part) []byte {
	switch p := p.(type) {
	case eval.ImagePart:
		return appendFile(dst, p.Image)
	case eval.DataPart:
		return appendFile(dst, p.Data)
	case eval.RawPart:
		return append(dst, p.Raw...)
	case eval.ResultPart:
		return appendResult(dst, p.Result)
	case eval.TextPart:
		dst = append(dst, `{"text":`...)
		dst = wirejson.AppendString(dst, p.Text)
		return append(dst, '}')
	}
	return dst
}

func appendFile(dst []byte, file *eval.Image) []byte {
	dst = append(dst, `{"inline_data":{"mime_type":`...)
	dst = wirejson.AppendString(dst, file.MIMEType)
	dst = append(dst, `,"data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, file.Data)
	return append(dst, `"}}`...)
}

func appendResult(dst []byte, r *eval.CallResult) []byte {
	dst = append(dst, `{"functionResponse":{`...)
	if r.ID != "" {
		dst = append(dst, `"id":`...)
		dst = wirejson.AppendString(dst, r.ID)
		dst = append(dst, ',')
	}
	dst = append(dst, `"name":`...)
	dst = wirejson.AppendString(dst, r.Name)
	dst = append(dst, `,"response":`...)
	dst = append(dst, r.Response()...)
	return append(dst, "}}"...)
}

// Size is the length of Append in bytes, without encoding files.
func Size(contents []eval.Content) int {
	files := 0
	light := make([]eval.Content, len(contents))
	for i, c := range contents {
		light[i] = eval.Content{Role: c.Role, Parts: slices.Clone(c.Parts)}
		for j, p := range c.Parts {
			if file := p.File(); file != nil {
				files += base64.StdEncoding.EncodedLen(len(file.Data))
				light[i].Parts[j] = eval.DataPart{Data: &eval.Image{MIMEType: file.MIMEType}}
			}
		}
	}
	return files + len(Append(nil, light))
}

// textBytes returns the number of UTF-8 bytes of all texts, raw parts and results of calls. It is at least
// the number of tokens of a prompt without files.
func textBytes(contents []eval.Content) int {
	n := 0
	for _, p := range parts(contents) {
		switch p := p.(type) {
		case eval.TextPart:
			n += len(p.Text)
		case eval.RawPart:
			n += len(p.Raw)
		case eval.ResultPart:
			n += len(p.Result.Response())
		case eval.ImagePart, eval.DataPart:
		}
	}
	return n
}

// Images counts the images in contents.
func Images(contents []eval.Content) int {
	n := 0
	for _, p := range parts(contents) {
		if _, ok := p.(eval.ImagePart); ok {
			n++
		}
	}
	return n
}

// Files counts the images and the other files in contents, including the ones that a part names by their address.
func Files(contents []eval.Content) int {
	n := 0
	for _, p := range parts(contents) {
		switch p := p.(type) {
		case eval.ImagePart, eval.DataPart:
			n++
		case eval.RawPart:
			if bytes.Contains(p.Raw, []byte(`"fileData"`)) || bytes.Contains(p.Raw, []byte(`"file_data"`)) {
				n++
			}
		case eval.TextPart, eval.ResultPart:
		}
	}
	return n
}

// PromptBytes is textBytes of the whole prompt of a request, including the system text and the declarations of tools.
func PromptBytes(r *eval.Request) int {
	n := textBytes(r.Contents) + len(r.System)
	if len(r.Tools) > 0 {
		n += len(appendTools(nil, r.Tools))
	}
	return n
}

// IsPlain reports whether contents are the whole prompt: no system text, tool or result of a call.
func IsPlain(r *eval.Request) bool {
	hasResult := func(p eval.Part) bool { _, ok := p.(eval.ResultPart); return ok }
	return r.System == "" && len(r.Tools) == 0 && !slices.ContainsFunc(parts(r.Contents), hasResult)
}

// AppendPrompt appends the whole prompt for hashing: different prompts have different bytes.
func AppendPrompt(dst []byte, r *eval.Request) []byte {
	return AppendInstructions(Append(dst, r.Contents), r)
}

// AppendInstructions appends the members of a request, besides its contents, that belong to the prompt.
func AppendInstructions(out wirejson.OpenObject, r *eval.Request) wirejson.OpenObject {
	if r.System != "" {
		out = appendSystem(out.Member("systemInstruction"), r.System)
	}
	if len(r.Tools) > 0 {
		out = appendTools(out.Member("tools"), r.Tools)
	}
	if r.ToolChoice != nil {
		out = appendToolChoice(out.Member("toolConfig"), r.ToolChoice)
	}
	return out
}

func appendSystem(dst []byte, text string) []byte {
	dst = append(dst, `{"parts":[{"text":`...)
	dst = wirejson.AppendString(dst, text)
	return append(dst, "}]}"...)
}

// appendTools appends declarations of functions in the form that is sent.
func appendTools(dst []byte, tools []eval.Declaration) []byte {
	dst = append(dst, `[{"functionDeclarations":`...)
	declared, err := wirejson.Append(dst, tools)
	if err != nil { // they were read from JSON
		panic(err)
	}
	return append(declared, "}]"...)
}

// modes are the service's words for the modes of an eval.Choice.
var modes = map[eval.ChoiceMode]string{eval.Auto: "AUTO", eval.None: "NONE", eval.Required: "ANY"}

func appendToolChoice(dst []byte, c *eval.Choice) []byte {
	mode := modes[c.Mode]
	if c.Name != "" {
		mode = modes[eval.Required]
	}
	dst = append(dst, `{"functionCallingConfig":{"mode":`...)
	dst = wirejson.AppendString(dst, mode)
	if c.Name != "" {
		dst = append(dst, `,"allowedFunctionNames":[`...)
		dst = wirejson.AppendString(dst, c.Name)
		dst = append(dst, ']')
	}
	return append(dst, "}}"...)
}

func parts(contents []eval.Content) []eval.Part {
	var out []eval.Part
	for _, c := range contents {
		out = append(out, c.Parts...)
	}
	return out
}

// Messages are contents as an application gets them: texts alone, with the roles that most chat interfaces share.
func Messages(contents []eval.Content) []eval.Message {
	out := make([]eval.Message, len(contents))
	for i, c := range contents {
		out[i].Role = "user"
		if c.Role == eval.RoleModel {
			out[i].Role = "assistant"
		}
		for _, p := range c.Parts {
			out[i].Text += eval.TextOf(p)
		}
	}
	return out
}
