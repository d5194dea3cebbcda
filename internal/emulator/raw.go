package emulator

import (
	"net/http"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

// rawReply is a literal reply of the script.
type rawReply struct {
	body   string
	chunks []rawChunk // nil: the body is sent unchanged, streamed or not
}

type rawChunk struct {
	text string
	json bool // made from YAML, so that it can be put on one line
}

// readRaw reads a literal reply. A text is sent unchanged, a mapping becomes JSON, and a list has the
// chunks of a stream, each a mapping or a text.
func readRaw(n yaml.Node) *rawReply {
	switch {
	case n.IsZero():
		return nil
	case n.IsMapping():
		body := string(n.JSON(nil))
		return &rawReply{body, []rawChunk{{body, true}}}
	case n.IsSequence():
		out := &rawReply{}
		var texts []string
		for _, item := range n.Seq() {
			chunk := rawChunk{json: item.IsMapping()}
			if chunk.json {
				chunk.text = string(item.JSON(nil))
			} else {
				chunk.text = item.Str()
			}
			out.chunks, texts = append(out.chunks, chunk), append(texts, chunk.text)
		}
		out.body = jsonArray.open + strings.Join(texts, jsonArray.between) + jsonArray.finished
		return out
	}
	if text := n.Str(); text != "" {
		return &rawReply{body: text}
	}
	return nil
}

func (r *rawReply) framed(s *streamWriter) []string {
	out := make([]string, len(r.chunks))
	for i, c := range r.chunks {
		if out[i] = c.text; c.json && s.framing != jsonArray {
			out[i] = s.form.raw(oneLine(c.text))
		}
	}
	return out
}

func (e *Emulator) raw(w http.ResponseWriter, r *http.Request, rule *rule, f *fault, q *query) {
	switch {
	case q.stream && rule.raw.chunks != nil && (f == nil || f.inStream()):
		s := newStreamWriter(w, q.form.framing(r), q.form)
		e.stream(s, r, rule, f, rule.raw.framed(s))
	case f != nil:
		e.misbehave(w, r, f, q.form, []byte(rule.raw.body))
	default:
		w.Header().Set("Content-Type", jsonType)
		if body := strings.TrimSpace(rule.raw.body); body != "" && !strings.ContainsAny(body[:1], "{[") {
			w.Header().Set("Content-Type", events.contentType)
		}
		_, _ = w.Write([]byte(rule.raw.body))
	}
}
