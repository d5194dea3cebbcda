package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// badReply describes an unusable reply: malformed when it is not a JSON object, otherwise of the wrong shape.
type badReply struct {
	malformed bool
	why       string
	reply     string // of the judge
}

func malformed(why string) *badReply { return &badReply{malformed: true, why: why} }

func notWanted(format string, args ...any) *badReply {
	return &badReply{why: fmt.Sprintf(format, args...)}
}

// wholeFence matches a reply that is one fenced block.
var wholeFence = compiled("(?s)^```[A-Za-z]*[ \t]*\r?\n(.*)\r?\n```$")

// parse reads a reply: one JSON object with a reason and the form's keys, perhaps in a fence, and nothing else.
func (p *posed) parse(reply *eval.Judgement) (*eval.Ruling, *badReply) {
	if reply.TooLong() {
		return nil, malformed(fmt.Sprintf("it has %d bytes or more", len(reply.Reply)))
	}
	text := strings.TrimSpace(reply.Reply)
	if inner := wholeFence().FindStringSubmatch(text); inner != nil {
		text = inner[1]
	}
	fields, bad := readObject(text)
	if bad != nil {
		if reason := reply.FinishReason; reason != "" && reason != "STOP" {
			bad.why += ", finishReason " + quote(reason)
		}
		return nil, bad
	}
	keys := p.reply.keys()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "reason" && !slices.Contains(keys, name) {
			return nil, notWanted("it has a key %s, and only `reason` and `%s` are asked for", quote(name),
				strings.Join(keys, "`, `"))
		}
	}
	r := &eval.Ruling{}
	if bad := fields.text("reason", &r.Reason); bad != nil {
		return nil, bad
	}
	return r, p.reply.read(p, fields, r)
}

type jsonObject map[string]json.RawMessage

func (o jsonObject) text(key string, to *string) *badReply {
	raw, ok := o[key]
	switch {
	case !ok:
		return notWanted("it has no `%s`", key)
	case raw[0] != '"' || json.Unmarshal(raw, to) != nil:
		return notWanted("its %s is %s, which is no text", key, quote(string(raw)))
	}
	return nil
}

// readObject parses a text that is one JSON object. It refuses duplicate keys: parsers differ in which one they
// take.
func readObject(text string) (jsonObject, *badReply) {
	if text == "" {
		return nil, malformed("it is empty")
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, malformed("it is not a JSON object")
	}
	out := jsonObject{}
	twice, err := out.read(dec)
	if err != nil {
		return nil, malformed("it is not a JSON object")
	}
	if _, err := dec.Token(); err != nil {
		return nil, malformed("it is not a whole JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("something follows the JSON object")
	}
	if twice != "" {
		return nil, notWanted("it has the key %s twice", quote(twice))
	}
	return out, nil
}

// read reads the keys and values of an object; twice is a duplicate key.
func (o jsonObject) read(dec *json.Decoder) (twice string, err error) {
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", err
		}
		name := key.(string) // inside an object, keys are strings
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return "", err
		}
		if _, known := o[name]; known {
			twice = name
		}
		o[name] = raw
	}
	return twice, nil
}

// quoteLong is quote with a larger limit, for a judge's reason.
func quoteLong(s string) string {
	const most = 400
	if len(s) > most {
		return visible(strings.ToValidUTF8(s[:most], "")) + "..."
	}
	return visible(s)
}
