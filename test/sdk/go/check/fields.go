package check

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// field is what a library knows about a field of an answer.
type field interface {
	Raw() string
	Valid() bool
}

// Fields is an error that lists the fields of an answer that are of another type than the library's: it drops them
// without a word.
func Fields(answer any) error {
	problems := fields(reflect.ValueOf(answer), "the answer")
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

func fields(v reflect.Value, path string) (problems []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return fields(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			problems = append(problems, fields(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case reflect.Struct:
		return fieldsOf(v, path)
	}
	return problems
}

// fieldsOf looks at a struct. The library keeps the state of each field under the field's name in JSON; a union says
// which variant it is.
func fieldsOf(v reflect.Value, path string) (problems []string) {
	if variant := v.MethodByName("AsAny"); variant.IsValid() {
		return fields(variant.Call(nil)[0], path)
	}
	states := v.FieldByName("JSON")
	if !states.IsValid() {
		return nil
	}
	for i := range v.NumField() {
		name, kind := v.Type().Field(i).Name, v.Type().Field(i).Type
		state, ok := stateOf(states, name)
		switch {
		case !ok:
		case state.Valid():
			problems = append(problems, fields(v.Field(i), path+"."+name)...)
		case state.Raw() != "" && state.Raw() != "null":
			problems = append(problems, fmt.Sprintf("%s.%s is %s, which is no %s", path, name, state.Raw(), kind))
		}
	}
	return problems
}

func stateOf(states reflect.Value, name string) (field, bool) {
	state := states.FieldByName(name)
	if !state.IsValid() || !state.CanInterface() {
		return nil, false
	}
	known, ok := state.Interface().(field)
	return known, ok
}
