package emulator

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// framing is the form of a stream: a JSON array, which is documented, or server-sent events.
type framing struct {
	contentType             string
	open, between, finished string
	before, after           string // each chunk
}

var (
	jsonArray = framing{contentType: jsonType, open: "[", between: "\n,\r\n", finished: "\n]\n"}
	events    = framing{contentType: "text/event-stream", before: "data: ", after: "\r\n\r\n"}
)

// streamWriter sends chunks when they are due.
type streamWriter struct {
	framing
	form    answerWriter
	w       http.ResponseWriter
	flush   func()
	written int
}

func newStreamWriter(w http.ResponseWriter, f framing, in answerWriter) *streamWriter {
	s := &streamWriter{framing: f, form: in, w: w, flush: func() {}}
	if flusher, ok := w.(http.Flusher); ok {
		s.flush = flusher.Flush
	}
	w.Header().Set("Content-Type", s.contentType)
	return s
}

// raw sends bytes unchanged. The next wait notices a client that has gone.
func (s *streamWriter) raw(text string) {
	_, _ = s.w.Write([]byte(text)) //nolint:gosec // the content type is JSON or events
	s.flush()
}

// fit puts chunks on one line each if the framing requires it.
func (s *streamWriter) fit(chunks []string) []string {
	if s.framing != events {
		return chunks
	}
	for i, c := range chunks {
		chunks[i] = oneLine(c)
	}
	return chunks
}

func (s *streamWriter) chunk(body string) {
	lead := s.open
	if s.written > 0 {
		lead = s.between
	}
	s.written++
	s.raw(lead + s.before + body + s.after)
}

func (s *streamWriter) end() {
	if s.written == 0 {
		s.raw(s.open)
	}
	s.raw(s.finished)
}

// stream sends the chunks of an answer, or carries out a fault between them.
func (e *Emulator) stream(s *streamWriter, r *http.Request, rule *rule, f *fault, chunks []string) {
	stopAt := len(chunks)
	if f != nil {
		stopAt = min(f.after, len(chunks)-1)
		if f.after < 0 {
			stopAt = len(chunks) / 2
		}
	}
	for i, body := range chunks[:stopAt] {
		if i > 0 && !e.wait(r, rule.gap) {
			return
		}
		s.chunk(body)
	}
	if f == nil {
		s.end()
		return
	}
	e.breakStream(s, r, f, chunks[stopAt])
}

func quoted(s string) string { return string(wirejson.AppendString(nil, s)) }

// wordsAChunk is the number of words in a chunk if the script does not say how many chunks there are.
const wordsAChunk = 4

// split divides an answer into chunks: pieces of the texts, and each call separately. The last chunk of a
// candidate has its finish reason. The first chunk has the prompt feedback, and the last one the usage.
func split(answer wireResponse, n int) []wireResponse {
	pieces := make([][]wirePart, len(answer.Candidates))
	count := 1
	for i, c := range answer.Candidates {
		if c.Content != nil {
			pieces[i] = c.Content.pieces(n)
		}
		count = max(count, len(pieces[i]))
	}
	out := make([]wireResponse, count)
	for at := range out {
		out[at].ModelVersion = answer.ModelVersion
		for i, c := range answer.Candidates {
			if at < max(1, len(pieces[i])) {
				out[at].Candidates = append(out[at].Candidates, c.piece(pieces[i], at))
			}
		}
	}
	out[0].PromptFeedback = answer.PromptFeedback
	out[count-1].UsageMetadata = answer.UsageMetadata
	return out
}

// pieces divides the parts of a turn into chunks: n for the text, or by words. Thoughts are always divided
// by words.
func (c content) pieces(n int) []wirePart {
	var out []wirePart
	for _, p := range c.Parts {
		switch {
		case p.Text == nil:
			out = append(out, p)
		case p.Thought:
			out = append(out, p.pieces(0)...)
		default:
			out = append(out, p.pieces(n)...)
		}
	}
	return out
}

func (p wirePart) pieces(n int) []wirePart {
	var out []wirePart
	for _, text := range cut(*p.Text, n) {
		p.Text = &text
		out = append(out, p)
	}
	return out
}

// piece returns the candidate with one piece of its content. The last piece has the finish reason.
func (c wireCandidate) piece(pieces []wirePart, at int) wireCandidate {
	if at < len(pieces) {
		c.Content = &content{Role: eval.RoleModel, Parts: pieces[at : at+1]}
	}
	if at < len(pieces)-1 {
		c.FinishReason = ""
	}
	return c
}

// cut divides a text into n pieces, which may be empty; n 0 divides it by words.
func cut(text string, n int) []string {
	if n > 0 {
		return cutEvenly(text, n)
	}
	var out []string
	words := strings.SplitAfter(text, " ")
	for len(words) > wordsAChunk {
		out = append(out, strings.Join(words[:wordsAChunk], ""))
		words = words[wordsAChunk:]
	}
	return append(out, strings.Join(words, ""))
}

func cutEvenly(text string, n int) []string {
	out := make([]string, n)
	for i := range out {
		end := len(text) / (n - i)
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		out[i], text = text[:end], text[end:]
	}
	return out
}
