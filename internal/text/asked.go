package text

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// field is a variable of a case with its value. The last message of a prompt has no name.
type field struct{ Name, Value string }

// Input is what differs between the prompts of cases: the variables that the prompt has, but for those that the answer was to
// equal where there are others, else the last message; nil under --no-content.
func Input(r *eval.Result) []field {
	said := lastMessage(r.Request)
	var sent, asked []field
	wanted := Wanted(r)
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		value := strings.TrimSuffix(r.Vars[name], "...") // long values are cut
		if value == "" || said != "" && !strings.Contains(said, value) {
			continue // an application has variables without a message
		}
		sent = append(sent, field{name, r.Vars[name]})
		if value != wanted {
			asked = append(asked, sent[len(sent)-1])
		}
	}
	switch {
	case len(asked) > 0:
		return asked
	case len(sent) > 0:
		return sent
	case said != "":
		return []field{{"", said}}
	}
	return nil
}

// Asked is the input of a trial as one text.
func Asked(r *eval.Result) string {
	fields := Input(r)
	if len(fields) == 1 {
		return fields[0].Value
	}
	var lines []string
	for _, f := range fields {
		lines = append(lines, f.Name+": "+f.Value)
	}
	return strings.Join(lines, "\n")
}

// Wanted is the text that the first failed scorer wanted in place of the answer; "" where it compared no texts.
func Wanted(r *eval.Result) string {
	for _, s := range r.Scores {
		if s.Passed() {
			continue
		}
		if want, _, ok := eval.CutTextDiff(s.Diff); ok {
			return want
		}
		if said, ok := strings.CutPrefix(s.Reason, "expected "); ok { // short texts have no diff
			quoted, _ := strconv.QuotedPrefix(said)
			want, _ := strconv.Unquote(quoted)
			return want
		}
	}
	return ""
}

func lastMessage(r *eval.Request) string {
	if r == nil || len(r.Contents) == 0 {
		return ""
	}
	var b strings.Builder
	for _, part := range r.Contents[len(r.Contents)-1].Parts {
		if t, ok := part.(eval.TextPart); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}
