package scorers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

// OnText scores the text of an answer. An answer without text fails, and `not:` does not turn that into a pass.
func OnText(score func(text string) Finding) Func {
	return func(a *Answer) Finding {
		if missing, ok := noText(a); ok {
			return missing
		}
		return score(a.Candidate.Text)
	}
}

// New makes a custom kind of scorer. T is the type of its argument in the suite: a string, a number, a bool or,
// for a mapping or a list, a type that encoding/json decodes into. Unknown keys are problems. compile is called
// when the suite is loaded, and again for a run. Its error is a problem of the suite, reported at the argument.
// The function that it returns scores answers, several concurrently. All keys next to a scorer (`select`,
// `threshold`, `not:` and so on) work with it.
func New[T any](name string, compile func(arg T) (Func, error)) Kind {
	return Kind{Name: name, Summary: "a scorer of your own", Example: "- " + name + ": ...", compile: func(a args) AnswerScorer {
		arg, ok := argument[T](a.Args)
		if !ok {
			return nil
		}
		score, err := compile(arg)
		if err != nil {
			a.Args.Errorf("", "`%s`: %s", name, err)
			return nil
		}
		return Func(func(a *Answer) Finding {
			f := score(a)
			if inRange := f.value >= 0 && f.value <= 1; !inRange {
				return Broken("its value is %v, which is not within 0 and 1", f.value)
			}
			return f
		})
	}}
}

// argument reads the argument of a kind, and reports problems at the node.
func argument[T any](n yaml.Node) (arg T, ok bool) {
	if text, is := any(&arg).(*string); is { // as written: 1.10 stays 1.10
		*text = n.Str()
		return arg, n.IsScalar()
	}
	source := n.JSON(nil)
	if n.IsNumber() { // a template made it a text
		source = []byte(n.Written())
	}
	dec := json.NewDecoder(bytes.NewReader(source))
	dec.DisallowUnknownFields()
	err := dec.Decode(&arg)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		if field, _, _ := strings.Cut(mismatch.Field, "."); n.IsMapping() && n.Map().Has(field) {
			n = n.Map().Get(field)
		}
		n.Errorf("", "expected %s, found %s", expected(mismatch.Type), n.Describe())
	case err != nil:
		n.Errorf("", "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return arg, err == nil
}

// expected names a type for authors of suites.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

var kindName = compiled(`^[A-Za-z][A-Za-z0-9_-]*$`)

// With is the table plus custom kinds. A name that is already taken is an error.
func (t Table) With(own Table) (Table, error) {
	out := slices.Clone(t)
	for _, k := range own {
		takes := func(other Kind) bool { return slices.Contains(other.Options, k.Name) }
		switch {
		case !kindName().MatchString(k.Name):
			return nil, fmt.Errorf(
				"%q is not a name for a kind of scorer: letters, digits, `_` and `-` are allowed, and a letter comes first", k.Name,
			)
		case k.compile == nil:
			return nil, fmt.Errorf("the kind of scorer `%s` does nothing: make it by scorers.New", k.Name)
		case out.Lookup(k.Name) != nil:
			return nil, fmt.Errorf("there is a kind of scorer `%s` already: choose another name", k.Name)
		case suite.Reserved(k.Name) || slices.ContainsFunc(out, takes):
			return nil, fmt.Errorf("`%s` is an option of scorers, and no name for a kind: choose another", k.Name)
		}
		out = append(out, k)
	}
	return out, nil
}
