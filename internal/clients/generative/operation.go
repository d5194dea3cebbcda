package generative

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// operation is what the service says of a batch, read member by member: the results may be in it, even twice. Names are in
// camelCase or snake_case.
type operation struct {
	decoder *json.Decoder
	piece   func()                      // called before a value is read whole; optional
	each    func(json.RawMessage) error // gets the results; optional
	depth   int
	repeats bool // the results have come before

	id, key, state, file string
	created              json.RawMessage
	counts               wire.Fields
	failure              json.RawMessage
	done                 bool
	items                int // results

	list []operation // of a list
	next string      // the token of its next page
	odd  bool        // it has members that are not read here
}

// Answers beyond these bounds are refused.
const (
	maxOperations = 10_000 // in a page
	maxDepth      = 10     // of the results in an operation
)

// read reads the operation. Its errors are those of the decoder, of the reader below it, and of each.
func (op *operation) read() error {
	first, err := op.decoder.Token()
	if err == nil && first != json.Delim('{') {
		err = eval.Errorf(eval.KindMalformed, "the answer is not an object with a batch")
	}
	if err != nil {
		return err
	}
	return op.members()
}

// members reads an object that has begun.
func (op *operation) members() error {
	if op.depth++; op.depth > maxDepth {
		return eval.Errorf(eval.KindMalformed, "the answer nests its results deeper than %d levels", maxDepth)
	}
	for op.decoder.More() {
		token, err := op.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if err := op.member(strings.ReplaceAll(strings.ToLower(name), "_", "")); err != nil {
			return err
		}
	}
	op.depth--
	_, err := op.decoder.Token()
	return err
}

func (op *operation) member(name string) error {
	switch name {
	case "metadata", "response", "output":
		return op.inside(func() error { _, err := op.value(); return err })
	case "inlinedresponses":
		err := op.inside(op.result)
		op.repeats = op.items > 0
		return err
	case "operations":
		return op.inside(op.listed)
	}
	raw, err := op.value()
	if err != nil {
		return err
	}
	switch name {
	case "done":
		op.done = op.done || string(raw) == "true"
	case "createtime":
		op.created = raw
	case "batchstats":
		_ = wire.Read(raw, &op.counts) // they say how far it is, and no more
	case "error":
		op.failure = raw
	default:
		op.text(name, raw)
	}
	return nil
}

// text keeps the first text of a name, and no value of another type.
func (op *operation) text(name string, raw json.RawMessage) {
	to := map[string]*string{
		"name": &op.id, "displayname": &op.key, "state": &op.state, "responsesfile": &op.file, "nextpagetoken": &op.next,
	}[name]
	var said wire.Word
	if to == nil {
		op.odd = true
	} else if wire.Read(raw, &said) == nil {
		*to = cmp.Or(*to, string(said))
	}
}

// inside reads an object with further members, or each item of a list.
func (op *operation) inside(item func() error) error {
	first, err := op.decoder.Token()
	switch {
	case err != nil:
		return err
	case first == json.Delim('{'):
		return op.members()
	case first == json.Delim('['):
		for op.decoder.More() {
			if err := item(); err != nil {
				return err
			}
		}
		_, err = op.decoder.Token()
	}
	return err
}

func (op *operation) value() (raw json.RawMessage, err error) {
	if op.piece != nil {
		op.piece()
	}
	err = op.decoder.Decode(&raw)
	return raw, err
}

func (op *operation) result() error {
	raw, err := op.value()
	if err != nil || op.repeats {
		return err
	}
	if op.items++; op.each != nil {
		return op.each(raw)
	}
	return nil
}

func (op *operation) listed() error {
	if len(op.list) >= maxOperations {
		return eval.Errorf(eval.KindTooLarge, "a page of the list has more than %d batches", maxOperations)
	}
	one := operation{decoder: op.decoder, piece: op.piece}
	err := one.read()
	op.list = append(op.list, one)
	return err
}
