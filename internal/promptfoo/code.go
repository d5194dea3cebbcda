package promptfoo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

type diagList = diag.List

// Folders below the suite: copied files of the author, and code that was inline in the configuration.
const (
	codeDir   = "code"
	checksDir = "checks"
	dataDir   = "data" // datasets
)

// codeFile puts code into a file for a shim. It copies a file of the author with its imports. kind is part
// of the name of an inline file.
func (c *converter) codeFile(s src, kind string) (string, bool) {
	code := s.text()
	if ref, is := strings.CutPrefix(code, "file://"); is {
		file, function, _ := strings.Cut(ref, ":")
		name, ok := c.copyCode(s, file)
		if ok && function != "" {
			name += ":" + function
		}
		s.ok("in " + name)
		return name, ok
	}
	if strings.TrimSpace(code) == "" {
		s.todo("there is no code")
		return "", false
	}
	name := c.inline(code, kind, ".js")
	s.ok("in " + name)
	return name, true
}

// inline writes inline code to a file. The same code goes to the same file.
func (c *converter) inline(code, kind, ending string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s/%s-%d%s", checksDir, kind, n, ending)
		have, there := c.files[name]
		if there && !bytes.Equal(have, []byte(code)) {
			continue
		}
		c.files[name] = []byte(code)
		return name
	}
}

// copyCode copies a file of the author, with the local files that it imports.
func (c *converter) copyCode(s src, ref string) (string, bool) {
	name, data, err := c.source.read(ref)
	if err != nil {
		s.todo("%s", err)
		return "", false
	}
	if slices.Contains([]string{".ts", ".mts", ".cts"}, path.Ext(name)) {
		s.differs("node runs TypeScript from 22.18 on")
	}
	c.keep(name, data, 0)
	return path.Join(codeDir, name), true
}

// maxDepth bounds the chain of imports that are followed.
const maxDepth = 8

// keep adds a file of code and the files that it imports.
func (c *converter) keep(name string, data []byte, depth int) {
	at := path.Join(codeDir, name)
	if c.files[at] != nil || depth > maxDepth {
		return
	}
	c.files[at] = data
	for _, next := range imports(name, data) {
		if found, more, err := c.source.read(next); err == nil {
			c.keep(found, more, depth+1)
		}
	}
	if p := path.Join(path.Dir(name), "package.json"); language(name) == javaScript && depth == 0 {
		if found, more, err := c.source.read(p); err == nil { // package.json says whether .js files are modules
			c.files[path.Join(codeDir, found)] = more
		}
	}
}

var (
	jsImport = regexp.MustCompile(`(?:from|import|require\(|import\()\s*\(?["'](\.{1,2}/[^"']+)["']`)
	pyImport = regexp.MustCompile(`(?m)^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+))`)
	dataFile = regexp.MustCompile(`["'](\.{1,2}/[\w./-]+\.(?:json|ya?ml|csv|txt|md))["']`)
)

// imports lists the files that code may import, as paths to try from the configuration's folder.
func imports(name string, data []byte) (out []string) {
	dir := path.Dir(name)
	if language(name) == python {
		for _, m := range pyImport.FindAllSubmatch(data, -1) {
			module := strings.ReplaceAll(strings.Trim(string(m[1])+string(m[2]), "."), ".", "/")
			out = append(out, path.Join(dir, module+".py"), path.Join(dir, module, "__init__.py"), module+".py")
		}
		return out
	}
	for _, m := range append(jsImport.FindAllSubmatch(data, -1), dataFile.FindAllSubmatch(data, -1)...) {
		ref := path.Join(dir, string(m[1]))
		out = append(out, ref)
		for _, ending := range scriptEndings {
			out = append(out, ref+ending, strings.TrimSuffix(ref, path.Ext(ref))+ending, path.Join(ref, "index"+ending))
		}
	}
	return out
}

func (c *converter) copyFile(s src, ref string) (string, bool) {
	name, data, err := c.source.read(ref)
	if err != nil {
		s.todo("%s", err)
		return "", false
	}
	at := path.Join("files", name)
	c.files[at] = data
	return at, true
}

func jsonOf(s src) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(native(forProgram(s))) // values from YAML always encode
	return b.Bytes()
}

// native converts a value for encoding/json, which sorts the keys.
func native(v yamlValue) any {
	switch v := v.(type) {
	case *mapping:
		out := map[string]any{}
		for _, e := range v.entries {
			out[e.key] = native(e.value)
		}
		return out
	case *sequence:
		out := []any{}
		for _, e := range v.items {
			out = append(out, native(e.value))
		}
		return out
	case literal:
		if json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
		return string(v)
	case textValue:
		return string(v)
	}
	return nil
}
