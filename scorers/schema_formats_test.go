package scorers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// formats counts the texts of each format that are judged as the RFCs do.
func formats(t *testing.T) (all tally, right map[string]int) {
	t.Helper()
	data, err := os.ReadFile("testdata/schema_formats.txt")
	expect.OK(t, err)
	right = map[string]int{}
	var format, want string
	for i, line := range strings.Split(string(data), "\n") {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			if _, err := fmt.Sscan(head, &format, &want); err != nil {
				t.Fatal(i+1, err)
			}
			continue
		}
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		text, err := wirejson.Marshal(line)
		expect.OK(t, err)
		got := letter(score(t, "- jsonSchema: {schema: {format: "+format+"}}", answer(string(text))))
		fits := got == map[string]string{"valid": "p", "invalid": "f"}[want]
		if all.add(fits); !fits {
			t.Logf("line %d: %s %q: got %s, want %s", i+1, format, line, got, want)
			continue
		}
		right[format]++
	}
	return all, right
}

// TestFormatsAreJudgedAsTheirRFCsDo holds how many texts of each format are judged as the RFCs do.
func TestFormatsAreJudgedAsTheirRFCsDo(t *testing.T) {
	t.Parallel()
	all, right := formats(t)
	expect.Same(t, "all", all.right, all.all)
	expect.Same(t, "right", right, map[string]int{
		"uri": 45, "uri-reference": 14, "iri": 7, "iri-reference": 4, "uri-template": 14, "email": 34, "hostname": 24,
	})
}

func TestFormatsLookAtTextsAlone(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"uri", "email", "hostname"} {
		checkShapes(t, []shapeTest{{"- jsonSchema: {schema: {format: " + format + "}}", "7", "p"}})
	}
	checkShapes(t, []shapeTest{
		{"- jsonSchema: {schema: {format: hostname}}", `"` + mega("a.") + `a"`, "f"},
		{"- jsonSchema: {schema: {format: uri}}", `"http://a/` + mega("a/") + `"`, "p"},
		{"- jsonSchema: {schema: {format: uri-template}}", `"` + mega("{a") + `"`, "f"},
		{"- jsonSchema: {schema: {format: email}}", `"` + mega("a") + `@b.c"`, "f"},
	})
}
