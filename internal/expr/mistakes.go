package expr

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr/file"

	"github.com/evalrun/evalrun/diag"
)

var (
	unknownName = compiled(`^unknown name (.+)$`)
	identifier  = compiled(`^[\pL_][\pL\pN_]*$`)
	wrongKind   = compiled(`^interface conversion: interface \{\} is (.+), not (.+)$`)
	noField     = compiled(`^type .+ has no (?:field|method) (.+)$`)
)

// syntaxErrorAt converts an error of expr-lang. Its positions count characters, ours bytes.
func syntaxErrorAt(text string, env any, err error) *SyntaxError {
	var at *file.Error
	if !errors.As(err, &at) {
		return &SyntaxError{Message: err.Error()}
	}
	out := &SyntaxError{Offset: byteOf(text, at.From), Message: strings.ToValidUTF8(at.Message, "\uFFFD")}
	if m := unknownName().FindStringSubmatch(at.Message); m != nil {
		out.unknownName(text, m[1], env)
	} else if m := wrongKind().FindStringSubmatch(at.Message); m != nil {
		out.Message = fmt.Sprintf("expected %s, found %s", kindNamed(m[2]), kindNamed(m[1]))
	} else if m := noField().FindStringSubmatch(at.Message); m != nil {
		out.unknownField(text, m[1], env)
	}
	return out
}

func (e *SyntaxError) unknownName(text, name string, env any) {
	if rest := strings.TrimLeft(text[min(len(text), e.Offset+len(name)):], " "); strings.HasPrefix(rest, "(") {
		e.Message = fmt.Sprintf("there is no function `%s` here", name)
		return
	}
	names := namesIn(reflect.ValueOf(env), 1)
	e.Message, e.Hint = fmt.Sprintf("there is no `%s` here", name), diag.DidYouMean(name, names)
	if near := diag.Nearest(name, names, 1); len(near) > 0 && !identifier().MatchString(near[0]) {
		e.Hint = fmt.Sprintf("did you mean `$env[%q]`?", near[0])
	}
}

func (e *SyntaxError) unknownField(text, name string, env any) {
	if i := strings.Index(text[e.Offset:], name); i >= 0 {
		e.Offset += i
	}
	e.Message = fmt.Sprintf("there is no `%s` in it", name)
	if near := diag.Nearest(name, namesIn(reflect.ValueOf(env), 3), 1); len(near) > 0 {
		e.Hint = fmt.Sprintf("did you mean `%s`?", near[0])
	}
}

// kindNamed translates a type from the library's messages, which spell it as Go does.
func kindNamed(t string) string {
	switch {
	case t == "nil":
		return "nothing"
	case t == "string":
		return "a text"
	case t == "bool":
		return "true or false"
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case strings.HasPrefix(t, "map["):
		return "a mapping"
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "float"):
		return "a number"
	}
	return "another value"
}

// byteOf returns the byte offset of the n-th character.
func byteOf(text string, n int) int {
	for i := range text {
		if n--; n < 0 {
			return i
		}
	}
	return len(text)
}

// namesIn lists the names in an environment, down to a depth.
func namesIn(v reflect.Value, depth int) []string {
	if depth == 0 || !v.IsValid() {
		return nil
	}
	var out []string
	switch t := v.Type(); t.Kind() {
	case reflect.Slice:
		return namesIn(reflect.Zero(t.Elem()), depth)
	case reflect.Struct:
		for i := range t.NumField() {
			if name := t.Field(i).Tag.Get("expr"); name != "" {
				out = append(append(out, name), namesIn(v.Field(i), depth-1)...)
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			out = append(out, k.String())
		}
		slices.Sort(out) // so that the hint is the same each time if two names are equally near
	}
	return out
}

// compiled compiles a pattern when it is first used: most are for messages.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
