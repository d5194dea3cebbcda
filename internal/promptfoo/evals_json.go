package promptfoo

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
)

// EvalsOptions say what the evals of a skill are run on.
type EvalsOptions struct {
	Out     string   // the folder of the suite
	Targets []string // VENDOR:MODEL, or a command line
	Judge   string   // VENDOR:MODEL; "" is the first model of Targets
	Skill   string   // the folder of the skill; "" looks for SKILL.md next to the file
}

// skillFile is the file that makes a folder a skill.
const skillFile = "SKILL.md"

type skillEvals struct {
	*converter
	name     string // of the skill
	skill    *configSource
	place    string // of the evals in the folder whose files are read
	models   []string
	programs []string // targets with the skill and without it, in turns
	judge    string
}

// ReadEvals converts the evals.json of an Agent Skill at name into a suite with two arms for each target: with the skill and
// without it. Problems of the content are added to the list, and the import is nil then.
func ReadEvals(name string, o EvalsOptions, problems *Problems) (*Import, error) {
	data, err := files.ReadFile(name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, eval.BadInput("%s: no such file; name the evals: evalrun import evals-json evals/evals.json", diag.CleanLine(name))
	case err != nil:
		return nil, eval.BadInput("the evals cannot be read: %w", err)
	case len(o.Targets) == 0:
		return nil, eval.BadInput("name what answers: --target anthropic:MODEL, or a program such as --target './agent.sh'")
	}
	at, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, eval.BadInput("the folder of the evals cannot be read: %w", err)
	}
	source, base := &configSource{problems: problems}, at
	if filepath.Base(at) == "evals" {
		base = filepath.Dir(at)
	}
	root, ok := source.parse(filepath.Base(name), source.decoded(filepath.Base(name), data))
	if !ok {
		return nil, nil
	}
	if err := source.within(base, Options{}); err != nil {
		return nil, err
	}
	defer source.close()
	e := &skillEvals{converter: newConverter(source)}
	e.place, _ = relative(base, at)
	top := e.at(root)
	list := top.get("evals")
	if root.IsSequence() {
		list = top
	}
	if !list.IsSequence() || len(list.items()) == 0 {
		at := root
		if !list.IsZero() {
			at = list.Node
		}
		at.Errorf(`write {"evals": [{"prompt": "...", "expected_output": "..."}]}`, "this is no evals.json: it has no list `evals`")
		return nil, nil
	}
	if err := e.findSkill(base, top.get("skill_name").text(), o.Skill); err != nil {
		return nil, err
	}
	defer e.skill.close()
	if err := e.choose(o); err != nil {
		return nil, err
	}
	return e.convert(name, top, list)
}

func (e *skillEvals) convert(name string, top, list src) (*Import, error) {
	e.head.set("description", textValue(cmp.Or(top.get("description").text(), "The skill "+e.name+" against no skill")))
	for _, key := range []string{"description", "skill_name"} {
		top.get(key).ok("")
	}
	list.ok("as `cases`")
	for _, item := range list.items() {
		if e.eval(item); !e.fates.spend(1) {
			return nil, e.fates.tooMuch()
		}
	}
	top.others("`evals.json` has no such key: its meaning is not known")
	if e.source.problems.Diags.HasErrors() {
		return nil, nil
	}
	if err := e.copySkill(name); err != nil {
		return nil, err
	}
	e.files[SuiteFile] = e.suiteText(name)
	e.fates.account(top)
	if err := e.fates.tooMuch(); err != nil {
		return nil, err
	}
	e.files[SuiteFile] = append(e.files[SuiteFile], e.fates.leftOver(string(e.files[SuiteFile]))...)
	return &Import{Config: name, files: e.files, fates: e.fates, converted: e.source.converted, evals: true}, nil
}

// findSkill opens the folder of the skill: the one that is given, or the first of the usual places with a SKILL.md.
func (e *skillEvals) findSkill(base, name, given string) error {
	places := []string{given}
	if given == "" {
		places = []string{filepath.Join(base, filepath.FromSlash(e.place)), base}
		if plain := plainName(name, ""); plain != "" {
			places = append(places, filepath.Join(base, "skills", plain), filepath.Join(base, plain))
		}
	}
	for _, dir := range places {
		if info, err := os.Stat(filepath.Join(dir, skillFile)); err == nil && info.Mode().IsRegular() {
			e.skill = &configSource{problems: e.source.problems}
			if err := e.skill.within(dir, Options{}); err != nil {
				return err
			}
			e.name = plainName(cmp.Or(name, filepath.Base(e.skill.dir)), "skill")
			return nil
		}
	}
	return eval.BadInput(
		"there is no %s in %s; name the folder of the skill: --skill DIR", skillFile, diag.CleanLine(strings.Join(places, ", ")),
	)
}

func (e *skillEvals) choose(o EvalsOptions) error {
	for _, given := range o.Targets {
		block, err := e.modelNamed(given)
		switch {
		case err != nil:
			return err
		case block != nil:
			t := &target{name: e.targetNames.plain(block.text("model"), "model"), block: block}
			t.block = one("name", textValue(t.name)).join(block, "")
			e.targets, e.models = append(e.targets, t), append(e.models, t.name)
			o.Judge = cmp.Or(o.Judge, given)
		default:
			if err := e.program(given, o.Out); err != nil {
				return err
			}
		}
	}
	if o.Judge == "" {
		return eval.BadInput("name the model that judges the answers: --judge anthropic:MODEL")
	}
	block, err := e.modelNamed(o.Judge)
	if err == nil && block == nil {
		err = eval.BadInput("--judge %s: a judge is a model, such as anthropic:MODEL", diag.CleanLine(o.Judge))
	}
	if err == nil {
		e.judge = e.judges.add("judge", block)
	}
	return err
}

// modelNamed returns the service and the model of VENDOR:MODEL, nil for a command line.
func (e *skillEvals) modelNamed(given string) (*mapping, error) {
	name, model, is := strings.Cut(given, ":")
	if !is || strings.ContainsAny(name, " /.'\"") {
		return nil, nil
	}
	vendor := wire.VendorNamed(name)
	switch {
	case vendor == nil:
		return nil, eval.BadInput("there is no vendor %q; %s", diag.CleanLine(name), cmp.Or(
			diag.DidYouMean(name, wire.VendorNames()), "`evalrun vendors` lists them; a program is a command line, such as './agent.sh'"))
	case vendor.BaseURL == "":
		return nil, eval.BadInput("%s has another address for each customer: import with another vendor, and change `services`", name)
	case model == "":
		return nil, eval.BadInput("%s: name the model, such as %s:%s", diag.CleanLine(given), name, vendor.Model)
	}
	service := e.services.add(name, one("vendor", textValue(name)))
	return new(mapping).set("service", textValue(service)).set("model", textValue(model)), nil
}

// Folders in which programs work.
const (
	withSkill    = "with-skill"
	withoutSkill = "without-skill"
	workspaceDir = "workspaces"
)

// program makes two targets of a command line: with the skill in the workspace, and without it.
func (e *skillEvals) program(line, out string) error {
	words := splitCommand(line)
	if len(words) == 0 {
		return eval.BadInput("--target is empty: name a model (VENDOR:MODEL) or a program (a command line)")
	}
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(words[0])), path.Ext(words[0]))
	for i, word := range words {
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() || i == 0 && !strings.ContainsAny(word, `/\`) {
			continue
		}
		if name == path.Base(words[0]) && i > 0 { // the script says more than its interpreter
			name = strings.TrimSuffix(filepath.Base(word), filepath.Ext(word))
		}
		if words[i], err = e.programFile(word, out); err != nil {
			return err
		}
	}
	for _, how := range []string{withSkill, withoutSkill} {
		t := &target{name: e.targetNames.plain(plainName(name, "agent")+"-"+how, "agent")}
		t.block = one("name", textValue(t.name)).set("program", new(mapping).set("command", texts(words...)).
			set("workspace", textValue(workspaceDir+"/"+how)))
		e.targets, e.programs = append(e.targets, t), append(e.programs, t.name)
	}
	return nil
}

// programFile returns the path of a program's file from the suite, and copies a file of another checkout.
func (e *skillEvals) programFile(name, out string) (string, error) {
	file, err := filepath.Abs(name)
	to, wrong := filepath.Abs(out)
	if err := cmp.Or(err, wrong); err != nil {
		return "", eval.BadInput("%s cannot be found: %w", diag.CleanLine(name), err)
	}
	for top := to; ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, files.Repository)); err == nil {
			if _, inside := relative(top, file); inside {
				rel, err := filepath.Rel(to, file)
				return filepath.ToSlash(rel), err
			}
		}
		if filepath.Dir(top) == top {
			break
		}
	}
	data, err := files.ReadFile(name, maxFile)
	if err != nil {
		return "", eval.BadInput("the program cannot be read: %w", err)
	}
	copied := codeDir + "/" + filepath.Base(name)
	e.files[copied] = data
	return "./" + copied, nil
}

func (e *skillEvals) eval(s src) {
	prompt := s.get("prompt")
	if prompt.IsZero() {
		prompt = s.get("query")
	}
	if !s.IsMapping() || prompt.text() == "" {
		s.Errorf(`write {"prompt": "...", "expected_output": "..."}`, "an eval without a `prompt`")
		return
	}
	name := cmp.Or(s.get("name").text(), s.get("eval_name").text(), "eval "+cmp.Or(s.get("id").text(), fmt.Sprint(len(e.cases)+1)))
	t := &testCase{block: new(mapping).set("name", textValue(e.caseName(name)))}
	vars := new(mapping).set("prompt", textValue(prompt.text()))
	scorers := &sequence{}
	attached := e.attach(s.get("files"), scorers)
	if len(e.models) > 0 {
		vars.set("files", attached)
	}
	e.checks(s, scorers)
	for _, key := range []string{"id", "name", "eval_name"} {
		s.get(key).ok("")
	}
	prompt.ok("")
	for _, key := range []string{"description", "category"} {
		if d := s.get(key); d.text() != "" {
			t.comments = append(t.comments, d.text())
			d.differs("as a comment")
		}
	}
	for _, other := range s.entries() {
		if !other.seen() && mayCheck(other) {
			why := "`" + other.key + "` may be a check, and `evals.json` has no such key"
			other.todo("%s", why)
			scorers.add(e.unscored(why), "TODO: replace this by a scorer, or remove it")
		}
	}
	s.others("no check: left out")
	e.cases = append(e.cases, t)
	t.block.set("vars", vars).set("scorers", scorers)
}

// mayCheck reports whether a key that is not known could be a check: then an answer cannot pass without it.
func mayCheck(e keyed) bool {
	isCheck := !e.IsScalar() || strings.Contains(e.key, "trigger")
	return isCheck && !e.IsNull() && !slices.Contains([]string{"notes", "skills", "tags"}, e.key)
}

func (s src) others(why string) {
	for _, other := range s.entries() {
		if !other.seen() {
			other.differs("%s", why)
		}
	}
}

// maxAttached bounds a file in a prompt, in bytes.
const maxAttached = 256 << 10

// attach puts files into the workspaces, and returns them for prompts of models, which have no workspace.
func (e *skillEvals) attach(s src, scorers *sequence) *sequence {
	out := &sequence{}
	if !s.IsZero() && !s.IsSequence() && !s.IsNull() {
		s.Errorf(`write ["evals/files/input.csv"]`, "`files` is a list of files, found %s", s.Describe())
	}
	s.listed("in the workspace")
	for _, item := range s.items() {
		name, data, err := e.attached(item)
		if err != nil {
			item.todo("%s", err)
			scorers.add(e.unscored("a file of the eval is missing: "+err.Error()), "TODO: add the file and import again, or remove this")
			continue
		}
		item.ok("in the workspace")
		for _, how := range []string{withSkill, withoutSkill} {
			if len(e.programs) > 0 {
				e.files[workspaceDir+"/"+how+"/"+name] = data
			}
		}
		switch text := string(data); {
		case len(e.models) == 0:
		case len(data) > maxAttached || !utf8.Valid(data) || strings.ContainsRune(text, 0):
			item.differs("models do not get it: it is no text, or too long for a prompt")
			m := e.unscored(name + " is no text, or too long for a prompt: a model cannot read it")
			scorers.add(m.set("arms", e.armsOfModels()), "TODO: test a program with this eval, or remove this")
		default:
			out.add(new(mapping).set("name", textValue(name)).set("text", textValue(text)))
		}
	}
	return out
}

// attached reads a file of an eval: its name from the skill's folder or next to the evals, or a mapping with its content.
func (e *skillEvals) attached(item src) (name string, data []byte, err error) {
	ref := cmp.Or(item.text(), item.get("path").text(), item.get("name").text())
	if ref == "" {
		return "", nil, errors.New("expected the name of a file")
	}
	if content := item.get("content").text(); content != "" && files.Local(path.Clean(ref)) {
		return path.Clean(ref), []byte(content), nil
	}
	if name, data, err = e.source.read(ref); err != nil {
		if next, found, wrong := e.source.read(path.Join(e.place, ref)); wrong == nil {
			return next, found, nil
		}
	}
	return name, data, err
}

func (e *skillEvals) armsOfModels() *sequence {
	out := &sequence{}
	for _, name := range e.models {
		out.add(textValue(name + "/*"))
	}
	return out
}

// checks makes scorers of the assertions, or of the expected output where there are none.
func (e *skillEvals) checks(s src, scorers *sequence) {
	names, found := &names{}, 0
	for _, key := range []string{"assertions", "expectations", "expected_behavior"} {
		list := s.get(key)
		if !list.IsZero() && !list.IsNull() && !list.IsSequence() {
			list.Errorf(`write ["The answer ..."]`, "`%s` is a list, found %s", key, list.Describe())
			continue
		}
		list.ok("as judge scorers")
		for _, item := range list.items() {
			found++
			scorers.add(e.assertion(item, names))
		}
	}
	expected := s.get("expected_output")
	switch text := expected.text(); {
	case found > 0:
		expected.differs("not a check of its own where there are assertions")
		if text != "" {
			scorers.items[0].comments = append([]string{"expected: " + text}, scorers.items[0].comments...)
		}
	case text != "":
		scorers.add(e.rubric("A good result is: " + text))
		expected.ok("as a judge scorer")
	case scorers.empty():
		scorers.add(e.unscored("the eval has neither `expected_output` nor `assertions`"), "TODO: say what a good answer is")
	}
}

func (e *skillEvals) rubric(text string) *mapping {
	return one("judge", new(mapping).set("rubric", textValue(escapeText(text))).set("judge", textValue(e.judge)))
}

// assertion makes a scorer: a comparison of texts where the assertion is one, else a judge's.
func (e *skillEvals) assertion(s src, names *names) *mapping {
	text := s.text()
	for _, key := range []string{"text", "assertion", "description", "criterion", "statement", "check"} {
		text = cmp.Or(text, s.get(key).text())
	}
	value := cmp.Or(s.get("value").text(), s.get("pattern").text())
	m, why := compared(strings.ReplaceAll(s.get("type").text(), "-", "_"), value)
	switch {
	case m == nil && text != "" && value == "":
		m = e.rubric(text)
	case m == nil:
		s.todo("%s", why)
		return e.unscored(why)
	}
	s.ok("as a scorer")
	if n := s.get("name").text(); n != "" {
		m.set("name", textValue(names.plain(n, "assertion")))
	}
	if w, ok := number(s.get("weight")); ok && w > 0 {
		m.set("weight", literal(s.get("weight").text()))
	}
	return m
}

// compared makes a scorer that compares texts, or says why it is none.
func compared(kind, value string) (m *mapping, why string) {
	text := textValue(escapeText(value))
	switch {
	case value == "":
	case kind == "contains", kind == "equals":
		return one(kind, text), ""
	case kind == "not_contains", kind == "does_not_contain":
		return one("not", one("contains", text)), ""
	case kind == "regex":
		if _, err := regexp.Compile(value); err != nil {
			return nil, "the pattern is not one of Go: " + err.Error()
		}
		return one("regex", text), ""
	}
	return nil, "an assertion has no text that a judge could read, and its type is not known"
}

// copySkill puts the skill where programs look for it, and its text where models get it.
func (e *skillEvals) copySkill(evals string) error {
	file, err := filepath.Abs(evals)
	if err != nil {
		return eval.BadInput("the evals cannot be found: %w", err)
	}
	names, err := e.skill.glob("**/*")
	if err != nil {
		return eval.BadInput("the skill cannot be read: %w", err)
	}
	size := 0
	for _, name := range names {
		_, data, err := e.skill.read(name)
		if err != nil || isOutput(name) || filepath.Join(e.skill.dir, filepath.FromSlash(name)) == file {
			continue
		}
		if size += len(data); size > maxFile {
			return eval.BadInput("the skill has more than %d MiB of files; name its own folder with --skill", maxFile>>20)
		}
		if name == skillFile && len(e.models) > 0 {
			e.files["skill.md"] = []byte(escapeText(string(data)))
		}
		if len(e.programs) > 0 {
			e.files[workspaceDir+"/"+withSkill+"/.claude/skills/"+e.name+"/"+name] = data
		}
	}
	if len(e.programs) > 0 { // an empty folder cannot be committed
		e.files[workspaceDir+"/"+withoutSkill+"/.gitkeep"] = nil
		e.files[workspaceDir+"/"+withSkill+"/.gitkeep"] = nil
	}
	return nil
}

// isOutput reports a file that is no part of a skill: evals say what is expected, and an import is made of them.
func isOutput(name string) bool {
	return strings.HasPrefix(name, "evals/") || strings.HasPrefix(name, "evalrun/")
}

func (e *skillEvals) addPrompts(out *mapping) {
	all := &sequence{}
	add := func(name string, to []string, m *mapping) {
		all.add(new(mapping).set("name", textValue(name)).set("targets", texts(to...)).join(m, ""))
	}
	if len(e.models) > 0 {
		text := textValue("{{.prompt}}{{range $f := .files}}\n\n{{$f.name}}:\n{{$f.text}}{{end}}")
		add(withSkill, e.models, one("system", one("file", textValue("skill.md"))).set("text", text))
		add(withoutSkill, e.models, one("text", text))
	}
	if len(e.programs) > 0 {
		add("task", e.programs, one("text", textValue("{{.prompt}}")))
	}
	out.set("prompts", all)
}

func (e *skillEvals) suiteText(name string) []byte {
	var w writer
	w.comments(0, []string{
		"Imported from " + filepath.Base(name) + " by `evalrun import evals-json`; " + ReportFile + " has a line for each of its keys.",
		"The skill and the files are copies: import again when they change.",
	})
	out := new(mapping).set("version", integer(1)).set("name", textValue(plainName(e.name, "skill")))
	out.entries = append(out.entries, e.head.entries...)
	e.addServices(out)
	e.addTargets(out)
	e.addPrompts(out)
	e.judges.addTo(out)
	e.addCases(out)
	w.mapping(out, 0)
	return []byte(w.String())
}
