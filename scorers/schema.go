package scorers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/jsondiff"
	"github.com/evalrun/evalrun/internal/yaml"
)

func schemaKind() Kind {
	return Kind{
		Name: "jsonSchema", Summary: "the answer is JSON that a JSON Schema allows", Version: 2,
		Doc: "Takes `{schema}`, a JSON Schema in YAML, or `{file}`, a JSON or YAML file of the project, which is a part of the " +
			"suite. The reason lists each violation with its JSON Pointer.\n\n" +
			"- Without `$schema` it is draft 2020-12; drafts 4, 6, 7 and 2019-09 are known.\n" +
			"- `format` is asserted in every draft (date, email, uuid and the like); an unknown one is a warning. `pattern` is " +
			"RE2.\n" +
			"- A key that is probably misspelled (`tpye`), or a keyword of another draft, is an error. Other unknown keys are a " +
			"warning; `x-` keys are yours.\n" +
			"- `$ref` stays within the schema (`#/$defs/item`). References to files and addresses are errors.\n" +
			"- `fence: true` reads the first fenced block (```), if any. Otherwise the whole answer must be one JSON value.\n\n" +
			"An answer that is not JSON fails, and `not:` does not turn that into a pass. Numbers of more than 400 characters, or " +
			"with exponents beyond 400, are unscored.",
		Example: "- jsonSchema:\n    schema:\n      type: object\n      required: [queue, priority]\n      properties:\n        queue: " +
			"{enum: [billing, access, other]}\n        priority: {type: integer, minimum: 1, maximum: 3}",
		takes: schemaKeys().Shape(), compile: compileSchema,
	}
}

const schemaURL = "evalrun:///schema.json"

var schemaKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		One: []string{"schema", "file"},
		Keys: []yaml.Key{
			{Name: "schema", Is: yaml.MapShape(yaml.Any), Doc: "A JSON Schema, in YAML."},
			{Name: "file", Is: yaml.Text, Doc: "A JSON or YAML file of the project with the schema."},
			{Name: "fence", Is: yaml.Bool, Doc: "Reads the first fenced block, when there is one."},
		},
	}
})

func compileSchema(a args) AnswerScorer {
	m := a.Args.Map(schemaKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	fence := m.Get("fence").Bool()
	src, ok := a.schemaSource(m)
	if !ok {
		return nil
	}
	if why := expr.Unreadable(src.doc); why != "" {
		src.errorf("", "the schema holds %s", why)
		return nil
	}
	src.warnOfFormats(src.doc)
	known := src.checkKeywords()
	first, err := newValidator(src.doc)
	if err != nil {
		src.report(err)
		return nil
	}
	if !known {
		return nil
	}
	pool := &validators{doc: src.doc, idle: []*validator{first}}
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding {
		text := got
		if fence {
			text = unfenced(got)
		}
		value, failed := readJSON(text)
		if failed != nil {
			return *failed
		}
		if why := expr.Unreadable(value); why != "" {
			return Unscored("the answer holds %s: too much for a schema", why)
		}
		v := pool.take()
		defer pool.put(v)
		return v.validate(value, min(maxSteps, minSteps+2*len(text)))
	})
}

// refuse is a loader of references that loads nothing.
type refuse struct{}

var errRefused = errors.New("references to files and addresses are not followed")

func (refuse) Load(string) (any, error) { return nil, errRefused }

// stepCounter bounds the work of a validation, which cannot be cancelled: with alternatives in a recursive schema
// it grows exponentially with the depth of the answer. It is an extension of every schema object, called whenever
// one is applied.
type stepCounter struct{ left int }

// A validation may take minSteps steps, plus two per byte of the answer, up to maxSteps.
const minSteps, maxSteps = 200_000, 1_000_000

type tooManySteps struct{}

// Validate counts a step, and panics above the bound.
func (s *stepCounter) Validate(*jsonschema.ValidatorContext, any) {
	if s.left--; s.left < 0 {
		panic(tooManySteps{})
	}
}

// validator is a compiled schema with its step counter, for one validation at a time.
type validator struct {
	schema *jsonschema.Schema
	steps  *stepCounter
}

func newValidator(doc any) (*validator, error) {
	steps := &stepCounter{}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, f := range strictFormats() {
		c.RegisterFormat(f)
	}
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL:     "evalrun:///steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) { return steps, nil },
	})
	c.AssertVocabs()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(schemaURL)
	return &validator{schema, steps}, err
}

// validators pools validators of a schema: one for each concurrent validation.
type validators struct {
	doc  any
	mu   sync.Mutex
	idle []*validator
}

func (p *validators) take() *validator {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		v := p.idle[last]
		p.idle = p.idle[:last]
		return v
	}
	v, err := newValidator(p.doc)
	if err != nil { // it compiled before
		panic(err)
	}
	return v
}

func (p *validators) put(v *validator) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, v)
}

func (v *validator) validate(value any, limit int) (f Finding) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case tooManySteps:
			f = Unscored("the schema takes more than %d steps on this answer", limit)
		default:
			panic(p)
		}
	}()
	v.steps.left = limit
	err := v.schema.Validate(value)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return Pass("the answer is JSON that the schema allows")
	case !errors.As(err, &invalid):
		return Unscored("the schema could not be applied: %s", visibleText(err.Error()))
	}
	lines, total := violations(invalid)
	f = Fail("%s", lines[0])
	if total > 1 {
		f.Reason = fmt.Sprintf("%d violations: %s", total, strings.Join(lines[:min(3, len(lines))], "; "))
	}
	if shown := min(jsondiff.MaxDifferences, len(lines)); total > shown {
		lines = append(lines[:shown], fmt.Sprintf("... and %d more", total-shown))
	}
	f.Diff = strings.Join(lines, "\n")
	return f
}

var english = message.NewPrinter(language.English)

// maxViolations bounds how many errors are described.
const maxViolations = 1000

// violations describes the innermost errors, each with the path of the value. total counts all of them.
func violations(err *jsonschema.ValidationError) (lines []string, total int) {
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		if total++; total <= maxViolations {
			lines = append(lines, pointer(e.InstanceLocation)+": "+visibleText(e.ErrorKind.LocalizedString(english)))
		}
	}
	walk(err)
	slices.Sort(lines) // the library visits properties in random order
	if total <= maxViolations {
		lines = slices.Compact(lines)
		total = len(lines)
	}
	return lines, total
}
