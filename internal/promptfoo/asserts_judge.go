package promptfoo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Models that promptfoo uses if the configuration names none.
const (
	gradingModel   = "gpt-5.5-2026-04-23"
	embeddingModel = "text-embedding-3-large"
)

type judges struct {
	all    []*mapping
	chosen string              // the name of promptfoo's default judge
	blocks map[string]string   // names by content
	byName map[string]*mapping // without their names
	names  names
}

// add returns the name of a judge, and adds one that is new.
func (j *judges) add(name string, block *mapping) string {
	content := render(block)
	if j.blocks[content] == "" {
		name = j.names.free(name, "-")
		j.blocks[content], j.byName[name] = name, block
		j.all = append(j.all, new(mapping).set("name", textValue(name)).join(block, ""))
	}
	return j.blocks[content]
}

// join adds all entries of another mapping except one.
func (m *mapping) join(other *mapping, without string) *mapping {
	for _, e := range other.entries {
		if e.key != without {
			m.entries = append(m.entries, e)
		}
	}
	return m
}

func (j *judges) addTo(out *mapping) {
	if len(j.all) > 0 {
		all := &sequence{}
		for _, m := range j.all {
			if m.text("name") == j.chosen {
				all.add(m, "promptfoo's own choice of a grader")
				continue
			}
			all.add(m)
		}
		out.set("judges", all)
	}
}

// judge returns the name of the judge that a provider becomes, "" if there is none, which the report says.
func (c *converter) judge(s src) string {
	if of := s.get("text"); !of.IsZero() { // an object with one provider for each use
		if e := s.get("embedding"); !e.IsZero() {
			c.embedding(e)
		}
		s.ok("as a judge")
		s.rest("classification", "moderation")
		return c.judge(of)
	}
	id := cmp.Or(s.text(), s.get("id").text())
	for _, t := range c.targets {
		if t.chats && id != "" && slices.Contains(t.names[1:], id) { // the label
			id = t.names[0]
		}
	}
	if file, function := scriptOf(id); language(file) != "" {
		return c.grader(s, id, file, function)
	}
	if isScript(id) || notGraders.matches(id) || agents.matches(id) {
		s.todo("a judge is a model of a service; put the program behind an endpoint that speaks the protocol of OpenAI")
		c.tail.note("TODO: the judge " + id + ": a judge is a model of a service")
		return ""
	}
	t := &target{at: s, block: &mapping{}, names: []string{id}}
	c.model(t, id)
	t.name = c.judges.add(plainName("grader-"+shortID(id), "grader"), t.block)
	s.get("id").ok("as the judge " + t.name)
	s.ok("as the judge " + t.name)
	s.rest("label", "prompts", "transform")
	return t.name
}

// grader keeps a program of the author that judges, and returns the name by which judged finds it; "" if it cannot be read.
func (c *converter) grader(s src, id, file, function string) string {
	copied, ok := c.copyCode(s, file)
	if !ok {
		return ""
	}
	g := one("file", textValue(copied)).set("id", textValue(id))
	if function != "" {
		g.set("name", textValue(function))
	}
	config := s.get("config")
	if config.IsMapping() {
		at := "shims/" + c.configNames.free("grader.config", "-") + ".json"
		c.files[at] = jsonOf(config)
		g.set("settings", textValue(at))
		config.ok("in " + at)
	}
	needs := javaScript
	if language(file) == python {
		c.shims.use(shimProviderPy)
		needs += " and " + python
	}
	s.get("id").ok("in a shim that needs " + needs)
	s.differs("the author's judge runs in a shim that needs %s", needs)
	s.rest("label")
	name := fmt.Sprintf("%s %d", id, len(c.graders)+1)
	c.graders[name] = g
	return name
}

// graded makes a scorer that asks a judge of the author, in the shim for assertions.
func (c *converter) graded(g, m *mapping, a assertion, own src) (*scorer, string) {
	if a.base != "llm-rubric" || m.get("rubric") == nil || !own.IsZero() {
		return nil, "its judge is a program, which the import asks by `llm-rubric` without a `rubricPrompt` alone"
	}
	changes := c.changesOf(a.src, a.in)
	if lost := lostIn(changes); lost != "" {
		return nil, lost
	}
	args := one("check", textValue(a.base)).set("value", m.get("rubric")).set("grader", g)
	c.shimArgs(args, a, changes)
	command := append([]string{javaScript, c.shims.use(shimAssertJS)}, c.loaded(g.text("file"), args)...)
	note := "by the author's judge, in a shim that needs node"
	return &scorer{kind: "exec", value: inShimOf(command, args), plain: true, note: note}, "" // plain: the shim changes the answer first
}

// notGraders matches providers that are not models of a service.
var notGraders = pattern{expression: `^(exec:|https?(:|$)|echo$)`}

// judgeOf returns the name of an assertion's judge, "" if it has no counterpart.
func (c *converter) judgeOf(a src, sc *scope) string {
	if p := a.get("provider"); !p.IsZero() {
		return c.judge(p)
	}
	if sc.judge != nil {
		return *sc.judge
	}
	if c.judges.chosen == "" {
		service := c.services.add("openai", openAIService())
		c.judges.chosen = c.judges.add("grader", new(mapping).set("service", textValue(service)).set("model", textValue(gradingModel)))
	}
	return c.judges.chosen
}

func openAIService() *mapping {
	p := placeOf("openai:" + gradingModel)
	return p.block(p.of.BaseURL, "")
}

// embedding records the model for `similar`, or why it has no counterpart.
func (c *converter) embedding(s src) {
	if c.embeds == "" {
		c.embeds = c.services.add("openai", openAIService())
	}
	id := cmp.Or(s.text(), s.get("id").text(), s.get("embedding").text(), s.get("embedding").get("id").text())
	if id == "" {
		return
	}
	prefix, rest, _ := strings.Cut(id, ":")
	_, model, _ := strings.Cut(rest, ":")
	if p := placeOf(prefix + ":"); p.of != nil && p.of.BaseURL != "" && model != "" {
		c.embeds = c.service(&target{at: s, block: &mapping{}}, p, s.get("config"))
		c.embedder = model
		s.ok("as `embedding`")
		return
	}
	c.unembedded = "name the model of the embedding in `embedding: {service, model}`"
	s.todo("%s", c.unembedded)
}

func rubric(least, note string) toScorer {
	return func(c *converter, a assertion) (*scorer, string) {
		texts, why := c.expectedList(a.get("value"))
		if why != "" {
			return nil, why
		}
		if len(texts) == 0 {
			return nil, "there is no rubric"
		}
		m := one("rubric", textValue(strings.Join(texts, "\n")))
		return c.judged(m, a, least, note)
	}
}

// judged completes a judge's scorer with its name and threshold.
func (c *converter) judged(m *mapping, a assertion, least, note string) (*scorer, string) {
	name := c.judgeOf(a.src, a.in)
	if name == "" {
		return nil, "its judge has no counterpart: a judge is a model of a service"
	}
	a.get("provider").ok("as the judge " + name)
	own := a.get("rubricPrompt")
	if own.IsZero() {
		own = a.in.prompt
	}
	if g := c.graders[name]; g != nil {
		return c.graded(g, m, a, own)
	}
	if !own.IsZero() {
		switch with, ok := c.ownPrompt(own, name, m); {
		case ok:
			name, m = with, new(mapping).set("with", one("rubric", m.get("rubric")))
		case m.get("rubric") != nil:
			return nil, "`rubricPrompt`: " + own.note()
		default:
			note = cmp.Or(note, "TODO: `rubricPrompt`: "+own.note())
		}
	}
	m.set("judge", textValue(name))
	if t := threshold(a.src, least); t != "" {
		m.set("min", t)
	}
	return &scorer{kind: "judge", value: m, note: note, not: a.not}, ""
}

func (c *converter) ownPrompt(s src, judge string, m *mapping) (string, bool) {
	base := c.judges.byName[judge]
	if m.get("rubric") == nil || base == nil {
		s.todo("only `llm-rubric` has a prompt of its own here")
		return "", false
	}
	text, ok := c.rubricTexts(s.items())
	if !ok {
		return "", false
	}
	if !strings.Contains(text, ".answer") {
		s.todo("a prompt of a judge shows the answer: {{ output }}")
		return "", false
	}
	file := c.templates[judge+"\x00"+text]
	if file == "" {
		file = c.templateNames.free("judges/"+judge, "-") + ".tmpl"
		c.templates[judge+"\x00"+text], c.files[file] = file, []byte(text)
	}
	block := new(mapping).join(base, "").set("template", textValue(file))
	s.differs("as the template of a judge, which puts fences around the answer and says what a reply looks like")
	return c.judges.add(judge+"-own", block), true
}

// formatLine is a line that asks for a JSON object with a verdict.
var formatLine = pattern{expression: `(?im)^[^\n{]*\bJSON\b[^\n]*["']pass["'][^\n]*\n?`}

func (c *converter) rubricTexts(items []src) (string, bool) {
	var parts []string
	for _, item := range items {
		part := item
		if item.IsMapping() {
			part = item.get("content")
		}
		text, ok := c.rubricText(part)
		if !ok {
			return "", false
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n"), true
}

// rubricText returns the prompt of a judge as a template. It also reads prompts in files, and chats in
// JSON.
func (c *converter) rubricText(s src) (string, bool) {
	text := s.text()
	if strings.HasPrefix(text, "file://") {
		text = c.fileText(s, text)
	}
	if turns, ok := (&prompt{text: text, at: s}).chat(); ok {
		var parts []string
		for _, t := range turns {
			parts = append(parts, t.text)
		}
		text = strings.Join(parts, "\n\n")
	}
	if text == "" {
		s.todo("the prompt of the judge cannot be read")
		return "", false
	}
	text = formatLine.regexp().ReplaceAllString(text, "") // evalrun says what a reply looks like
	return c.template(s, text, dialect{given: map[string]string{"output": "answer", "rubric": "rubric"}})
}

// question makes a scorer for a judge whose question promptfoo fixes.
func question(kind string, value func(c *converter, a src) (yamlValue, string), note string) toScorer {
	return func(c *converter, a assertion) (*scorer, string) {
		v, why := value(c, a.src)
		if why != "" {
			return nil, why
		}
		return c.judged(one(kind, v), a, "0", note)
	}
}

// contextOf returns the context of an assertion: a variable, or the result of a transform of the response.
func (c *converter) contextOf(a src) (string, string) {
	if t := a.get("contextTransform"); !t.IsZero() {
		t.todo("a judge gets the context from a variable; put it into `vars`")
		return "", "the context comes out of the response, and a judge gets it from a variable; put it into `vars`"
	}
	c.uses["context"] = true
	return "{{.context}}", ""
}

func faithful(c *converter, a src) (yamlValue, string) {
	context, why := c.contextOf(a)
	return one("context", textValue(context)), why
}

func recall(c *converter, a src) (yamlValue, string) {
	context, why := c.contextOf(a)
	if why != "" {
		return nil, why
	}
	text, why := c.expected(a.get("value"))
	return new(mapping).set("reference", textValue(text)).set("context", textValue(context)), why
}

func relevant(c *converter, a src) (yamlValue, string) {
	context, why := c.contextOf(a)
	return textValue("The context is needed to answer the question. Context: " + context), why
}

func closedQA(c *converter, a assertion) (*scorer, string) {
	text, why := c.expected(a.get("value"))
	if why != "" {
		return nil, why
	}
	return c.judged(one("closedQA", one("criteria", textValue(text))), a, "", "")
}

// factuality uses promptfoo's values for the choices.
func (c *converter) factuality(a assertion) (*scorer, string) {
	text, why := c.expected(a.get("value"))
	if why != "" {
		return nil, why
	}
	values := map[string]string{"subset": "1", "superset": "1", "same": "1", "differsHarmlessly": "1", "disagrees": "0"}
	own := c.defaults.at.get("options").get("factuality")
	for from, to := range map[string]string{
		"subset": "subset", "superset": "superset", "agree": "same", "differButFactual": "differsHarmlessly", "disagree": "disagrees",
	} {
		if s := own.get(from); !s.IsZero() {
			values[to] = s.text()
			s.ok("as `values`")
		}
	}
	own.ok("as `values`")
	out := &mapping{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out.set(key, literal(values[key]))
	}
	m := one("factuality", one("reference", textValue(text)).set("values", out))
	return c.judged(m, a, "", "")
}
