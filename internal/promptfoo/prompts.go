package promptfoo

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/yaml"
)

// noConversation is why a test with promptfoo's memory of earlier answers is another one here.
const noConversation = "`_conversation`: tests have no earlier answers here; write the chat as one prompt, with `live: true`"

// prompt is a prompt of the source. Its text is for applications and, unless it is a chat, for models.
type prompt struct {
	label    string
	names    []string // by which the source refers to it
	made     []madePrompt
	lost     string    // why its tests are other ones, "" if they are not
	text     string    // in promptfoo's syntax
	function *function // makes the prompt; nil for a text
	at       src
}

type madePrompt struct {
	name string
	to   []*target
}

func (c *converter) readPrompts(s src) {
	switch {
	case s.IsZero() || s.IsNull(): // promptfoo takes this one then
		s.ok("empty")
		c.prompts = append(c.prompts, &prompt{text: "{{prompt}}", at: src{fates: newFates(c.fates.secrets)}})
	case s.IsMapping():
		for _, e := range s.entries() { // {prompt or file: label}
			c.promptText(e.src, e.key, e.text())
		}
		s.ok("as `prompts`")
	default:
		s.listed("as `prompts`")
		for _, item := range s.items() {
			if c.promptItem(item); !c.fates.spend(1) {
				return
			}
		}
	}
}

func (c *converter) promptItem(s src) {
	if !s.IsMapping() {
		c.promptText(s, s.text(), "")
		return
	}
	raw := s.get("raw")
	id := s.get("id")
	label := s.get("label")
	text := raw
	if text.IsZero() {
		text = id
	}
	label.ok("as the prompt's name")
	id.ok("as the prompt's name")
	config := s.get("config")
	from := len(c.prompts)
	c.promptText(text, text.text(), cmp.Or(label.text(), id.text()))
	for _, p := range c.prompts[from:] {
		if !raw.IsZero() {
			p.names = append(p.names, id.text())
		}
		if p.function != nil {
			p.function.configured(c, config)
			continue
		}
		config.todo("settings that go with a prompt belong to a target here; write a target for it")
		if len(config.entries()) > 0 {
			p.lost = "`config` of the prompt: " + config.note()
		}
	}
	s.rest("template", "display", "function")
}

// filePrompt matches what promptfoo reads as a file name.
var filePrompt = pattern{expression: `\.(cjs|cts|j2|js|json|jsonl|md|mjs|mts|py|ts|txt|yml|yaml|csv)(:\w+)?$`}

func (c *converter) promptText(s src, text, label string) {
	if strings.Contains(text, "://") && !strings.HasPrefix(text, "file://") && !strings.ContainsAny(text, " \n") {
		c.losePrompt(s, text, "an import fetches nothing; save the prompt in a file")
		return
	}
	if strings.Contains(text, "\n") || !strings.HasPrefix(text, "file://") && !filePrompt.matches(text) && !c.isGlob(text) {
		c.addPrompt(s, text, label, "")
		s.ok("as a prompt")
		return
	}
	c.promptFiles(s, text, label)
}

// addPrompt adds a prompt. Without a label, the text is its name in the source, and its name here is the one by default.
func (c *converter) addPrompt(s src, text, label, byDefault string) {
	p := &prompt{label: cmp.Or(label, byDefault), text: text, at: s}
	if label == "" {
		p.names = []string{text}
	}
	c.prompts = append(c.prompts, p)
}

// isGlob reports whether a prompt is a pattern that some file matches; promptfoo takes another one for the text.
func (c *converter) isGlob(text string) bool {
	if !strings.Contains(text, "*") || strings.ContainsAny(text, " \t") {
		return false
	}
	found, err := c.source.match(text)
	return err == nil && len(found) > 0
}

func (c *converter) losePrompt(s src, what, why string) {
	c.loseCase(s, "the prompt "+cut(strings.Join(strings.Fields(what), " "), 80), why)
}

func (c *converter) promptFiles(s src, ref, label string) {
	file := strings.TrimPrefix(ref, "file://")
	name, _, _ := strings.Cut(file, ":")
	switch {
	case strings.HasPrefix(ref, "exec:"):
		c.losePrompt(s, ref, "a program makes it; `program` of a prompt can start it, with other input")
		return
	case language(name) != "" && !strings.Contains(name, "*"):
		c.promptFunction(s, ref, label)
		return
	}
	files, err := c.source.match(file)
	if err != nil {
		c.losePrompt(s, ref, err.Error())
		return
	}
	for _, name := range files {
		if language(name) != "" {
			c.promptFunction(s, name, label)
			continue
		}
		from := len(c.prompts)
		c.promptFile(s, name, label)
		for _, p := range c.prompts[from:] {
			p.names = append(p.names, ref, strings.TrimPrefix(ref, "file://"), name)
		}
	}
}

func (c *converter) promptFile(s src, name, label string) {
	_, data, err := c.source.readText(name)
	if err != nil {
		c.losePrompt(s, name, err.Error())
		return
	}
	if !utf8.Valid(data) {
		c.losePrompt(s, name, name+" is not a text")
		return
	}
	parts, base := splitPrompts(name, data), strings.TrimSuffix(path.Base(name), path.Ext(name))
	for _, part := range parts {
		c.addPrompt(s, part.text, cmp.Or(part.label, label), base)
	}
	if len(parts) == 0 {
		c.losePrompt(s, name, "the file has no prompt")
		return
	}
	s.ok("copied from " + name)
}

// splitPrompts splits the prompts of a file. In text files, lines of three dashes separate them.
func splitPrompts(name string, data []byte) (out []prompt) {
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
	add := func(parts ...string) {
		for _, part := range parts {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, prompt{text: part})
			}
		}
	}
	switch path.Ext(name) {
	case ".txt":
		add(regexp.MustCompile(`(?m)^[ \t]*---[ \t]*$`).Split(text, -1)...)
		return out
	case ".jsonl":
		add(strings.Split(text, "\n")...)
		return out
	case ".csv":
		if rows, ok := promptRows(text); ok {
			return rows
		}
		add(strings.Split(text, "\n")...)
		if len(out) > 0 && strings.EqualFold(out[0].text, "prompt") {
			out = out[1:]
		}
		return out
	case ".yaml", ".yml":
		if read, ok := jsonFile(name, data); ok {
			text = read
		}
	}
	return []prompt{{text: text}}
}

// promptRows reads a table with the columns `prompt` and `label`.
func promptRows(text string) (out []prompt, ok bool) {
	if !strings.Contains(text, ",") {
		return nil, false
	}
	r := csv.NewReader(strings.NewReader(text))
	r.LazyQuotes, r.FieldsPerRecord = true, -1
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		return nil, false
	}
	for _, row := range all[1:] {
		cells := map[string]string{}
		for i, name := range all[0] {
			if i < len(row) {
				cells[strings.TrimSpace(name)] = strings.TrimSpace(row[i])
			}
		}
		if cells["prompt"] != "" {
			out = append(out, prompt{label: cells["label"], text: cells["prompt"]})
		}
	}
	return out, true
}

type chatTurn struct {
	role string
	text string
	raw  src // the content, if it is not a text
}

// chat parses a prompt that is a list of messages, in JSON or YAML. ok is false for other prompts.
func (p *prompt) chat() (turns []chatTurn, ok bool) {
	text := strings.TrimSpace(p.text)
	if !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "- ") && !strings.HasPrefix(text, "{") {
		return nil, false
	}
	var ignored diagList
	n, ok := yaml.Parse("prompt", []byte(quoteTemplates(text)), &ignored)
	if !ok {
		return nil, false
	}
	root := src{n, p.at.path, "", newFates(p.at.fates.secrets)}
	if m := root.get("messages"); m.IsSequence() {
		root = m
	}
	if !root.IsSequence() {
		return nil, false
	}
	for _, item := range root.items() {
		role, content := item.get("role").text(), item.get("content")
		if role == "" || content.IsZero() {
			return nil, false
		}
		turns = append(turns, chatTurn{role: role, text: content.text(), raw: content})
	}
	return turns, len(turns) > 0
}

// bare matches a template in place of a JSON value, such as "content": {{question | dump}}.
var bare = pattern{expression: `(?m)(:\s*)\{\{-?\s*([^{}]*?)\s*(?:\|\s*(?:dump|tojson)\s*(?:\(\s*\))?\s*)?-?\}\}(\s*[,}\]\n])`}

// quoteTemplates quotes such templates, so that the prompt becomes valid JSON.
func quoteTemplates(text string) string {
	if json.Valid([]byte(text)) {
		return text
	}
	return bare.regexp().ReplaceAllStringFunc(text, func(m string) string {
		parts := bare.regexp().FindStringSubmatch(m)
		return parts[1] + yaml.Quote("{{ "+parts[2]+" }}") + parts[3]
	})
}

// addPrompts writes the prompts. A chat becomes turns for models, and stays a text for applications.
func (c *converter) addPrompts(out *mapping) {
	all := &sequence{}
	for _, p := range c.prompts {
		models, applications := c.receivers(p)
		turns, isChat := p.chat()
		switch {
		case len(models)+len(applications) == 0 && len(c.targets) > 0:
			p.at.differs("no target gets it, since `prompts` of the providers leave it out")
			continue
		case p.function != nil:
			c.functionPrompts(all, p, append(models, applications...))
		case isChat && len(models) > 0:
			c.chatPrompts(all, p, turns, models)
			if len(applications) > 0 {
				c.textPrompts(all, p, applications)
			}
		default:
			c.textPrompts(all, p, append(models, applications...))
		}
	}
	if all.empty() {
		all.note("TODO: no prompt could be imported; write one here")
	}
	out.set("prompts", all)
}

// receivers returns the targets that get a prompt, models and applications apart.
func (c *converter) receivers(p *prompt) (models, applications []*target) {
	for _, t := range c.targets {
		switch {
		case !t.gets(p):
		case t.chats:
			models = append(models, t)
		default:
			applications = append(applications, t)
		}
	}
	return models, applications
}

// targetGroup has targets with the same system text and tools.
type targetGroup struct {
	targets []*target
	key     string
}

func groups(in []*target) (out []targetGroup) {
	for _, t := range in {
		key := t.system + "\x00" + renderAny(t.tools) + "\x00" + renderAny(t.choice)
		i := slices.IndexFunc(out, func(g targetGroup) bool { return g.key == key })
		if i < 0 {
			out, i = append(out, targetGroup{key: key}), len(out)
		}
		out[i].targets = append(out[i].targets, t)
	}
	return out
}

func renderAny(v yamlValue) string {
	if v == nil {
		return ""
	}
	return render(one("x", v))
}

// begin makes a prompt for a group of targets; nil if its text has no counterpart.
func (c *converter) begin(p *prompt, g targetGroup) *mapping {
	name := c.newName(p, g.targets)
	m := new(mapping).set("name", textValue(name))
	if len(g.targets) < len(c.targets) {
		names := &sequence{}
		for _, t := range g.targets {
			names.add(textValue(t.name))
		}
		m.set("targets", names)
	}
	if s := g.targets[0].system; s != "" {
		m.set("system", textValue(s))
	}
	if t := g.targets[0].tools; t != nil {
		m.set("tools", t)
	}
	if t := g.targets[0].choice; t != nil && g.targets[0].tools != nil {
		m.set("toolChoice", t)
	}
	return m
}

// newName returns a name that no other prompt has.
func (c *converter) newName(p *prompt, to []*target) string {
	name := c.promptNames.plain(cmp.Or(p.label, "prompt"), "prompt")
	p.made = append(p.made, madePrompt{name, to})
	if p.lost == "" && strings.Contains(p.text, "_conversation") {
		p.lost = noConversation
		p.at.todo("%s", p.lost)
	}
	if p.lost != "" {
		c.everywhere.add(c.unscored(p.lost).set("arms", texts("*/"+name)), "TODO: replace this")
	}
	return name
}

// answers reports whether a reference means the prompt: its label or id, the beginning of it before a colon, or with a `*`.
func (p *prompt) answers(ref string) bool {
	return refersTo(ref, p.label) || slices.ContainsFunc(p.names, func(name string) bool { return refersTo(ref, name) })
}

func (c *converter) textPrompts(all *sequence, p *prompt, to []*target) {
	text, isJSON, ok := c.jsonPrompt(p)
	if !isJSON {
		text, ok = c.template(p.at, p.text, dialect{})
	}
	if !ok {
		c.losePrompt(p.at, cmp.Or(p.label, p.text), p.at.note())
		return
	}
	if len(c.targets) == 0 {
		all.add(new(mapping).set("name", textValue(c.newName(p, nil))).set("text", textValue(text)))
		return
	}
	for _, g := range groups(to) {
		m := c.begin(p, g)
		all.add(m.set("text", textValue(c.affixed(text))))
	}
}

// Variables with the prefix and suffix of a test's prompts, where some test has one.
const (
	prefixVariable = "prompt_prefix"
	suffixVariable = "prompt_suffix"
)

func (c *converter) affixed(text string) string {
	return c.affixOf(prefixVariable, c.defaults.prefix) + text + c.affixOf(suffixVariable, c.defaults.suffix)
}

// affixOf is the text before or after a prompt. Tests that have none of their own take that of defaultTest.
func (c *converter) affixOf(variable, byDefault string) string {
	if !c.affixes[variable] {
		return byDefault
	}
	if c.defaults.vars.get(variable) == nil {
		c.defaults.vars.set(variable, textValue(byDefault))
	}
	return "{{." + variable + "}}"
}

func (c *converter) chatPrompts(all *sequence, p *prompt, in []chatTurn, to []*target) {
	for _, g := range groups(to) {
		m := c.begin(p, g)
		system, turns, ok := c.turns(p, in)
		if !ok {
			c.losePrompt(p.at, cmp.Or(p.label, p.at.path), p.at.note())
			continue
		}
		if own := g.targets[0].system; system != "" && own != "" { // both are sent, that of the provider first
			m.replace("system", textValue(own+"\n\n"+system))
		} else if system != "" {
			m.set("system", textValue(system))
		}
		if len(turns.items) == 1 { // a single user turn
			if text, is := turns.items[0].value.(*mapping).get("user").(textValue); is {
				all.add(m.set("text", text))
				continue
			}
		}
		all.add(m.set("turns", turns))
	}
}

// turns converts a chat to the turns of a suite, which alternate and end with a user turn.
func (c *converter) turns(p *prompt, in []chatTurn) (system string, out *sequence, ok bool) {
	out = &sequence{}
	last := ""
	for i, t := range in {
		role := map[string]string{"user": "user", "assistant": "model", "model": "model", "system": "system", "developer": "system"}[t.role]
		value, fine := c.content(p, t)
		switch text, isText := value.(textValue); {
		case !fine:
			return "", nil, false
		case role == "":
			p.at.todo("a message of the role `%s` has no counterpart", t.role)
			return "", nil, false
		case role == "system" && isText && (last == "" || i == 0):
			system = strings.TrimPrefix(system+"\n\n"+string(text), "\n\n")
		case role == "system":
			p.at.differs("a system message after the first turn is a turn of the user")
			last = c.addTurn(p, out, last, "user", value)
		default:
			last = c.addTurn(p, out, last, role, value)
		}
	}
	if last == "" && system != "" {
		out.add(one("user", textValue(system)))
		p.at.differs("a system message alone is the turn of the user")
		return "", out, true
	}
	if last == "model" {
		p.at.todo("a chat ends with a turn of the user")
		return "", nil, false
	}
	return system, out, true
}

// addTurn adds a turn, or joins it with the previous one of the same role.
func (c *converter) addTurn(p *prompt, out *sequence, last, role string, value yamlValue) string {
	text, isText := value.(textValue)
	if role != last || !isText {
		out.add(one(role, value))
		return role
	}
	before := out.items[len(out.items)-1].value.(*mapping)
	if was, is := before.entries[0].value.(textValue); is {
		before.entries[0].value = was + "\n\n" + text
		p.at.differs("turns of the same role in a row are one")
	}
	return role
}

func (c *converter) content(p *prompt, t chatTurn) (yamlValue, bool) {
	if !t.raw.IsSequence() {
		text, ok := c.template(p.at, t.text, dialect{})
		return textValue(text), ok
	}
	out := &sequence{}
	for _, part := range t.raw.items() {
		switch kind := part.get("type").text(); kind {
		case "text", "input_text":
			text, ok := c.template(p.at, part.get("text").text(), dialect{})
			if !ok {
				return nil, false
			}
			out.add(one("text", textValue(text)))
		case "image_url", "input_image", "image":
			name, why := c.image(part)
			if why != "" {
				p.at.todo("%s", why)
				return nil, false
			}
			if !part.get("image_url").get("detail").IsZero() || !part.get("detail").IsZero() {
				p.at.differs("`detail` of images is not sent")
			}
			out.add(one("image", textValue(name)))
		default:
			p.at.todo("a part of the type `%s` has no counterpart; write `image: FILE` or `data: FILE`", kind)
			return nil, false
		}
	}
	if text := out.items[0].value.(*mapping).get("text"); len(out.items) == 1 && text != nil {
		return text, true
	}
	return out, true
}
