package promptfoo

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// toScorer converts an assertion to a scorer of evalrun, or says why there is none.
type toScorer func(c *converter, a assertion) (*scorer, string)

type assertionKind struct {
	scorer toScorer
	inShim bool   // the JavaScript shim implements it too, for answers that code transforms first
	code   bool   // the value is code, which a shim runs
	lost   string // why there is no scorer, with the closest alternative
}

// assertionKinds has every assertion type of promptfoo. Other commands do not make it.
var assertionKinds = sync.OnceValue(func() map[string]assertionKind {
	return map[string]assertionKind{
		"javascript": {code: true},
		"python":     {code: true},

		"equals":        {scorer: (*converter).equals, inShim: true},
		"contains":      {scorer: text("contains", false), inShim: true},
		"icontains":     {scorer: text("contains", true), inShim: true},
		"starts-with":   {scorer: text("startsWith", false), inShim: true},
		"contains-all":  {scorer: several("containsAll", false), inShim: true},
		"contains-any":  {scorer: several("containsAny", false), inShim: true},
		"icontains-all": {scorer: several("containsAll", true), inShim: true},
		"icontains-any": {scorer: several("containsAny", true), inShim: true},
		"regex":         {scorer: (*converter).regex, inShim: true},
		"is-json":       {scorer: (*converter).isJSON, inShim: true},
		"contains-json": {scorer: (*converter).containsJSON, inShim: true},
		"is-xml":        {scorer: (*converter).isXML},
		"levenshtein":   {scorer: (*converter).levenshtein, inShim: true},
		"rouge-n": {scorer: overlap(
			"rouge", "0.75",
			"words are found by the rules of Unicode; promptfoo uses those of the Penn Treebank, so that scores may differ slightly",
		)},
		"bleu": {scorer: overlap(
			"bleu", "0.5", "an answer that shares no run of four words with the reference scores 0; promptfoo gives it a little more",
			keyValue{key: "tokenize", value: textValue("none")}, keyValue{key: "lowercase", value: literal("true")},
			keyValue{key: "effectiveOrder", value: literal("true")}, keyValue{key: "smoothing", value: textValue("none")},
		)},
		"gleu":                          {scorer: overlap("gleu", "0.5", "upper and lower case differ here")},
		"similar":                       {scorer: overlap("similar", "0.75", "")},
		"similar:cosine":                {scorer: overlap("similar", "0.75", "")},
		"latency":                       {scorer: (*converter).latency},
		"cost":                          {scorer: (*converter).cost},
		"word-count":                    {scorer: (*converter).words, inShim: true},
		"finish-reason":                 {scorer: (*converter).finishReason},
		"is-refusal":                    {scorer: (*converter).refusal},
		"is-valid-openai-tools-call":    {scorer: validCalls(false)},
		"is-valid-openai-function-call": {scorer: validCalls(true)},
		"is-valid-function-call":        {scorer: validCalls(true)},
		"tool-call-f1":                  {scorer: (*converter).toolF1},

		"llm-rubric":              {scorer: rubric("", "")},
		"g-eval":                  {scorer: rubric("0.7", "promptfoo grades in steps and on a scale of 10")},
		"factuality":              {scorer: (*converter).factuality},
		"model-graded-factuality": {scorer: (*converter).factuality},
		"model-graded-closedqa":   {scorer: closedQA},
		"answer-relevance": {scorer: question(
			"relevance", func(*converter, src) (yamlValue, string) { return &mapping{}, "" },
			"a judge grades; promptfoo compares embeddings of questions made from the answer",
		)},
		"context-faithfulness": {scorer: question(
			"faithfulness", faithful, "a judge grades the whole answer; promptfoo counts statements",
		)},
		"context-recall": {scorer: question(
			"contextRecall", recall, "the judge's statements are counted; promptfoo counts sentences",
		)},
		"context-relevance": {scorer: question("rubric", relevant, "a judge grades by a rubric; promptfoo counts sentences")},

		"classifier":                 {lost: "classifiers of other services are not called; an `exec` scorer can call one"},
		"moderation":                 {lost: "moderation of other services is not called; `safety` reads the service's own ratings"},
		"perplexity":                 {lost: "log probabilities are not read"},
		"perplexity-score":           {lost: "log probabilities are not read"},
		"webhook":                    {lost: "an `exec` scorer can call it"},
		"guardrails":                 {lost: "`blocked` reads what the service itself blocks"},
		"ruby":                       {lost: "an `exec` scorer can run it"},
		"select-best":                {lost: "`evalrun compare --choose` compares answers"},
		"max-score":                  {lost: "`evalrun compare` compares arms"},
		"human":                      {lost: "a person judges it; `evalrun judge-check` compares judges with people"},
		"meteor":                     {lost: "try `chrf`, `rouge` or `tokenF1`"},
		"pi":                         {lost: "try `judge: {rubric: ...}`"},
		"search-rubric":              {lost: "a judge does not search; try `judge: {rubric: ...}`"},
		"agent-rubric":               {lost: "a judge has no tools; try `judge: {goal: ...}`"},
		"conversation-relevance":     {lost: "try `judge: {relevance: {}, sees: conversation}`"},
		"is-sql":                     {lost: "an `exec` scorer can parse it"},
		"contains-sql":               {lost: "an `exec` scorer can parse it"},
		"is-html":                    {lost: "an `exec` scorer can parse it; well-formed XML is `xml`"},
		"contains-html":              {lost: "an `exec` scorer can parse it"},
		"contains-xml":               {lost: "`xml` wants the whole answer, or a fenced block with `fence: true`"},
		"skill-used":                 {lost: "the skills of an agent are not recorded; `toolCalls` sees its calls"},
		"similar:dot":                {lost: "`similar` is the cosine"},
		"similar:euclidean":          {lost: "`similar` is the cosine"},
		"trajectory:goal-success":    {lost: "try `judge: {rubric: ..., sees: conversation}`"},
		"trajectory:step-count":      {lost: "`steps` counts calls of the model, not spans"},
		"trajectory:tool-args-match": {scorer: trajectory(toolArgs)},
		"trajectory:tool-sequence":   {scorer: trajectory(toolSequence)},
		"trajectory:tool-used":       {scorer: trajectory(toolUsed)},
		"trace-error-spans":          {lost: "spans are not collected"},
		"trace-span-count":           {lost: "spans are not collected"},
		"trace-span-duration":        {lost: "spans are not collected"},
	}
})

const toolsLost = "it needs models that speak chat completions with the same `tools`, and nothing that changes their answers; " +
	"`toolCalls` compares names and arguments"

// codeScorer makes a scorer that runs an assertion in JavaScript or Python through a shim.
func (c *converter) codeScorer(a assertion, changes []change) (*scorer, string) {
	v, base := a.get("value"), a.base
	shim, ending, program := shimAssertJS, ".js", javaScript
	if base == "python" {
		shim, ending, program = shimAssertPy, ".py", python
	}
	args := one("check", textValue(base))
	ref, file := "", ""
	if strings.HasPrefix(v.text(), "file://") {
		ref, _ = c.authored(v, base)
		file, _, _ = strings.Cut(ref, ":")
		if file == "" {
			return nil, v.note()
		}
	} else {
		if strings.TrimSpace(v.text()) == "" {
			return nil, "there is no code"
		}
		file = c.inline(v.text(), base, ending)
		ref = file
		if why := c.templatesInCode(args, v); why != "" {
			return nil, why
		}
	}
	if base == "python" && len(changes)+c.changing() > 0 {
		c.shims.use(shimAssertPy)
		shim, program = shimAssertJS, javaScript
	}
	c.shimArgs(args.set("code", textValue(ref)), a, changes)
	code := c.files[file]
	if strings.HasPrefix(v.text(), "file://") {
		_, code, _ = c.source.read(strings.SplitN(strings.TrimPrefix(v.text(), "file://"), ":", 2)[0]) // it was read before
	}
	if len(a.in.typed) > 0 && bytes.Contains(code, []byte("vars")) {
		args.set("typed", texts(a.in.typed...))
	}
	if a.in.about.IsMapping() && c.defaults.at.get("metadata").IsZero() && bytes.Contains(code, []byte("metadata")) {
		args.set("metadata", escapedValue(a.in.about))
	}
	c.details = c.details || responseParts.regexp().Match(code)
	v.differs("the author's code in %s runs unchanged in a shim that needs %s", file, program)
	command := append([]string{program, c.shims.use(shim)}, c.loaded(ref, args)...)
	return &scorer{kind: "exec", value: inShimOf(command, args)}, ""
}

// responseParts matches code that looks at what a provider returned besides its output.
var responseParts = pattern{expression: `metadata|[rR]esponse|logProbs`}

// inShimOf returns the scorer that starts a shim. It gets a long timeout, because it runs the author's
// code.
func inShimOf(command []string, args *mapping) *mapping {
	return new(mapping).set("command", texts(command...)).set("args", args).set("timeout", literal("1m"))
}

// authored copies the file of an assertion. A function name follows the colon.
func (c *converter) authored(v src, base string) (string, bool) {
	file, function, _ := strings.Cut(strings.TrimPrefix(v.text(), "file://"), ":")
	want := map[string]string{"javascript": javaScript, "python": python}[base]
	if language(file) != want {
		v.todo("%s is not a program of this type", file)
		return "", false
	}
	name, ok := c.copyCode(v, file)
	if ok && function != "" {
		name += ":" + function
	}
	return name, ok
}

var (
	anyTag    = pattern{expression: `\{\{|\{%`}
	simpleTag = pattern{expression: `\{\{-?\s*(\w+)((?:\.\w+)*)\s*(?:\|\s*(?:dump|tojson)\s*)?-?\}\}`}
)

// templatesInCode lets the shim fill in variables that the code contains as templates.
func (c *converter) templatesInCode(args *mapping, v src) string {
	rest := v.text()
	found := simpleTag.regexp().FindAllStringSubmatch(rest, -1)
	rest = simpleTag.regexp().ReplaceAllString(rest, "")
	if len(found) == 0 {
		return ""
	}
	if anyTag.matches(rest) {
		return "the code has templates that a shim cannot fill in; use `context.vars` in it"
	}
	for _, m := range found {
		c.uses[m[1]] = true
	}
	args.set("render", literal("true"))
	return ""
}

// changing counts the transforms of all targets.
func (c *converter) changing() (n int) {
	for _, t := range c.targets {
		n += len(t.changes)
	}
	return n
}

// shimArgs adds what a shim needs in addition to the answer.
func (c *converter) shimArgs(args *mapping, a assertion, changes []change) {
	if a.not {
		args.set("not", literal("true"))
	}
	if t := a.get("threshold"); !t.IsZero() {
		args.set("threshold", literal(t.text()))
	}
	if a.in.weighed && !weightless(a.src) && (a.in.share == nil || *a.in.share > 0) {
		args.set("weighed", literal("true"))
	}
	if config := a.get("config"); !config.IsZero() {
		args.set("config", escapedValue(config))
		config.ok("as `args.config`")
	}
	if len(changes) > 0 {
		files := &sequence{}
		for _, ch := range changes {
			files.add(textValue(ch.file))
		}
		args.set("changes", files)
	}
	if targets := c.targetArgs(); !targets.empty() {
		args.set("targets", targets)
	}
}

// passDetails has the shims of the author's providers pass on all that these return, where some check looks at that.
func (c *converter) passDetails() {
	for _, t := range c.targets {
		if p, is := t.block.get("program").(*mapping); is && c.details && t.json == markedObjects {
			p.get("command").(*sequence).add(textValue("--details"))
		}
	}
}

// reported makes a scorer for the latency or the cost that a provider of the author returns; nil if none returns one.
func (c *converter) reported(a assertion, key string) *scorer {
	if !slices.ContainsFunc(c.targets, func(t *target) bool { return t.reports[key] }) {
		return nil
	}
	c.details = true
	args := one("check", textValue(a.base))
	c.shimArgs(args, a, nil)
	command := []string{javaScript, c.shims.use(shimAssertJS)}
	return &scorer{
		kind: "exec", value: inShimOf(command, args), plain: true,
		note: "`" + a.base + "` in a shim that needs node: by the `" + key + "` that the author's provider returns",
	}
}

// targetArgs says, for each target, which transforms apply to its answers before assertions see them.
func (c *converter) targetArgs() *mapping {
	out := &mapping{}
	for _, t := range c.targets {
		m := &mapping{}
		if t.json != "" {
			m.set("json", literal(t.json))
		}
		if len(t.changes) > 0 {
			m.set("changes", texts(t.changes...))
		}
		if t.response != "" {
			m.set("response", textValue(t.response))
		}
		if as := t.callsAs(); as != "" {
			m.set("calls", textValue(as))
		}
		if !m.empty() {
			out.set(t.name, m)
		}
	}
	return out
}

// callsAs names the form in which promptfoo shows tool calls to code; "" for that of chat completions.
func (t *target) callsAs() string {
	switch {
	case t.functions:
		return "function"
	case t.tools != nil && t.protocol != eval.OpenAI:
		return string(t.protocol)
	}
	return ""
}

// loaded lists the files that a shim loads, so that changes to them count as changes of the scorer. The
// first file is the code itself.
func (c *converter) loaded(ref string, args *mapping) []string {
	out := []string{}
	if ref != "" {
		out = append(out, ref)
	}
	add := func(v yamlValue) {
		if l, ok := v.(*sequence); ok {
			for _, e := range l.items {
				out = append(out, string(e.value.(textValue)))
			}
		}
	}
	add(args.get("changes"))
	if targets, ok := args.get("targets").(*mapping); ok {
		for _, e := range targets.entries {
			add(e.value.(*mapping).get("changes"))
		}
	}
	for i, name := range out {
		if file, function, two := strings.Cut(name, ":"); two && i > 0 && function != "" {
			out[i] = file
		}
	}
	return slices.Compact(out)
}

// shimmed makes a scorer that runs one of promptfoo's own checks in the shim.
func (c *converter) shimmed(a assertion, changes []change) (*scorer, string) {
	v, base := a.get("value"), a.base
	args := one("check", textValue(base))
	if !v.IsZero() && !v.IsNull() && base != "is-json" && base != "contains-json" {
		value, ok := c.rendered(v, dialect{})
		if !ok {
			return nil, cmp.Or(v.note(), "the value has no counterpart")
		}
		args.set("value", value)
	}
	if (base == "is-json" || base == "contains-json") && !v.IsZero() && !v.IsNull() {
		return nil, "a schema for an answer that code changes first has no counterpart"
	}
	c.shimArgs(args, a, changes)
	command := append([]string{javaScript, c.shims.use(shimAssertJS)}, c.loaded("", args)...)
	return &scorer{
		kind: "exec", value: inShimOf(command, args),
		note: "`" + base + "` in a shim that needs node, since JavaScript comes before it or its expression is not one of RE2",
	}, ""
}

// unusedCode drops files that the suite no longer mentions.
func (c *converter) unusedCode(suite string) {
	mentioned := map[string]bool{}
	mention := func(text string) {
		for _, name := range inlineFile.regexp().FindAllString(text, -1) {
			mentioned[name] = true
		}
	}
	mention(suite)
	for name, data := range c.files {
		if strings.HasPrefix(name, dataDir+"/") || name == testsName {
			mention(string(data))
		}
	}
	maps.DeleteFunc(c.files, func(name string, _ []byte) bool { return strings.HasPrefix(name, checksDir+"/") && !mentioned[name] })
}

var inlineFile = pattern{expression: `\b` + checksDir + `/[a-z]+-[0-9]+\.[a-z]+`}
