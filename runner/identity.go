package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
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
	data, err := wirejson.Marshal(&light)
	if err != nil { // only checked values come here
		panic(err)
	}
	// The copy is not for nothing: in runs, though not in a benchmark of the two, hashing the encoder's text in place took fifty
	// times as long.
	text := append(make([]byte, 0, len(data)+64), r.APIVersion+" "+r.Model+"\n"...)
	text = append(text, data...)
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

func isHTTP(r *eval.Rendered) bool {
	_, ok := r.Payload.(*eval.HTTP)
	return ok
}

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

func trialID(base [16]byte, equal, repeat int) string {
	sum := sha256.Sum256(fmt.Appendf(base[:], " %d %d", equal, repeat))
	return hex.EncodeToString(sum[:8])
}

// folded hashes a prompt so that prompts with other white space, letter case or a number at the end are equal; "" for none.
func folded(r *eval.Request) string {
	if len(r.Contents) == 0 {
		return ""
	}
	h := sha256.New()
	for _, c := range r.Contents {
		for _, p := range hashedFiles(c.Parts) {
			if text, ok := p.(eval.TextPart); ok {
				_, _ = io.WriteString(h, foldedText(text.Text)+"\x00") // a hash never fails
				continue
			}
			data, err := wirejson.Marshal(p)
			if err != nil { // as in identity
				panic(err)
			}
			_, _ = h.Write(data)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func foldedText(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if bare := strings.TrimRight(text, "0123456789"); bare != text {
		text = strings.TrimSpace(strings.TrimSuffix(bare, "#"))
	}
	return text
}
