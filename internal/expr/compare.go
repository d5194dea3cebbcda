package expr

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"text/template"

	"github.com/evalrun/evalrun/eval"
)

// comparisons replace those of text/template, which do not compare a number with a text that reads as one.
var comparisons = template.FuncMap{
	"eq": eq,
	"ne": func(a, b any) (bool, error) { same, err := equal(a, b); return !same, err },
	"lt": ordered(func(c int) bool { return c < 0 }), "le": ordered(func(c int) bool { return c <= 0 }),
	"gt": ordered(func(c int) bool { return c > 0 }), "ge": ordered(func(c int) bool { return c >= 0 }),
}

func eq(v any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("eq takes two values")
	}
	for _, other := range others {
		if same, err := equal(v, other); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// equal compares as numbers if one value is a number and the other reads as one, and otherwise as texts.
func equal(a, b any) (bool, error) {
	if err := checkComparable(a, b); err != nil {
		return false, err
	}
	if c, ok := byNumber(a, b); ok {
		return c == 0, nil
	}
	return fmt.Sprint(a) == fmt.Sprint(b), nil
}

func ordered(holds func(c int) bool) func(a, b any) (bool, error) {
	return func(a, b any) (bool, error) {
		if err := checkComparable(a, b); err != nil {
			return false, err
		}
		if c, ok := byNumber(a, b); ok {
			return holds(c), nil
		}
		if isNumber(a) || isNumber(b) {
			return false, fmt.Errorf("%q and %q are not both numbers", fmt.Sprint(a), fmt.Sprint(b))
		}
		return holds(strings.Compare(fmt.Sprint(a), fmt.Sprint(b))), nil
	}
}

func checkComparable(values ...any) error {
	for _, v := range values {
		switch v.(type) {
		case eval.Array, eval.Object, eval.Dict:
			return errors.New("a list or a mapping cannot be compared; compare `json` of it")
		}
	}
	return nil
}

func isNumber(v any) bool {
	switch v.(type) {
	case eval.Number, int, float64:
		return true
	}
	return false
}

// maxDigits bounds the numbers that are compared digit by digit.
const maxDigits = 1000

// byNumber compares two values as numbers. ok is false if neither is a number, or one does not read as a
// number.
func byNumber(a, b any) (c int, ok bool) {
	if !isNumber(a) && !isNumber(b) {
		return 0, false
	}
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	if len(x)+len(y) < maxDigits {
		i, whole := new(big.Int).SetString(x, 10)
		j, both := new(big.Int).SetString(y, 10)
		if whole && both {
			return i.Cmp(j), true
		}
	}
	f, err := strconv.ParseFloat(x, 64)
	if err != nil {
		return 0, false
	}
	g, err := strconv.ParseFloat(y, 64)
	return cmp.Compare(f, g), err == nil
}
