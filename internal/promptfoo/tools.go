package promptfoo

import "strings"

// tools reads the tools of a model, in the syntax of any vendor.
func (c *converter) tools(s src) yamlValue {
	in := s
	if strings.HasPrefix(s.text(), "file://") {
		file, ok := c.load(s, s.text())
		if !ok {
			return nil
		}
		s.ok("read from the file")
		defer c.fates.account(file)
		in = file
	}
	out := &sequence{}
	for _, item := range in.items() {
		switch {
		case item.get("function").IsMapping():
			out.add(tool(item.get("function")))
			item.get("type").ok("")
		case item.get("functionDeclarations").IsSequence():
			for _, f := range item.get("functionDeclarations").items() {
				out.add(tool(f))
			}
		case !item.get("name").IsZero() && item.get("type").text() != "mcp" &&
			!strings.Contains(item.get("type").text(), "_20"):
			out.add(tool(item))
			item.get("type").ok("")
		default:
			item.todo("a tool of the vendor's own, which `tools` of a prompt does not have; try `extra`")
		}
		item.ok("as `tools` of the prompts")
	}
	in.ok("as `tools` of the prompts")
	if out.empty() {
		return nil
	}
	return out
}

func tool(s src) yamlValue {
	out := new(mapping).set("name", textValue(s.get("name").text()))
	if d := s.get("description"); !d.IsZero() {
		out.set("description", textValue(d.text()))
	}
	for _, key := range []string{"parameters", "input_schema", "inputSchema"} {
		if p := s.get(key); p.IsMapping() {
			out.set("parameters", plainValue(p))
			p.ok("as `parameters`")
		}
	}
	s.get("name").ok("as `tools` of the prompts")
	s.get("description").ok("as `tools` of the prompts")
	s.get("strict").differs("evalrun decides whether arguments are strict")
	s.rest("cache_control", "strict")
	return out
}

func toolChoice(s src) yamlValue {
	word, name := s.text(), s.get("function").get("name").text()
	if name == "" {
		name = s.get("name").text()
	}
	if name == "" {
		name = s.get("toolName").text()
	}
	s.ok("as `toolChoice` of the prompts")
	if word == "" {
		word = s.get("type").text()
	}
	switch {
	case name != "":
		return one("name", textValue(name))
	case word == "any" || word == "required":
		return textValue("required")
	case word == "none":
		return textValue("none")
	}
	return textValue("auto")
}
