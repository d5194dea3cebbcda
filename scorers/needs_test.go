package scorers

import (
	"reflect"
	"testing"

	"github.com/evalrun/evalrun/suite"
)

// A scorer needs all that the scorers inside it need.
func TestNeedsOfAScorerInsideAreKept(t *testing.T) {
	t.Parallel()
	var inner suite.Needs
	from := reflect.ValueOf(&inner).Elem()
	for i := range from.NumField() {
		switch field := from.Field(i); field.Kind() {
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.String:
			field.SetString("needed")
		case reflect.Bool:
			field.SetBool(true)
		default:
			t.Fatalf("got the field %s of the kind %s, want one that this test can fill", from.Type().Field(i).Name, field.Kind())
		}
	}
	var outer needs
	outer.add(inner, true)
	got := reflect.ValueOf(outer.Needs)
	for i := range got.NumField() {
		if got.Field(i).IsZero() {
			t.Errorf("%s: got %v, want it taken over", got.Type().Field(i).Name, got.Field(i))
		}
	}
	outer = needs{}
	if outer.add(inner, false); outer.Stream != "" {
		t.Errorf("got the stream of %q, want none where it is not taken over", outer.Stream)
	}
}
