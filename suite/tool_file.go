package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// toolFile reads a file with a list of declarations. It returns the zero node after a problem.
func (l *loader) toolFile(n yaml.Node) yaml.Node {
	if !n.IsScalar() || n.IsNull() {
		n.Str() // which says what it should be
		return yaml.Node{}
	}
	name := n.Str()
	src, err := l.files.text(name)
	if err != nil {
		n.Errorf("", "%s", err)
		return yaml.Node{}
	}
	if strings.EqualFold(path.Ext(name), ".json") {
		if at, ok := jsonSlip(src); !ok {
			l.diags.Errorf(positionIn(l.Shown(name), src, at), "", "the file is not JSON")
			return yaml.Node{}
		}
		src = asYAML(src)
	}
	root, ok := yaml.Parse(l.Shown(name), src, l.diags)
	if !ok {
		return yaml.Node{}
	}
	if !root.IsSequence() {
		root.Errorf("a list of {name, description, parameters}", "a file of tools is a list, found %s", root.Describe())
		return yaml.Node{}
	}
	return root
}

// jsonSlip returns the offset of the first syntax error of a JSON text.
func jsonSlip(src []byte) (offset int, ok bool) {
	var value json.RawMessage
	err := json.Unmarshal(bytes.TrimPrefix(src, []byte("\ufeff")), &value)
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return max(0, int(bad.Offset)-1), false
	}
	return 0, err == nil
}

func positionIn(file string, src []byte, offset int) diag.Pos {
	return source{file: file, text: string(src)}.pos(offset)
}

// surrogates matches a pair of JSON escapes for one character, for which YAML has a single escape.
var surrogates = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// asYAML turns JSON into YAML: it replaces tabs, which occur between values only, and pairs of surrogates.
func asYAML(src []byte) []byte {
	return surrogates.ReplaceAllFunc(bytes.ReplaceAll(src, []byte("\t"), []byte(" ")), func(pair []byte) []byte {
		high, _ := strconv.ParseUint(string(pair[2:6]), 16, 16)
		low, _ := strconv.ParseUint(string(pair[8:12]), 16, 16)
		return []byte(string(utf16.DecodeRune(rune(high), rune(low))))
	})
}
