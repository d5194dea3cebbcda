package wire

import (
	"encoding/json"
	"strings"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// DecodeAny decodes any JSON value, and keeps the spelling of numbers. The error is an *eval.Error. Every
// answer of an application passes through it, and encoding/json would take several times as long.
func DecodeAny(data []byte) (any, error) {
	if err := Decodable(data); err != nil {
		return nil, err
	}
	if !wirejson.Valid(data) {
		var v any
		return nil, shapeError(data, json.Unmarshal(data, &v))
	}
	p := valueParser{text: string(data)}
	return p.value(), nil
}

// valueParser parses text that is valid JSON.
type valueParser struct {
	text string
	at   int
}

// next skips white space and returns the next byte.
func (p *valueParser) next() byte {
	for {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
}

func (p *valueParser) value() any {
	switch p.next() {
	case '{':
		return p.object()
	case '[':
		return p.list()
	case '"':
		return p.string()
	case 't':
		p.at += len("true")
		return true
	case 'f':
		p.at += len("false")
		return false
	case 'n':
		p.at += len("null")
		return nil
	}
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
		p.at++
	}
	return json.Number(p.text[begin:p.at])
}

// object parses an object. Of equal keys, the last one counts.
func (p *valueParser) object() map[string]any {
	out := map[string]any{}
	for p.at++; p.next() != '}'; p.comma() {
		key := p.string()
		p.next() // the colon
		p.at++
		out[key] = p.value()
	}
	p.at++
	return out
}

func (p *valueParser) list() []any {
	out := []any{}
	for p.at++; p.next() != ']'; p.comma() {
		out = append(out, p.value())
	}
	p.at++
	return out
}

// comma skips the comma after an item, if there is one.
func (p *valueParser) comma() {
	if p.next() == ',' {
		p.at++
	}
}

func (p *valueParser) string() string {
	begin := p.at
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	inside := p.text[begin+1 : p.at-1]
	if strings.IndexByte(inside, '\\') < 0 {
		return inside
	}
	var out string
	if json.Unmarshal([]byte(p.text[begin:p.at]), &out) != nil { // it is valid
		return inside
	}
	return out
}
