//go:build unix

package scorers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/scorers"
)

func formLimits() []limit {
	return []limit{
		{[]string{"json"}, jsonFigures},
		{[]string{"jsonSchema"}, schemaFigures},
		{[]string{"xml"}, xmlFigures},
		{[]string{"number"}, numberFigures},
		{[]string{"choice"}, choiceFigures},
		{[]string{"list"}, listFigures},
		{[]string{"refusal"}, refusalFigures},
	}
}

// documents counts which valid documents an entry takes, and which invalid ones.
func documents(t *testing.T, name, entry string) (valid, invalid tally) {
	for _, pair := range corpus(t, name) {
		if pair[0] == "valid" {
			valid.add(passes(t, entry, pair[1]))
		} else {
			if invalid.add(passes(t, entry, pair[1])); passes(t, entry, pair[1]) {
				t.Logf("%s takes %q", entry, pair[1])
			}
		}
	}
	return valid, invalid
}

func jsonFigures(t *testing.T) string {
	valid, invalid := documents(t, "json", "- json: valid")
	var equal tally
	for _, c := range vectors[struct {
		A, B  json.RawMessage
		Equal bool
	}](t, "json_diff.json") {
		equal.add(passes(t, "- json: {equals: "+string(c.A)+"}", string(c.B)) == c.Equal)
	}
	return fmt.Sprintf("It takes %s documents that RFC 8259 allows, and %s that it does not. It agrees with the programs rfc6902 and "+
		"fast-json-patch on %s pairs. Of a key that is written twice the last one counts. Answers of more than %s fields, or nested deeper "+
		"than 10,000, are unscored, unless the number of fields alone says that they differ.",
		valid, invalid, equal, grouped(scorers.MaxFields))
}

func schemaFigures(t *testing.T) string {
	n, _ := formats(t)
	return fmt.Sprintf("The formats uri, uri-reference, iri, iri-reference, uri-template, email and hostname judge %s texts as their "+
		"RFCs do. "+
		"Encoded host names (`xn--`) are not decoded, and the format `regex` is RE2. Values nested deeper than %d, and checks of more "+
		"than %s steps (for long answers %s), are unscored.",
		n, scorers.MaxNesting, grouped(scorers.MinSteps), grouped(scorers.MaxSteps))
}

func xmlFigures(t *testing.T) string {
	valid, invalid := documents(t, "xml", "- xml: wellFormed")
	return fmt.Sprintf("It takes %s documents without a document type that XML 1.0 allows, and %s that it does not. It ignores missing "+
		"white space between attributes, and a missing version of a declaration. Paths have at most %d elements.",
		valid, invalid, scorers.MaxNesting)
}

func numberFigures(t *testing.T) string {
	var read tally
	other, none, invented := 0, 0, tally{}
	for _, pair := range corpus(t, "numbers") {
		if pair[0] == "none" {
			invented.add(!strings.Contains(score(t, "- number: 42", answer(pair[1])).Reason, "no number"))
			continue
		}
		s := score(t, "- number: "+pair[0], answer(pair[1]))
		if read.add(s.Passed()); !s.Passed() {
			t.Logf("number %s: %q: %s", pair[0], pair[1], s.Reason)
		}
		switch {
		case s.Passed():
		case strings.Contains(s.Reason, "no number"):
			none++
		default:
			other++
		}
	}
	return fmt.Sprintf("Of %d answers, it reads the number that a reader takes for the answer in %d, another one in "+
		"%d and none in %d. It finds a number in %s answers without one. It takes the last number: not that before "+
		"`as of 2024` or `(see page 7)`. Words, fractions, multiples such as `5 million`, and spaces between "+
		"thousands are not read. A number of more than %d digits fails, or is unscored where `tolerance` decides.",
		read.all, read.right, other, none, invented, scorers.MaxDigits)
}

// choiceFigures holds what the forms of `choice` read: a letter, or none where an answer leaves it open or names two.
func choiceFigures(t *testing.T) string {
	named, open := 0, 0
	for _, pair := range corpus(t, "choices") {
		letters, want := "[A, B, C, D]", "u"
		if pair[0] != "none" {
			want = "p"
			named++
		} else {
			open++
		}
		for _, is := range []string{"A", "B", "C", "D"} {
			s := score(t, "- choice: {is: "+is+", of: "+letters+"}", answer(pair[1]))
			if got := letter(s); want == "u" && got != want || want == "p" && got != map[bool]string{true: "p", false: "f"}[is == pair[0]] {
				t.Errorf("choice %s: %q: got %s (%s), want %s for %s", is, pair[1], got, s.Reason, want, pair[0])
			}
		}
	}
	return fmt.Sprintf("It reads forms and not sentences. The tests hold %d answers in four languages with the letter that it reads, and %d "+
		"that deny a letter, doubt it, name two, or use another form: those are unscored. Of 319 answers in the wording of models, by which the "+
		"forms were widened, it read 304, of 1,753 other plain ones 1,170, and no letter wrongly; of 4,334 that deny a letter, doubt it or "+
		"name two, none wrongly.", named, open)
}

// refusalFigures holds what `refusal` says of answers: yes, no, or unclear where the answer is unscored.
func refusalFigures(t *testing.T) string {
	n := map[string]int{}
	for _, pair := range corpus(t, "refusals") {
		n[pair[0]]++
		s := score(t, "- refusal: true", answer(pair[1]))
		if got := map[string]string{"p": "yes", "f": "no", "u": "unclear"}[letter(s)]; got != pair[0] {
			t.Errorf("refusal: %q: got %s (%s), want %s", pair[1], got, s.Reason, pair[0])
		}
	}
	return fmt.Sprintf("The tests hold %d refusals in fifteen languages, %d answers that are none, and %d that are unscored. Of 1,034 other "+
		"refusals in English, German, French, Spanish and Japanese it knew 938, left 96 unscored and missed none; of 1,044 similar answers "+
		"154 were unscored, and none was taken for a refusal.", n["yes"], n["no"], n["unclear"])
}

func listFigures(t *testing.T) string {
	var n tally
	for _, pair := range corpus(t, "lists") {
		items := strings.Split(pair[0], "|")
		for i, item := range items {
			items[i] = quoted(item)
		}
		n.add(passes(t, "- {list: ["+strings.Join(items, ", ")+"], ignoreCase: true}", pair[1]))
	}
	return fmt.Sprintf("It finds the items that a reader takes for those listed in %s answers. It misses lists inside sentences, tables, "+
		"objects and fenced blocks (select these), items with a remark, and lists within lists. It takes at most %s items.",
		n, grouped(scorers.MaxItems))
}
