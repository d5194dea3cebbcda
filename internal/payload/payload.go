// Package payload is the contents of a request as they are sent: their bytes, how many there are, and how many texts and images.
package payload

import (
	"encoding/base64"
	"slices"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Append appends contents as they are sent: a JSON array with inline_data and
// mime_type in the service's spelling, image bytes in base64 without line breaks.
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
			dst = appendPart(dst, &c.Parts[j])
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

func appendPart(dst []byte, p *eval.Part) []byte {
	if p.Image == nil {
		dst = append(dst, `{"text":`...)
		dst = wirejson.AppendString(dst, p.Text)
		return append(dst, '}')
	}
	dst = append(dst, `{"inline_data":{"mime_type":`...)
	dst = wirejson.AppendString(dst, p.Image.MIMEType)
	dst = append(dst, `,"data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, p.Image.Data)
	return append(dst, `"}}`...)
}

// Size is the length of Append in bytes, without encoding images.
func Size(contents []eval.Content) int {
	images := 0
	light := make([]eval.Content, len(contents))
	for i, c := range contents {
		light[i] = eval.Content{Role: c.Role, Parts: slices.Clone(c.Parts)}
		for j, p := range c.Parts {
			if p.Image != nil {
				images += base64.StdEncoding.EncodedLen(len(p.Image.Data))
				light[i].Parts[j].Image = &eval.Image{MIMEType: p.Image.MIMEType}
			}
		}
	}
	return images + len(Append(nil, light))
}

// TextBytes is the number of UTF-8 bytes of all texts: at least the number of
// tokens of a prompt without images.
func TextBytes(contents []eval.Content) int {
	n := 0
	for _, p := range parts(contents) {
		n += len(p.Text)
	}
	return n
}

// Images counts the images in contents.
func Images(contents []eval.Content) int {
	n := 0
	for _, p := range parts(contents) {
		if p.Image != nil {
			n++
		}
	}
	return n
}

func parts(contents []eval.Content) []eval.Part {
	var out []eval.Part
	for _, c := range contents {
		out = append(out, c.Parts...)
	}
	return out
}

// Messages are contents as an application gets them: texts alone, with the roles that most chat interfaces share.
func Messages(contents []eval.Content) []app.Message {
	out := make([]app.Message, len(contents))
	for i, c := range contents {
		out[i].Role = "user"
		if c.Role == eval.RoleModel {
			out[i].Role = "assistant"
		}
		for _, p := range c.Parts {
			out[i].Text += p.Text
		}
	}
	return out
}
