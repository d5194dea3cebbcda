package promptfoo

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

type target struct {
	name     string
	names    []string // by which the source refers to it: its id and its label
	block    *mapping
	comments []string
	at       src
	chats    bool      // a model, which gets turns and system texts; not an application
	only     []string  // labels of its prompts; nil: all
	tools    yamlValue // for every prompt that it gets
	choice   yamlValue
	protocol eval.ProtocolName // of a model
	// functions says that tools are the older `functions`; lostTools, why the suite does not have all of them.
	functions bool
	lostTools string
	system    string
	json      string          // "true" if promptfoo parses its answer as JSON; marked if only some answers are objects
	changes   []string        // files with transforms of its answer, in order
	response  string          // the one of them that reads the response itself, if it is a file of the author
	parses    bool            // promptfoo parses the texts of its body as JSON
	reports   map[string]bool // keys besides the output that the author's provider may return: latencyMs, cost
}

func (t *target) gets(p *prompt) bool {
	return t.only == nil || slices.ContainsFunc(t.only, p.answers)
}

type services struct {
	all    map[string]*mapping
	blocks map[string]string // names by content
	names  names
}

// add returns the name of a service, and adds one that is new.
func (s *services) add(name string, block *mapping) string {
	content := render(block)
	if s.blocks[content] == "" {
		name = s.names.free(name, "-")
		s.blocks[content], s.all[name] = name, block
	}
	return s.blocks[content]
}

func render(m *mapping) string {
	var w writer
	w.mapping(m, 0)
	return w.String()
}

func (c *converter) addServices(out *mapping) {
	if len(c.services.all) == 0 {
		return
	}
	block := &mapping{}
	for _, name := range slices.Sorted(maps.Keys(c.services.all)) {
		block.set(name, c.services.all[name])
	}
	out.set("services", block)
	if c.embeds != "" {
		out.set(
			"embedding",
			new(mapping).set("service", textValue(c.embeds)).set("model", textValue(cmp.Or(c.embedder, embeddingModel))),
			"the model behind `similar`",
		)
	}
}

func (c *converter) addTargets(out *mapping) {
	all := &sequence{}
	for _, t := range c.targets {
		all.add(t.block, t.comments...)
	}
	if len(c.targets) == 0 {
		all.note("TODO: no provider could be imported; write a target here")
	}
	out.set("targets", all)
}

func (c *converter) providers(top src) {
	s := top.get("targets")
	if s.IsZero() || s.IsNull() {
		s = top.get("providers")
	} else {
		s.ok("as `targets`")
		top.get("providers").ignored("`targets` takes their place")
	}
	if s.IsMapping() && s.get("id").IsZero() {
		s.ok("as `targets`")
		c.namedProviders(s)
		return
	}
	s.listed("as `targets`")
	for _, item := range s.items() {
		if c.provider(item); !c.fates.spend(1) {
			return
		}
	}
}

func (c *converter) namedProviders(s src) {
	for _, e := range s.entries() {
		c.oneProvider(e.src, cmp.Or(e.get("id").text(), e.key))
	}
}

func (c *converter) provider(s src) {
	s = c.resolved(s)
	switch {
	case s.IsScalar() && s.text() != "":
		c.oneProvider(s, s.text())
	case !s.IsMapping():
		c.loseCase(s, "a provider", "expected the id of a provider, or a mapping")
	case s.get("id").IsZero() && len(s.entries()) == 1:
		c.namedProviders(s)
	case s.get("id").IsZero():
		c.loseCase(s, "a provider", "a provider without an id")
	default:
		s.get("id").ok("")
		c.oneProvider(s, s.get("id").text())
	}
}

func (c *converter) oneProvider(s src, id string) {
	id = c.withEnv(s, id)
	if strings.HasPrefix(id, "file://") && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(id)) {
		c.providerFile(s, id)
		return
	}
	label := s.get("label")
	t := &target{
		at: s, names: []string{id, label.text()}, block: &mapping{},
		name: c.targetNames.plain(cmp.Or(label.text(), shortID(id)), "target"),
	}
	t.block.set("name", textValue(t.name))
	if s.IsMapping() {
		label.ok("as the target " + t.name)
		c.promptFilter(t, s.get("prompts"))
	}
	c.dispatch(t, id)
	if s.IsMapping() {
		c.change(t, s.get("transform"))
		if d := s.get("delay"); !d.IsZero() {
			c.delay(d)
		}
		c.environment(s.get("env"))
		s.rest("delay", "inputs")
	}
	if !s.seen() {
		s.ok("as the target " + t.name)
	}
	c.targets = append(c.targets, t)
}

var anyTemplate = pattern{expression: `\{\{.*?\}\}`}

// shortID returns the distinctive part of an id: the model, or the file.
func shortID(id string) string {
	id = anyTemplate.regexp().ReplaceAllString(id, "")
	if strings.HasPrefix(id, "exec:") { // flags, addresses and assignments may contain secrets
		words := strings.Fields(id)
		end := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || strings.ContainsAny(w, "=@") })
		if end > 0 {
			words = words[:end]
		}
		id = strings.Join(words, " ")
	}
	if strings.Contains(id, "/") &&
		(strings.HasPrefix(id, "file:") || strings.HasPrefix(id, "python:") || strings.HasPrefix(id, "exec:")) {
		return strings.TrimSuffix(path.Base(id), path.Ext(id))
	}
	if strings.Contains(id, "://") { // it may contain a password
		id, _, _ = strings.Cut(userInAddress.regexp().ReplaceAllString(id, "$1"), "?")
	}
	if strings.Contains(id, "://") || !strings.Contains(id, ":") {
		return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(id, "webhook:"), "https://"), "http://")
	}
	return cmp.Or(placeOf(id).model, strings.TrimSuffix(id, ":"))
}

func (c *converter) promptFilter(t *target, s src) {
	if s.IsZero() {
		return
	}
	t.only = []string{} // an empty list is no prompt at all
	for _, p := range s.items() {
		t.only = append(t.only, p.text())
	}
	s.ok("as `targets` of the prompts")
}

func (c *converter) providerFile(s src, id string) {
	file, ok := c.load(s, id)
	if !ok {
		c.loseCase(s, "the provider "+cut(id, 80), s.note())
		return
	}
	if !s.seen() || s.IsScalar() {
		s.ok("read from the file")
	}
	for _, item := range file.items() {
		c.provider(item)
	}
	c.fates.account(file)
}

// load reads a YAML or JSON file of the source. Paths of its keys begin with the name of the file.
func (c *converter) load(s src, ref string) (src, bool) {
	name, data, err := c.source.readText(ref)
	if err == nil {
		err = c.nest(s.file, name)
	}
	if err != nil {
		s.todo("%s", err)
		return src{}, false
	}
	n, ok := c.source.parse(name, data)
	return src{n, name + ":", name, c.fates}, ok
}

// nest records that a file refers to another one. It fails for cycles and for too many files.
func (c *converter) nest(outer, name string) error {
	for at := outer; at != ""; at = c.outer[at] {
		if at == name {
			return fmt.Errorf("%s names itself, or a file that names it", name)
		}
	}
	if c.opens++; c.opens > maxMatches {
		return fmt.Errorf("more than %d files are named", maxMatches)
	}
	c.outer[name] = outer
	return nil
}

func (c *converter) dispatch(t *target, id string) {
	switch {
	case id == "echo" || strings.HasPrefix(id, "echo:"):
		t.block.set("echo", literal("true"))
		c.restOfConfig(t, "the answer of echo is the prompt")
	case isScript(id):
		c.script(t, id)
	case strings.HasPrefix(id, "exec:"):
		c.execProvider(t, strings.TrimSpace(strings.TrimPrefix(id, "exec:")))
	case id == "http" || id == "https" || strings.HasPrefix(id, "http:") || strings.HasPrefix(id, "https:"):
		c.http(t, id)
	case strings.HasPrefix(id, "webhook:"):
		c.webhook(t, strings.TrimPrefix(id, "webhook:"))
	case agents.matches(id):
		c.agent(t, id)
	default:
		c.model(t, id)
	}
}

// agent makes a placeholder for a provider that is a program with a model inside. It fails until the user
// writes the program.
func (c *converter) agent(t *target, id string) {
	why := fmt.Sprintf(
		"`%s` is an agent that promptfoo runs itself; start your agent in shims/%s, which fails until then",
		id,
		standIn(t.name),
	)
	c.files["shims/"+standIn(t.name)] = []byte(standInScript(id))
	t.block.set("program", new(mapping).set("command", texts("sh", "shims/"+standIn(t.name))).set("vars", literal("all")))
	t.lose(why)
	c.restOfConfig(t, "goes to the agent; see its target")
}

// lose marks the target as incomplete, with a comment at its block.
func (t *target) lose(why string) {
	t.comments = append(t.comments, "TODO: "+why)
	t.at.todo("%s", why)
}

func standIn(name string) string { return name + ".sh" }

func standInScript(id string) string {
	return "#!/bin/sh\n# A placeholder for " + strings.Join(
		strings.Fields(id),
		" ",
	) + ". It gets the prompt as JSON on standard input and writes the answer.\n" +
		"echo 'start the agent here' >&2\nexit 1\n"
}

// restOfConfig sets the status of keys in `config` that no reader handled.
func (c *converter) restOfConfig(t *target, why string) {
	if !t.at.IsMapping() {
		return
	}
	for _, e := range t.at.get("config").entries() {
		if !e.seen() {
			e.todo("%s", why)
		}
	}
	t.at.get("config").ok("")
}

func (c *converter) change(t *target, s src) {
	if s.IsZero() {
		return
	}
	if file, ok := c.codeFile(s, "transform"); ok {
		t.changes = append(t.changes, file)
		return
	}
	c.unjudged(t, "`transform`: "+s.note())
}

// unjudged leaves every answer of a target without a score, as the source would judge others.
func (c *converter) unjudged(t *target, why string) {
	if t.name == "" { // a judge
		c.unscoredEverywhere(why)
		return
	}
	c.everywhere.add(c.unscored(why).set("arms", texts(t.name+"/*")), "TODO: replace this")
}
