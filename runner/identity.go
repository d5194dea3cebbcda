package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/suite"
)

// identity hashes a request, images by their content.
func identity(r *eval.Request) [16]byte {
	light := *r
	light.Contents = slices.Clone(r.Contents)
	if r.App != nil {
		light.App = r.App.Identity()
		if isHTTP(r.App) && !r.Live { // what of the prompt is sent is in the body
			light.Contents, light.System = nil, ""
		}
	}
	for i, c := range light.Contents {
		light.Contents[i].Parts = hashedFiles(c.Parts)
	}
	return hashed(r, marshaled(&light))
}

func isHTTP(r *eval.Rendered) bool {
	_, ok := r.Payload.(*eval.HTTP)
	return ok
}

// hashedFiles are the parts with the hashes of their files only.
func hashedFiles(parts []eval.Part) []eval.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		switch p := p.(type) {
		case eval.ImagePart:
			parts[i] = eval.ImagePart{Image: &eval.Image{MIMEType: p.Image.MIMEType, SHA256: p.Image.Identity()}}
		case eval.DataPart:
			parts[i] = eval.DataPart{Data: &eval.Image{MIMEType: p.Data.MIMEType, SHA256: p.Data.SHA256}}
		case eval.TextPart, eval.RawPart, eval.ResultPart: // hashed as they are
		}
	}
	return parts
}

func hashed(r *eval.Request, data []byte) [16]byte {
	text := make([]byte, 0, len(r.APIVersion)+len(r.Model)+len(data)+2)
	text = append(append(text, r.APIVersion...), ' ')
	text = append(append(text, r.Model...), '\n')
	sum := sha256.Sum256(append(text, data...))
	return [16]byte(sum[:16])
}

func marshaled(r *eval.Request) []byte {
	data, err := wirejson.Marshal(r)
	if err != nil { // only checked values come here
		panic(err)
	}
	return data
}

// rest is the JSON of a request after its contents. It is mostly the same for all cases of an arm.
type rest struct {
	system, results string // of the request that json was made from
	json            []byte
}

// identity is identity of a request, faster for requests of texts alone.
func (w *walk) identity(a suite.Arm, r *eval.Request) [16]byte {
	data, plain := appendTexts(make([]byte, 0, 512), r)
	if !plain {
		return identity(r)
	}
	after, known := w.rests[a]
	if !known || after.system != r.System || after.results != r.ToolResults {
		light := *r
		light.Contents = nil
		after = rest{r.System, r.ToolResults, bytes.TrimPrefix(marshaled(&light), []byte(contentsKey+"null"))}
		w.rests[a] = after
	}
	return hashed(r, append(data, after.json...))
}

// contentsKey is how the JSON of a request begins.
const contentsKey = `{"contents":`

// appendTexts appends the JSON of a request up to the end of its contents. plain is false if these are not texts alone.
func appendTexts(dst []byte, r *eval.Request) (out []byte, plain bool) {
	if r.App != nil || r.Contents == nil {
		return nil, false
	}
	dst = append(dst, contentsKey+"["...)
	for i, c := range r.Contents {
		if c.Role == "" || c.Parts == nil || slices.ContainsFunc(c.Parts, isMore) {
			return nil, false
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(wirejson.AppendString(append(dst, `{"role":`...), c.Role), `,"parts":[`...)
		for j := range c.Parts {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = append(wirejson.AppendString(append(dst, `{"text":`...), eval.TextOf(c.Parts[j])), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']'), true
}

// isMore reports whether a part is not a text alone, or has none.
func isMore(p eval.Part) bool {
	text, ok := p.(eval.TextPart)
	return !ok || text.Withheld != nil || text.Text == ""
}

func trialID(base [16]byte, equal, repeat int) string {
	text := append(make([]byte, 0, 64), base[:]...)
	text = strconv.AppendInt(append(text, ' '), int64(equal), 10)
	text = strconv.AppendInt(append(text, ' '), int64(repeat), 10)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
