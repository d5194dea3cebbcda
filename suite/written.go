package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// maxWritten is the most cases that a program may write.
const maxWritten = 100_000

// notWithProgram lists the keys of an entry of `cases` that do not go with `program`.
func notWithProgram() []string {
	out := []string{"id", "each", "matrix"}
	for _, key := range datasetKeys() {
		out = append(out, key.Name)
	}
	return out
}

// writtenCases returns the cases that a program writes, each with what the entry of the suite, m, says of all of them. There are none
// if the program did not run.
func (l *loader) writtenCases(m yaml.Map) []*caseDef {
	for _, key := range notWithProgram() {
		if m.Has(key) {
			m.Key(key).Errorf("leave it to the program", "`%s` does not go with `program`", key)
		}
	}
	g := l.generator(m)
	entry := l.caseDef(m)
	entry.base = merged(l.table.defaults.base, entry.ownVars())
	l.noteMetrics(&entry)
	if name := m.Get("name"); !name.IsZero() {
		entry.name = l.caseName(name)
	}
	if v := m.Get("inheritScorers"); !v.IsZero() {
		entry.alone = !v.Bool()
	}
	if g == nil {
		return nil
	}
	text, ok := l.listOf(g)
	if !ok {
		l.unwritten.Lists++
		l.metricNames.open = true
		return nil
	}
	return l.readCasesOf(g, &entry, text)
}

// listOf returns the output of a program that writes cases. ok is false when it did not run.
func (l *loader) listOf(g *generator) (text string, ok bool) {
	words, _ := json.Marshal(g.command.Words) // texts always encode
	key := outputKey{Input: hashOf(words)}
	if text, ok = l.outputs.get(key); ok || !l.opts.Programs.Run || l.diags.HasErrors() {
		return text, ok
	}
	text, err := g.run([]byte(`{"version":1}`), &l.opts.Programs)
	if err == nil {
		err = l.outputs.add(key, text)
	}
	if err != nil {
		g.node.Errorf("", "%s", err)
	}
	return text, err == nil
}

func (l *loader) readCasesOf(g *generator, entry *caseDef, text string) (out []*caseDef) {
	file := "the output of " + path.Base(g.source())
	in := *l // with the same lists of problems
	in.verbatim = true
	n := 0
	for range listed(text) {
		if n++; n > maxWritten {
			g.node.Errorf("a dataset has room for more", "the program writes more than %d cases", maxWritten)
			return nil
		}
	}
	n = 0
	for line, raw := range listed(text) {
		pos := diag.Pos{File: file, Line: line, Col: 1}
		n++
		if raw == nil {
			l.diags.Errorf(pos, "write JSON lines, or a list, by a JSON library", "it is not JSON from here on")
			return out
		}
		value, err := eval.ParseValue(raw)
		if err != nil {
			l.diags.Errorf(pos, "", "%s", err)
			continue
		}
		m := g.node.With(value).At(pos).Map(append(defaultsBlock().Names(), "name", "id", "inheritScorers")...)
		def := in.writtenCase(m, entry)
		if def.name.t == nil {
			def.name = source{t: expr.Literal(fmt.Sprintf("%s %d", strings.TrimSuffix(path.Base(g.source()), path.Ext(g.source())), n))}
		}
		def.at = pos
		l.noteMetrics(def)
		out = append(out, def)
		if l.diags.Len() >= maxBadRows && l.diags.HasErrors() {
			return out
		}
	}
	if n == 0 {
		g.node.Errorf("", "the program writes no case")
	}
	return out
}

// writtenCase reads a case. What its entry in the suite says counts where the case says nothing else, and scorers add up.
func (l *loader) writtenCase(m yaml.Map, entry *caseDef) *caseDef {
	def := l.caseDef(m)
	def.entry, def.name, def.alone = entry, entry.name, entry.alone
	if name := m.Get("name"); !name.IsZero() && strings.TrimSpace(name.Str()) != "" {
		def.name = source{t: expr.Literal(strings.Join(strings.Fields(name.Str()), " ")), node: name}
	}
	if v := m.Get("inheritScorers"); !v.IsZero() {
		def.alone = !v.Bool()
	}
	def.base = merged(entry.base, def.ownVars())
	def.vars = nil // columns that nothing uses are no problem
	def.fill(entry.settings)
	for key, r := range entry.open {
		if !slices.Contains(def.given, key) {
			def.opens(key, r)
		}
	}
	def.given = append(def.given, entry.given...)
	if def.arms == nil {
		def.arms = entry.arms
	}
	if def.isolated == nil {
		def.isolated = entry.isolated
	}
	def.scorers = slices.Concat(entry.scorers, def.scorers)
	return &def
}

// listed yields the values of a JSON list, or of JSON lines, with the line on which each begins; nil for what is not JSON.
func listed(text string) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		data := []byte(text)
		dec := json.NewDecoder(bytes.NewReader(data))
		line, counted := 1, 0
		next := func() (raw json.RawMessage, err error) {
			at := int(dec.InputOffset())
			for at < len(data) && strings.IndexByte(" \t\r\n,", data[at]) >= 0 {
				at++
			}
			line, counted = line+bytes.Count(data[counted:at], []byte("\n")), at
			err = dec.Decode(&raw)
			return raw, err
		}
		inList := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
		if inList {
			_, _ = dec.Token() // the bracket
		}
		for !inList || dec.More() {
			raw, err := next()
			if !inList && errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				raw = nil
			}
			if !yield(line, raw) || err != nil {
				return
			}
		}
		_, err := dec.Token() // the bracket at the end
		if err == nil {
			_, err = next()
		}
		if !errors.Is(err, io.EOF) || counted < len(data) {
			yield(line, nil)
		}
	}
}
