// Package expr has the three languages of suites: templates, jq and expressions. Each is bounded in steps, time and size, and
// reports problems with their positions.
package expr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/evalrun/evalrun/eval"
)

// Bounds of one rendering: bytes written, number of writes, and bytes that its functions read and write.
const (
	MaxOutput = 8 << 20
	maxWrites = 200_000
	maxWork   = 16 << 20
)

// rootName is the name of the parsed template. {{define}} cannot contain it.
const rootName = "\x00"

// TemplateError is a problem in a template or in its variables. Offset is its position in the template, in bytes.
type TemplateError struct {
	Offset  int
	Message string
	Missing string       // the missing variable, if that is the problem
	Inside  bool         // a part of the variable is missing
	Slip    templateSlip // the probable cause
	Name    string       // of the function, for SlipNoDot
}

// templateSlip is a common slip in templates, for which there is a hint.
type templateSlip int

// The slips that Parse recognizes.
const (
	slipNone      templateSlip = iota
	SlipNoDot                  // {{name}} for {{.name}}
	SlipOneBrace               // } for }}
	SlipDelimiter              // {{ meant as text
)

// slipOf recognizes a slip by the message, because text/template has no error types.
func slipOf(message string) (slip templateSlip, name string) {
	switch m := undefinedFunction().FindStringSubmatch(message); {
	case m != nil:
		return SlipNoDot, m[1]
	case strings.HasPrefix(message, "bad character U+007D"):
		return SlipOneBrace, ""
	case strings.HasPrefix(message, "unclosed"), strings.HasPrefix(message, "unexpected"), strings.HasPrefix(message, "unterminated"),
		strings.HasPrefix(message, "unrecognized"):
		return SlipDelimiter, ""
	}
	return slipNone, ""
}

var undefinedFunction = compiled(`^function "(.*)" not defined$`)

func (e *TemplateError) Error() string { return e.Message }

// AsTemplateError finds the TemplateError in an error of this package. Any other error becomes one that has its message.
func AsTemplateError(err error) *TemplateError {
	if e, ok := errors.AsType[*TemplateError](err); ok {
		return e
	}
	return &TemplateError{Message: err.Error()}
}

// Field is a use of a variable or function.
type Field struct {
	Name   string
	Offset int
}

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	text    string
	t       *template.Template // nil if the text has no actions
	fields  []Field
	calls   []Field // calls of the dialect's functions
	all     bool
	works   bool // calls functions that take long or have a new result in each rendering
	dialect *Dialect
	single  single
	plain   []piece // the whole template, if it is only texts and variables
}

// work bounds the functions of one rendering.
type work struct {
	left  int
	taken any // value of a single action
}

func (w *work) charge(n int) error {
	if w.left -= n; w.left < 0 {
		return errTemplateTooMuch
	}
	return nil
}

func (w *work) functions() template.FuncMap {
	onText := func(f func(string) string) func(eval.Value) (string, error) {
		return func(v eval.Value) (string, error) {
			s := fmt.Sprint(v)
			return f(s), w.charge(2 * len(s))
		}
	}
	return template.FuncMap{
		"lower": onText(strings.ToLower), "upper": onText(strings.ToUpper), "trim": onText(strings.TrimSpace),
		"json": w.json, "jsonText": w.jsonText, "fromJson": w.fromJSON, "join": w.join, "split": w.split,
		"replace": w.replace, "index": index,
	}
}

func (w *work) json(v eval.Value) (string, error) {
	if s, ok := v.(string); ok { // escaping may make it six times as long
		if err := w.charge(6 * len(s)); err != nil {
			return "", err
		}
	}
	out := eval.JSON(v)
	return out, w.charge(len(out))
}

// jsonText writes a value for a place between the quotes of a JSON text.
func (w *work) jsonText(v eval.Value) (string, error) {
	out, err := w.json(fmt.Sprint(v))
	if err != nil {
		return "", err
	}
	return out[1 : len(out)-1], nil
}

// fromJSON reads a text that is a list or a mapping in JSON. Other values stay as they are, because the texts of one place may be both.
func (w *work) fromJSON(v eval.Value) (eval.Value, error) {
	s, ok := v.(string)
	if !ok || !strings.ContainsAny(s, "[{") {
		return v, nil
	}
	if err := w.charge(len(s) + perItem*(1+strings.Count(s, ","))); err != nil {
		return nil, err
	}
	read, err := eval.ParseValue([]byte(s))
	switch read.(type) {
	case eval.Array, eval.Object:
		if err == nil {
			return read, nil
		}
	}
	return v, nil
}

func (w *work) replace(from, to string, v eval.Value) (string, error) {
	in := fmt.Sprint(v)
	if err := w.charge(len(in) + strings.Count(in, from)*max(0, len(to)-len(from))); err != nil {
		return "", err
	}
	return strings.ReplaceAll(in, from, to), nil
}

func (w *work) split(sep string, v eval.Value) (eval.Array, error) {
	in := fmt.Sprint(v)
	if err := w.charge(len(in) + perItem*(1+strings.Count(in, sep))); err != nil {
		return nil, err
	}
	var out eval.Array
	for s := range strings.SplitSeq(in, sep) {
		out = append(out, s)
	}
	return out, nil
}

func (w *work) join(sep string, v eval.Value) (string, error) {
	list, ok := v.(eval.Array)
	if !ok {
		return "", fmt.Errorf("join takes a list, and this is %s", describedValue(v))
	}
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteString(sep)
		}
		if _, null := v.(eval.Null); !null { // null prints nothing, however the suite spells it
			fmt.Fprint(&b, v)
		}
		if b.Len() > MaxOutput {
			return "", errTemplateTooMuch
		}
	}
	return b.String(), w.charge(b.Len())
}

// HasActions reports whether rendering text would change it.
func HasActions(text string) bool { return strings.Contains(text, "{{") }

var parseError = compiled(`^template: \x00:(\d+):(?:(\d+):)? (?s)(.*)$`)

// Parse parses a template. The error is a *TemplateError.
func Parse(text string) (*Template, error) { return new(Dialect).Parse(text) }

// Parse parses a template of the dialect. The error is a *TemplateError.
func (d *Dialect) Parse(text string) (*Template, error) {
	out := &Template{text: text, dialect: d}
	if !HasActions(text) {
		out.text = d.literal(text)
		return out, nil
	}
	if found := block().FindAllStringIndex(text, maxBlocks+1); len(found) > maxBlocks {
		message := fmt.Sprintf("more than %d blocks, such as if and range", maxBlocks)
		return nil, &TemplateError{Offset: found[maxBlocks][0], Message: message}
	}
	t, err := template.New(rootName).Option("missingkey=error").
		Funcs((&work{}).functions()).Funcs(comparisons).Funcs(d.functions(nil)).
		Parse(text)
	if err != nil {
		return nil, templateErrorAt(text, err)
	}
	if len(t.Templates()) > 1 {
		return nil, &TemplateError{Offset: strings.Index(text, "{{"), Message: "a template cannot define others"}
	}
	w := walker{out: out, dialect: d}
	out.single = d.singleOf(t.Root)
	w.list(t.Root, true)
	if w.err != nil {
		return nil, w.err
	}
	out.t, out.plain = t.Funcs(access), plainOf(out, t.Root)
	return out, nil
}

// maxBlocks bounds the blocks of a template. The parser recurses for each that is inside another, and a stack that
// overflows ends the process.
const maxBlocks = 10_000

var block = compiled(`\{\{-?\s*(if|range|with|block|define|else)\b`)

// Literal returns a template that renders to the text as it is.
func Literal(text string) *Template { return &Template{text: text} }

// Fields lists the uses of variables at the top level, in the order of the text.
func (t *Template) Fields() []Field { return t.fields }

// UsesAll reports whether the template uses all variables at once ({{.}}), so that none of them counts as
// unused.
func (t *Template) UsesAll() bool { return t.all }

// IsConstant reports whether the template has no actions.
func (t *Template) IsConstant() bool { return t.t == nil }

// Budget bounds many renderings together: the bytes that they add to their templates, and steps. A nil
// Budget has no limit.
type Budget struct{ left int }

// perStep is the cost of a step in bytes: a step takes about as long as copying that many.
const perStep = 64

// Grow adds bytes to the budget.
func (b *Budget) Grow(bytes int) {
	if b != nil && b.left >= 0 {
		b.left += bytes
	}
}

// Spent reports whether the budget is exceeded.
func (b *Budget) Spent() bool { return b != nil && b.left < 0 }

func (b *Budget) take(bytes int) {
	if b != nil && bytes > 0 && b.left >= 0 {
		b.left -= bytes
	}
}

// ErrBudget is the error of a rendering that exceeds the Budget.
var ErrBudget = &TemplateError{Message: "the templates of the suite render too much together"}

// Render renders the template with variables. The error is a *TemplateError.
func (t *Template) Render(vars eval.Dict) (string, error) { return t.RenderWithin(vars, nil) }

// RenderWithin is Render with a budget.
func (t *Template) RenderWithin(vars eval.Dict, budget *Budget) (string, error) {
	return t.RenderData(Data{Vars: vars}, budget)
}

// RenderData renders with variables and the results of the dialect's functions, within a budget. The error
// is a *TemplateError.
func (t *Template) RenderData(in Data, budget *Budget) (string, error) {
	if t.t == nil {
		return t.text, nil
	}
	return t.run(in, budget, &work{left: maxWork})
}

func (t *Template) run(in Data, budget *Budget, load *work) (string, error) {
	if budget.Spent() {
		return "", ErrBudget
	}
	if text, ok := t.join(in.Vars, budget); ok {
		return text, nil
	}
	var w boundedOutput
	run := t.t
	if t.works {
		clone, err := run.Clone()
		if err != nil {
			return "", &TemplateError{Message: err.Error()}
		}
		run = clone.Funcs(load.functions()).Funcs(t.dialect.functions(in.Functions)).Funcs(load.endings(t.dialect))
	}
	err := run.Execute(&w, in.Vars)
	budget.take(perStep*w.writes + maxWork - max(0, load.left) + w.b.Len() - len(t.text))
	if err != nil {
		if errors.Is(err, errTemplateTooMuch) {
			return "", &TemplateError{Message: errTemplateTooMuch.Error()}
		}
		return "", templateErrorAt(t.text, err)
	}
	return w.b.String(), nil
}

var errTemplateTooMuch = fmt.Errorf("the template renders to more than %d bytes or takes more than %d steps", MaxOutput, maxWrites)

// boundedOutput stops a rendering that runs away. Each pass of a range writes at least once (see meterLoop), so
// counting writes bounds the steps.
type boundedOutput struct {
	b      strings.Builder
	writes int
}

func (w *boundedOutput) Write(p []byte) (int, error) {
	if w.writes++; w.writes > maxWrites || w.b.Len()+len(p) > MaxOutput {
		return 0, errTemplateTooMuch
	}
	return w.b.Write(p)
}

var (
	execPrefix = compiled(`^executing "\\x00" at <.*?>: (?s)(.*)$`)
	noEntry    = compiled(`map has no entry for key "(.*)"$`)
)

// templateErrorAt converts an error of text/template to a *TemplateError with an offset.
func templateErrorAt(text string, err error) *TemplateError {
	m := parseError().FindStringSubmatch(err.Error())
	if m == nil {
		return &TemplateError{Message: err.Error()}
	}
	offset := offsetOf(text, m[1], m[2])
	message := m[3]
	if strings.Contains(message, "unclosed action") {
		offset = max(strings.LastIndex(text, "{{"), 0)
	}
	if e := execPrefix().FindStringSubmatch(message); e != nil {
		message = strings.TrimPrefix(strings.TrimPrefix(e[1], "error calling "+templatePairs+": "),
			"error calling "+itemsName+": ")
	}
	out := &TemplateError{Offset: min(offset, len(text)), Message: message}
	out.Slip, out.Name = slipOf(message)
	if missing, ok := errors.AsType[*missingError](err); ok {
		return &TemplateError{Offset: missing.offset, Message: missing.message, Missing: missing.name, Inside: true}
	}
	if k := noEntry().FindStringSubmatch(message); k != nil {
		out.Missing = k[1]
		out.Message = fmt.Sprintf("there is no variable `%s`", k[1])
	}
	return out
}

// offsetOf returns the offset of a parse error. Without a column, it is the first action of the line.
func offsetOf(text, line, column string) int {
	n, _ := strconv.Atoi(line)
	offset := lineStart(text, n)
	if column != "" {
		col, _ := strconv.Atoi(column)
		return offset + col
	}
	return offset + max(0, strings.Index(text[offset:], "{{"))
}

func lineStart(text string, line int) int {
	offset := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	return offset
}
