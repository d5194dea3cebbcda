package scorers

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/evalrun/evalrun/internal/yamlnode"
)

// reportSchema puts a mistake in a schema at its place in the suite.
func reportSchema(node yamlnode.Node, err error) {
	var load *jsonschema.LoadURLError
	var mismatch *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	switch {
	case errors.As(err, &mismatch) && errors.As(mismatch.Err, &invalid):
		for len(invalid.Causes) > 0 {
			invalid = deepest(invalid.Causes)
		}
		message, hint := invalid.ErrorKind.LocalizedString(english), ""
		if strings.Contains(message, "not valid regex") {
			hint = "patterns are in RE2 syntax, which has no look-around and no back-references"
		}
		at(node, invalid.InstanceLocation).Errorf(hint, "not a JSON Schema: %s: %s", pointer(invalid.InstanceLocation), visibleText(message))
	case errors.As(err, &load):
		keyed(node, func(key, value string) bool {
			return (key == "$ref" || key == "$dynamicRef" || key == "$schema") && !strings.HasPrefix(value, "#") && strings.HasSuffix(load.URL, strings.TrimLeft(strings.SplitN(value, "#", 2)[0], "./"))
		}).Errorf("write the part under `$defs` and refer to `#/$defs/NAME`", "%s: %s", load.URL, errRefused)
	default:
		keyed(node, func(key, value string) bool { return key == "$ref" && strings.Contains(err.Error(), value) }).Errorf("", "not a JSON Schema: %s",
			visibleText(strings.ReplaceAll(err.Error(), schemaURL, "")))
	}
}

// deepest is the error with the longest path: of several alternatives the one that got farthest.
func deepest(errs []*jsonschema.ValidationError) *jsonschema.ValidationError {
	return slices.MaxFunc(errs, func(a, b *jsonschema.ValidationError) int { return len(a.InstanceLocation) - len(b.InstanceLocation) })
}

// at is the node at a path, or the last one on the way there.
func at(n yamlnode.Node, path []string) yamlnode.Node {
	for _, s := range path {
		next := yamlnode.Node{}
		if n.IsMapping() {
			next = n.Map().Get(s)
		} else if i, err := strconv.Atoi(s); err == nil && n.IsSequence() && i < len(n.Seq()) {
			next = n.Seq()[i]
		}
		if next.IsZero() {
			return n
		}
		n = next
	}
	return n
}

// keyed is the first value under a key that passes the test, the root when none does.
func keyed(root yamlnode.Node, test func(key, value string) bool) yamlnode.Node {
	found := root
	eachKeyed(root, func(key string, value yamlnode.Node) bool {
		if !test(key, value.Written()) {
			return true
		}
		found = value
		return false
	})
	return found
}

// eachKeyed calls f for the keys whose values are scalars, until it returns false.
func eachKeyed(n yamlnode.Node, f func(key string, value yamlnode.Node) bool) bool {
	switch {
	case n.IsMapping():
		for e := range n.Map().Entries() {
			if e.Value.IsScalar() && !f(e.Name(), e.Value) || !eachKeyed(e.Value, f) {
				return false
			}
		}
	case n.IsSequence():
		return !slices.ContainsFunc(n.Seq(), func(item yamlnode.Node) bool { return !eachKeyed(item, f) })
	}
	return true
}

var formats = strings.Fields("json-pointer relative-json-pointer uuid duration period ipv4 ipv6 hostname email date time date-time uri iri uri-reference iri-reference uri-template semver regex")

func warnOfFormats(node yamlnode.Node) {
	eachKeyed(node, func(key string, value yamlnode.Node) bool {
		if text := value.Written(); key == "format" && !slices.Contains(formats, text) {
			value.Warnf("known are "+strings.Join(formats, ", "), "the format `%s` is not known and not checked", text)
		}
		return true
	})
}
