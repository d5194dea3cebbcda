package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

type assembly struct {
	*Reader
	reread bool // the events come out of a file, as they were kept
	text   strings.Builder
	all    extracted // everything but the texts
	found  bool      // there was a text, possibly an empty one
	ending wire.StreamEnd
	event  string // the name of the event that is added next
	events []json.RawMessage
	kept   int   // bytes
	broken error // of a line, which is the last one then
}

// lines reads an output whose lines are events, up to one that cannot be read.
func (r *Reader) lines(out []byte, hidden *wire.Secrets) *assembly {
	a, n := &assembly{Reader: r}, 0
	for line := range bytes.Lines(bytes.TrimPrefix(out, bom)) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if _, err := a.Add(hidden.OutOfAnswer(line)); err != nil {
			e := *eval.AsError(err)
			e.Message = fmt.Sprintf("in line %d of the output: %s", n, e.Message)
			a.broken = &e
			return a
		}
	}
	return a
}

// Name sets the name of the event that is added next, "" for none.
func (a *assembly) Name(event string) { a.event = event }

// withName puts an event and its name into an object, if an expression names it. One out of a file has its name.
func (a *assembly) withName(data []byte) []byte {
	if !a.named || a.reread {
		return data
	}
	if !json.Valid(data) {
		data = wirejson.AppendString(nil, string(data))
	}
	name := json.RawMessage("null")
	if a.event != "" {
		name = wirejson.AppendString(nil, a.event)
	}
	return wire.Object("event", name, "data", json.RawMessage(data))
}

// saysError reports whether an event without a name for it is an error. A message alone may be about progress.
func (a *assembly) saysError(event []byte) bool {
	var f wire.Fields
	if a.named && wire.Read(event, &f) == nil { // see withName
		event, f = f["data"], nil
	}
	return wire.IsError(event) && (wire.Read(event, &f) != nil || errorOf(f["error"]) != "" || f["code"] != nil || hasFailed(f))
}

func hasFailed(f wire.Fields) bool {
	return slices.ContainsFunc([]string{"type", "status", "event"}, func(name string) bool {
		var word wire.Word
		_ = wire.Read(f[name], &word) // another type is no word
		number, _ := strconv.Atoi(string(word))
		return name == "status" && number >= 400 || slices.Contains([]string{"error", "failed"}, strings.ToLower(string(word)))
	})
}

func (a *assembly) Add(data []byte) (text bool, err error) {
	data = a.withName(bytes.Clone(data))
	if !utf8.Valid(data) {
		return false, eval.Errorf(eval.KindMalformed, "the stream is not UTF-8: %s", wire.Excerpt(data))
	}
	v, err := wire.DecodeAny(data)
	if err != nil {
		return a.plain(data, err)
	}
	if err := a.keep(a.asKept(v, data)); err != nil {
		return false, err
	}
	p, err := a.piece(v, data)
	if err != nil {
		return false, err
	}
	if a.answer == nil {
		p.texts = []string{string(data)}
	}
	if len(p.texts) == 0 && len(p.calls) == 0 && a.failure == nil && a.saysError(data) {
		return false, eval.Errorf(eval.KindApp, "the stream holds an error: %s", wire.Excerpt(data))
	}
	return a.take(&p)
}

// asKept returns an event as it is recorded; see unquoted. An event that is a text keeps its spaces.
func (a *assembly) asKept(v any, data []byte) json.RawMessage {
	if _, isText := v.(string); isText || a.answer == nil {
		return wirejson.AppendString(nil, string(data))
	}
	return compact(data)
}

// plain adds an event that is not JSON; err says why it is not.
func (a *assembly) plain(data []byte, err error) (text bool, _ error) {
	if a.answer != nil {
		return false, a.answer.error("needs JSON in every event (%s)", err)
	}
	if err := a.keep(wirejson.AppendString(nil, string(data))); err != nil {
		return false, err
	}
	return a.take(&extracted{texts: []string{string(data)}})
}

func (a *assembly) take(p *extracted) (text bool, err error) {
	if said := strings.Join(p.texts, ""); a.repeats && len(p.texts) > 0 {
		text = said != a.text.String()
		a.text.Reset()
		a.text.WriteString(said)
	} else {
		text = said != ""
		a.text.WriteString(said)
	}
	a.found = a.found || len(p.texts) > 0
	a.all.calls, a.all.called = append(a.all.calls, p.calls...), a.all.called || p.called
	if before, _ := finish(a.all.reason); p.reason != "" && !eval.IsBlock(before) {
		a.all.reason = p.reason
	}
	if p.usage != nil {
		a.all.usage = p.usage
	}
	return text, a.ending.Add(text || len(p.calls) > 0, p.reason != "", a.text.Len())
}

func (a *assembly) keep(event json.RawMessage) error {
	const each = 24 // overhead of an event, in bytes
	if a.kept += len(event) + each; a.kept > wire.MaxResponseBytes {
		return eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
	}
	a.events = append(a.events, event)
	return nil
}

// Finished reports whether the application said why the answer ended.
func (a *assembly) Finished() bool { return a.all.reason != "" }

// sofar returns what has arrived of an answer.
func (a *assembly) sofar() *eval.Response {
	raw, _ := wirejson.Marshal(a.events) // each is JSON
	return a.all.response(a.text.String(), raw)
}

// response returns the answer after the end. When the events are not an answer, the error keeps them.
func (a *assembly) response() (*eval.Response, error) {
	raw, err := wirejson.Marshal(a.events)
	if err != nil { // each event is JSON
		panic(err)
	}
	resp, err := a.whole(raw)
	return resp, keeping(err, raw)
}

func (a *assembly) whole(raw json.RawMessage) (*eval.Response, error) {
	events := strconv.Itoa(len(a.events))
	switch {
	case len(a.events) == 0:
		return nil, eval.Errorf(eval.KindMalformed, "the stream has no events")
	case a.answer != nil && !a.found && !a.all.endsInCalls():
		return nil, a.answer.error("finds nothing in the %s events of the stream, such as %s", events, wire.Excerpt(a.events[0]))
	case a.calls != nil && !a.all.called:
		return nil, a.calls.error("finds nothing in the %s events of the stream", events)
	case a.reason != nil && a.all.reason == "":
		return nil, a.reason.error("finds nothing in the %s events of the stream", events)
	}
	if a.repeats {
		return a.all.response(a.text.String(), raw), nil
	}
	if err := a.ending.Check(a.text.String()); err != nil {
		return nil, err
	}
	return a.all.response(a.text.String(), raw), nil
}
