package promptfoo

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// variables reads the variables of a test. Lists of texts go to matrix, because promptfoo makes a test of
// each combination. If whole is set, promptfoo does not, and lists are values.
func (c *converter) variables(s src, with *mapping, whole bool) (vars, matrix *mapping) {
	vars, matrix = &mapping{}, &mapping{}
	has := map[string]bool{}
	if with != nil {
		for _, e := range with.entries {
			if s.get(e.key).IsZero() {
				vars.set(e.key, e.value)
				has[e.key] = true
			}
		}
	}
	if s.IsScalar() || s.IsSequence() {
		c.variableFiles(s, vars, has)
	}
	known := scalars(c.defaults.at.get("vars"))
	around, others := textsOf(vars.entries)
	for _, e := range s.entries() {
		others[e.key] = true
	}
	for name := range others {
		delete(known, name)
	}
	maps.Copy(known, around)
	maps.Copy(known, scalars(s))
	for _, e := range s.entries() {
		if !c.fates.spend(1) {
			break
		}
		has[e.key] = true
		values := c.several(e.src)
		switch {
		case e.why() != nil || slices.ContainsFunc(e.items(), func(item src) bool { return item.why() != nil }):
			c.lackVariable(vars, e)
			continue
		case values != nil && !whole:
			matrix.set(e.key, values)
			e.ok("as `matrix`, since promptfoo makes a test of each")
			continue
		}
		c.setVariable(vars, e, known)
	}
	s.ok("as `vars`")
	c.columns = append(c.columns, has)
	for _, e := range slices.Concat(vars.entries, matrix.entries) {
		c.keepKeys(s.path+"."+e.key, e.value)
	}
	return vars, matrix
}

// keepKeys notes the texts of a variable; see secrets.keep.
func (c *converter) keepKeys(path string, value yamlValue) {
	switch v := value.(type) {
	case literal: // a number or a word
	case textValue:
		c.fates.secrets.keep(path, string(v))
	case *mapping:
		for _, e := range v.entries {
			c.keepKeys(path, e.value)
		}
	case *sequence:
		for _, e := range v.items {
			c.keepKeys(path, e.value)
		}
	}
}

// setVariable sets a variable. One whose value cannot be imported stays undefined, so that nothing is sent without it. A template that
// cannot be rendered stays one in a single test, which is unscored.
func (c *converter) setVariable(vars *mapping, e keyed, known map[string]string) {
	value := c.variable(e.src, known)
	if e.why() != nil && (value == textValue("") || strings.HasPrefix(e.path, "defaultTest")) {
		c.lackVariable(vars, e)
		return
	}
	vars.set(e.key, value)
}

func (c *converter) lackVariable(vars *mapping, e keyed) {
	c.broken[e.key] = true
	vars.note("TODO: `" + diag.CleanLine(e.key) + "`: see " + ReportFile)
}

func (c *converter) variableFiles(s src, vars *mapping, has map[string]bool) {
	for _, item := range s.items() {
		files, err := c.source.match(item.text())
		if err != nil {
			item.todo("%s", err)
			continue
		}
		for _, name := range files {
			file, ok := c.load(item, name)
			if !ok {
				continue
			}
			for _, e := range file.entries() {
				vars.set(e.key, plainValue(e.src))
				has[e.key] = true
				e.ok("as a variable")
			}
			c.fates.account(file)
		}
		item.ok("read from the file")
	}
}

// several returns the values of a variable that each make a test; nil for a single value.
func (c *converter) several(s src) *sequence {
	if text := s.text(); strings.HasPrefix(text, "file://") && strings.ContainsAny(text, "*?{") {
		files, err := c.source.match(text)
		if err != nil {
			return nil
		}
		out := &sequence{}
		for _, name := range files {
			out.add(textValue(c.fileText(s, name)))
		}
		return out
	}
	if !s.IsSequence() || len(s.items()) == 0 {
		return nil
	}
	if first := s.items()[0]; !first.IsScalar() || first.IsNumber() || first.IsBool() || first.IsNull() {
		return nil
	}
	out := &sequence{}
	for _, item := range s.items() {
		out.add(c.variable(item, nil))
	}
	return out
}

// variable returns the value of a variable, which is never a template in evalrun. It renders now what
// promptfoo would render.
func (c *converter) variable(s src, vars map[string]string) yamlValue {
	text := s.text()
	c.kindOf(s)
	if strings.HasPrefix(text, "file://") {
		return textValue(c.fileText(s, text))
	}
	if s.IsScalar() && !s.IsNumber() && !s.IsBool() && !s.IsNull() {
		text = strings.TrimSuffix(text, "\n")
		if strings.Contains(text, "{{") || strings.Contains(text, "{%") {
			return textValue(c.nested(s, text, vars))
		}
		s.ok("as a variable")
		return textValue(text)
	}
	if s.IsNull() {
		s.differs("an empty text")
		return textValue("")
	}
	s.ok("as a variable")
	return plainValue(s)
}

// kindOf records variables that are numbers or booleans, because suites keep them as texts.
func (c *converter) kindOf(s src) {
	name := s.path[strings.LastIndex(s.path, ".")+1:]
	if s.IsNumber() || s.IsBool() {
		c.typed[name] = true
		return
	}
	c.texts[name] = true
	c.json[name] = c.json[name] || looksJSON(s.text()) || strings.HasPrefix(s.text(), "file://")
}

// typedIn lists the variables of a test and of the defaults that are numbers or booleans.
func typedIn(own, defaults src) (out []string) {
	for _, in := range []src{own, defaults} {
		for _, e := range in.entries() {
			if (e.IsNumber() || e.IsBool()) && (in.path == own.path || own.get(e.key).IsZero()) {
				out = append(out, e.key)
			}
		}
	}
	return out
}

// typedFile lists variables that are never texts. Shims restore their types for the author's code.
func (c *converter) typedFile() {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(c.typed)) {
		if !c.texts[name] {
			names = append(names, name)
		}
	}
	if data, err := json.Marshal(names); err == nil && len(names) > 0 && len(c.shims.used) > 0 {
		c.files["shims/typed.json"] = append(data, '\n')
	}
}

var simple = pattern{expression: `\{\{\s*(\w+)\s*\}\}`}

// nested fills in other variables of the test.
func (c *converter) nested(s src, text string, vars map[string]string) string {
	vars, lacks := c.contents(s, text, vars)
	if lacks != "" {
		s.todo("the variable `%s`: the import cannot read it, and this value holds it", lacks)
		return text
	}
	missing := false
	out := simple.regexp().ReplaceAllStringFunc(text, func(m string) string {
		value, ok := vars[simple.regexp().FindStringSubmatch(m)[1]]
		if !ok {
			missing = true
			return m
		}
		return value
	})
	tags := func(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "{%") }
	switch {
	case !missing && !tags(out):
		s.differs("other variables are filled in: what a variable holds is data here, and never a template")
	case missing && !tags(simple.regexp().ReplaceAllString(text, "")): // promptfoo leaves a value with a missing variable unchanged
		s.differs("other variables are filled in; the braces of one that a test lacks stay, as in promptfoo")
	default:
		return c.renderedNow(s, out, vars)
	}
	return out
}

// fillIn fills in other variables in the values of a test's variables and of the defaults, as promptfoo does for each test. lost says
// which it cannot.
func (c *converter) fillIn(vars, matrix *mapping) (lost []string) {
	known, own := textsOf(slices.Concat(c.defaults.vars.entries, vars.entries, matrix.entries))
	fill := func(name, text string) yamlValue {
		out := filled(name, text, known)
		if why := c.notText(out, known, own); why != "" {
			lost = append(lost, fmt.Sprintf("the variable `%s` %s", name, why))
		}
		return textValue(out)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		switch text := known[name]; {
		case !simple.regexp().MatchString(text):
		case vars.get(name) != nil:
			vars.replace(name, fill(name, text))
		default:
			vars.set(name, fill(name, text))
		}
	}
	for _, e := range matrix.entries {
		list, _ := e.value.(*sequence)
		for i := range list.items {
			if text, ok := list.items[i].value.(textValue); ok {
				list.items[i].value = fill(e.key, string(text))
			}
		}
	}
	return lost
}

// notText says which variable a text still holds that is not one text; "" for none.
func (c *converter) notText(text string, known map[string]string, all map[string]bool) string {
	for _, m := range simple.regexp().FindAllStringSubmatch(text, -1) {
		if _, isText := known[m[1]]; !isText && (all[m[1]] || c.broken[m[1]]) {
			return fmt.Sprintf("holds `%s`, which is not one text here: write it out", m[1])
		}
	}
	return ""
}

// textsOf returns the variables that are texts, and which there are. Of one name the last counts.
func textsOf(vars []keyValue) (texts map[string]string, all map[string]bool) {
	texts, all = map[string]string{}, map[string]bool{}
	for _, e := range vars {
		delete(texts, e.key)
		switch v := e.value.(type) {
		case textValue, literal: // a literal is a number or a word
			texts[e.key] = fmt.Sprint(v)
		case *mapping, *sequence:
		}
		all[e.key] = e.isKey()
	}
	return texts, all
}

// filled fills in the variables that are known, up to five times, as promptfoo does.
func filled(name, text string, known map[string]string) string {
	const longest = 1 << 20 // bytes, of values that hold each other
	for range 5 {
		out := simple.regexp().ReplaceAllStringFunc(text, func(m string) string {
			of := simple.regexp().FindStringSubmatch(m)[1]
			if value, ok := known[of]; ok && of != name {
				return value
			}
			return m
		})
		if out == text || len(out) > longest {
			break
		}
		text = out
	}
	return text
}

// contents replaces the names of files by what they hold, as promptfoo does before it fills in variables. lacks is a variable of the
// text whose file cannot be read.
func (c *converter) contents(s src, text string, vars map[string]string) (read map[string]string, lacks string) {
	read, used := maps.Clone(vars), wordsInTags(text)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if !strings.HasPrefix(vars[name], "file://") || !used[name] {
			continue
		}
		at := src{s.Node, s.path, s.file, newFates(&secrets{})} // the variable itself reports its file
		read[name] = c.fileText(at, vars[name])
		if at.why() != nil {
			return nil, name
		}
	}
	return read, ""
}

var (
	// inBraces matches braces and what is in them. Braces in a string end no tag.
	inBraces = pattern{expression: `(?s)\{[{%](?:"[^"]*"|'[^']*'|.)*?[%}]\}`}
	onlyWord = pattern{expression: `[\pL\pN_$]+`}
)

// wordsInTags lists the words in the braces of a template: each variable that it uses is one.
func wordsInTags(text string) map[string]bool {
	out := map[string]bool{}
	for _, t := range inBraces.regexp().FindAllString(text, -1) {
		for _, w := range onlyWord.regexp().FindAllString(t, -1) {
			out[w] = true
		}
	}
	return out
}

// renderedNow renders the value of a variable that is a template with more than names of variables, as promptfoo does before prompts
// that are not JSON.
func (c *converter) renderedNow(s src, text string, vars map[string]string) string {
	if slices.ContainsFunc(c.prompts, (*prompt).isJSON) {
		if slices.ContainsFunc(c.prompts, func(p *prompt) bool { return !p.isJSON() }) {
			s.todo("its value is a template, which promptfoo renders in some of the prompts, and not in JSON: write what it becomes")
			return text
		}
		s.differs("what a variable holds is data here, and never a template: the braces stay")
		return text
	}
	known := eval.Dict{}
	for name, value := range vars {
		known[name] = value
	}
	t, err := dialect{}.translate(text)
	if err == nil {
		for _, name := range t.uses {
			if _, ok := vars[name]; !ok {
				err = fmt.Errorf("`%s` is no text of this test", name)
			}
		}
	}
	var parsed *expr.Template
	if err == nil {
		parsed, err = expr.Parse(t.text)
	}
	out := text
	if err == nil {
		out, err = parsed.Render(known)
	}
	switch {
	case err != nil:
		s.todo("its value is a template in promptfoo, which cannot be rendered here (%s): write what it becomes", err)
		return text
	case out == text:
		s.ok("as a variable")
	default:
		s.differs("rendered by the import: what a variable holds is data here, and never a template")
	}
	return out
}

func scalars(s src) map[string]string {
	out := map[string]string{}
	for _, e := range s.entries() {
		if e.IsScalar() && !strings.Contains(e.text(), "{{") {
			out[e.key] = e.text()
		}
	}
	return out
}

// fileText returns the content of a file, as promptfoo passes it to templates.
func (c *converter) fileText(s src, ref string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, "file://"), ":")
	if language(name) != "" {
		s.todo("a program computes it, and an import runs nothing; write the value")
		return ""
	}
	name, data, err := c.source.readText(strings.TrimPrefix(ref, "file://"))
	if err != nil {
		s.todo("%s", err)
		return ""
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	switch {
	case !utf8.ValidString(text) || path.Ext(name) == ".pdf":
		s.todo("%s is not a text; show it with `image: FILE` or `data: FILE` in `parts` of a prompt", name)
		return ""
	case path.Ext(name) == ".yaml" || path.Ext(name) == ".yml":
		var ignored diagList
		if n, ok := yaml.Parse(name, data, &ignored); ok {
			text = compactJSON(src{n, "", "", newFates(&secrets{})})
		}
	}
	s.differs("the text of %s as it was when it was imported", name)
	return strings.TrimSpace(text)
}

func compactJSON(s src) string {
	out, err := json.Marshal(native(plainValue(s)))
	if err != nil {
		return ""
	}
	return string(out)
}

type options struct {
	changes []change
	judge   *string // see scope
	prompt  src     // of judges
	prefix  string
	suffix  string
	repeats int
	lost    []string // why the test is another one without keys that have no counterpart
	whole   bool     // lists are values of variables
	alone   bool     // the assertions of defaultTest do not apply
}

func (c *converter) testOptions(s src) (o options) {
	if !s.IsMapping() {
		return o
	}
	for _, key := range []string{"transform", "postprocess"} {
		if t := s.get(key); !t.IsZero() {
			o.changes = append(o.changes, c.changeOf(t))
		}
	}
	if p := s.get("provider"); !p.IsZero() {
		o.judge = new(c.judge(p))
	}
	o.whole = s.get("disableVarExpansion").text() == "true"
	s.get("disableVarExpansion").ok("as `vars` instead of `matrix`")
	o.alone = s.get("disableDefaultAsserts").text() == "true"
	s.get("disableDefaultAsserts").ok("as `inheritScorers: false`")
	if n, ok := number(s.get("repeat")); ok {
		o.repeats = int(n)
	}
	s.get("repeat").ok("as `repeats`")
	for key, to := range map[string]*string{"prefix": &o.prefix, "suffix": &o.suffix} {
		if a := s.get(key); !c.affix(a, to) {
			o.lost = append(o.lost, "`"+key+"`: "+a.note())
		}
	}
	o.prompt = s.get("rubricPrompt")
	o.prompt.ok("in judges of `llm-rubric`")
	for _, key := range []string{"transformVars", "storeOutputAs"} {
		if t := s.get(key); !t.IsZero() {
			t.todo("%s", optionTODO[key])
			o.lost = append(o.lost, "`"+key+"`: "+optionTODO[key])
			c.broken[t.text()] = true // what other tests would read of it
		}
	}
	s.get("runSerially").differs("as a flag: `evalrun run --concurrency 1`")
	s.rest("factuality", "disableConversationVar", "storeOutputAs", "response_format")
	s.ok("as the case")
	return o
}

var optionTODO = map[string]string{
	"transformVars": "an import runs nothing; write the variables as they are to be",
	"storeOutputAs": "a test cannot use the answer of another; write a live chat (`live: true`)",
}

// affix reads a prefix or a suffix of prompts. In a single test it is the value of a variable, which cannot be a template.
func (c *converter) affix(s src, to *string) bool {
	text, ok := c.text(s, dialect{})
	if ok && !strings.HasPrefix(s.path, "defaultTest") && strings.Contains(text, "{{") {
		s.todo("the prefix or suffix of one test's prompts is a variable here, and never a template")
		ok = false
	}
	if ok {
		*to = text
		s.ok("in the prompts")
	}
	return ok
}
