package scorers

import (
	"fmt"

	"github.com/evalrun/evalrun/internal/jsondiff"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// maxFields bounds the fields of an answer that is compared with a value.
const maxFields = 100_000

func differenceLines(d *jsondiff.Diff) []string {
	var lines []string
	for _, one := range d.Differences {
		line := fmt.Sprintf("%s: expected %s, got %s", pointer(one.Path), showJSON(one.Want), showJSON(one.Got))
		if want, ok := one.Want.(string); ok {
			if got, ok := one.Got.(string); ok {
				line += formsApart(got, []string{want}, equalTexts)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func showJSON(v any) string {
	if _, missing := v.(jsondiff.Missing); missing {
		return "nothing"
	}
	text, err := wirejson.Marshal(v)
	if err != nil {
		return cutText(fmt.Sprint(v))
	}
	return cutText(string(text))
}
