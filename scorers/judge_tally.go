package scorers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// tallyReply lists statements or contexts, which evalrun counts, because models miscount.
type tallyReply struct {
	lists    []string // keys of the lists
	each     string   // format of the lists
	contexts bool     // the judge judges contexts, by default those of the answer
	eachOne  bool     // there is one entry for each context
	// count sets the value of a ruling, and puts the counts into its reason.
	count func(p *posed, fields jsonObject, r *eval.Ruling) *badReply
}

func (t tallyReply) keys() []string { return t.lists }

func (t tallyReply) format(reason string, listed int) string {
	return fmt.Sprintf(`%s{"reason": "%s", %s}.%s`, oneObject, reason, t.each, t.rest(listed))
}

func (t tallyReply) read(p *posed, fields jsonObject, r *eval.Ruling) *badReply {
	return t.count(p, fields, r)
}

// rest says how many entries the reply must have.
func (t tallyReply) rest(listed int) string {
	if !t.eachOne {
		return ""
	}
	return fmt.Sprintf(" There is one entry for each context, from 1 to %d.", listed)
}

// contextPart is the name of a retrieved text; several are numbered.
const contextPart = "context"

func numbered(name string, texts []string) []fencedText {
	out := make([]fencedText, len(texts))
	for i, text := range texts {
		out[i] = fencedText{name + strconv.Itoa(i+1), text}
	}
	return out
}

// retrieves reports whether the contexts come from the answer.
func (f *questionForm) retrieves() bool {
	if tally, _ := f.reply.(tallyReply); !tally.contexts {
		return false
	}
	for _, p := range f.parts {
		if strings.HasPrefix(p.name, contextPart) {
			return false
		}
	}
	return true
}

// retrieved are the contexts in a selected part of an answer: the items of a JSON array, or the whole text.
func retrieved(text string) []string {
	var items []json.RawMessage
	if json.Unmarshal([]byte(text), &items) != nil || items == nil {
		return []string{text}
	}
	out := make([]string, len(items))
	for i, item := range items {
		if json.Unmarshal(item, &out[i]) != nil || item[0] != '"' {
			out[i] = string(item)
		}
	}
	return out
}

func supportedTally() tallyReply {
	return tallyReply{
		lists: []string{"statements"}, contexts: true,
		each:  `"statements": [{"statement": "a statement of the reference", "supported": true or false}]`,
		count: (*posed).supported,
	}
}

func (p *posed) supported(fields jsonObject, r *eval.Ruling) *badReply {
	all, bad := fields.objects("statements", "statement", "supported")
	switch {
	case bad != nil:
		return bad
	case len(all) == 0:
		return notWanted("its `statements` are empty")
	}
	found := 0
	var lacking []string
	for _, one := range all {
		var text string
		var yes bool
		if bad := firstBad(one.text("statement", &text), one.truth("supported", &yes)); bad != nil {
			return bad
		}
		if yes {
			found++
		} else {
			lacking = append(lacking, quote(text))
		}
	}
	r.Value = float64(found) / float64(len(all))
	counted := fmt.Sprintf("the contexts support %d of %s", found, diag.Count(len(all), "statement"))
	if len(lacking) > 0 {
		counted += ", not " + strings.Join(lacking, ", ")
	}
	r.Reason = counted + ": " + r.Reason
	return nil
}

func usefulTally() tallyReply {
	return tallyReply{
		lists: []string{"verdicts"}, contexts: true, eachOne: true,
		each: `"verdicts": [{"context": the number of a context, "useful": true or false}]`, count: (*posed).useful,
	}
}

// useful is the average precision of the contexts in order.
func (p *posed) useful(fields jsonObject, r *eval.Ruling) *badReply {
	inOrder, bad := p.usefulness(fields)
	if bad != nil {
		return bad
	}
	value, places := averagePrecision(inOrder)
	r.Value = value
	counted := fmt.Sprintf("none of %s is useful", diag.Count(p.listed, contextPart))
	if len(places) > 0 {
		counted = fmt.Sprintf("useful of %s: %s", diag.Count(p.listed, contextPart), strings.Join(places, ", "))
	}
	r.Reason = counted + ": " + r.Reason
	return nil
}

// usefulness says of all contexts, in their order, whether they are useful.
func (p *posed) usefulness(fields jsonObject) ([]bool, *badReply) {
	all, bad := fields.objects("verdicts", contextPart, "useful")
	if bad != nil {
		return nil, bad
	}
	inOrder, there := make([]bool, p.listed), make([]bool, p.listed)
	for _, one := range all {
		n, err := strconv.Atoi(string(one[contextPart]))
		if err != nil || n < 1 || n > p.listed || there[n-1] {
			return nil, notWanted(
				"its verdict on the context %s is one too many: they are 1 to %d, each once", quote(string(one[contextPart])),
				p.listed,
			)
		}
		there[n-1] = true
		if bad := one.truth("useful", &inOrder[n-1]); bad != nil {
			return nil, bad
		}
	}
	if len(all) < p.listed {
		return nil, notWanted("it has verdicts on %d of %d contexts", len(all), p.listed)
	}
	return inOrder, nil
}

// averagePrecision is the mean precision at each useful context; places are their positions, from 1.
func averagePrecision(useful []bool) (value float64, places []string) {
	sum := 0.0
	for i, yes := range useful {
		if yes {
			places = append(places, strconv.Itoa(i+1))
			sum += float64(len(places)) / float64(i+1)
		}
	}
	if len(places) == 0 {
		return 0, nil
	}
	return sum / float64(len(places)), places
}

// sidesOfStatements are the lists of statements by the texts that make them.
func sidesOfStatements() []string { return []string{"both", "answerOnly", "referenceOnly"} }

func correctTally() tallyReply {
	return tallyReply{
		lists: sidesOfStatements(),
		each:  `"both": ["a statement"], "answerOnly": ["a statement"], "referenceOnly": ["a statement"]`,
		count: (*posed).correct,
	}
}

// correct is the F1 of the statements, combined with the weighted cosine of both texts.
func (p *posed) correct(fields jsonObject, r *eval.Ruling) *badReply {
	var n [3]int
	var lists [3][]string
	for i, key := range sidesOfStatements() {
		var bad *badReply
		if lists[i], bad = fields.texts(key); bad != nil {
			return bad
		}
		n[i] = len(lists[i])
	}
	if n[0]+n[1]+n[2] == 0 {
		return notWanted("it lists no statement")
	}
	r.Value = statementF1(n[0], n[1], n[2])
	counted := fmt.Sprintf("F1 %.3g of %d statements in both, %d in the answer only, %d in the reference only", r.Value,
		n[0], n[1], n[2])
	if p.cosine != nil {
		counted += fmt.Sprintf(", similarity %.3g", *p.cosine)
		r.Value = min(1, (1-p.similarity)*r.Value+p.similarity*max(0, *p.cosine))
	}
	r.Reason = counted + ": " + r.Reason
	return nil
}

// statementF1 is TP / (TP + (FP + FN) / 2).
func statementF1(both, answerOnly, referenceOnly int) float64 {
	if both == 0 {
		return 0
	}
	return float64(both) / (float64(both) + float64(answerOnly+referenceOnly)/2)
}

func firstBad(all ...*badReply) *badReply {
	for _, bad := range all {
		if bad != nil {
			return bad
		}
	}
	return nil
}

// objects reads a list of objects with exactly these keys.
func (o jsonObject) objects(key string, want ...string) ([]jsonObject, *badReply) {
	items, bad := o.list(key)
	if bad != nil {
		return nil, bad
	}
	out := make([]jsonObject, len(items))
	for i, item := range items {
		if out[i], bad = readObject(string(item)); bad != nil || len(out[i]) != len(want) {
			return nil, notWanted(
				"entry %d of its `%s` is %s, which is no object with `%s`", i+1, key, quote(string(item)),
				strings.Join(want, "` and `"),
			)
		}
	}
	return out, nil
}

func (o jsonObject) texts(key string) ([]string, *badReply) {
	items, bad := o.list(key)
	if bad != nil {
		return nil, bad
	}
	out := make([]string, len(items))
	for i, item := range items {
		if item[0] != '"' || json.Unmarshal(item, &out[i]) != nil {
			return nil, notWanted("entry %d of its `%s` is %s, which is no text", i+1, key, quote(string(item)))
		}
	}
	return out, nil
}

func (o jsonObject) list(key string) ([]json.RawMessage, *badReply) {
	raw, ok := o[key]
	var items []json.RawMessage
	switch {
	case !ok:
		return nil, notWanted("it has no `%s`", key)
	case raw[0] != '[' || json.Unmarshal(raw, &items) != nil:
		return nil, notWanted("its `%s` is %s, which is no list", key, quote(string(raw)))
	}
	return items, nil
}

func (o jsonObject) truth(key string, to *bool) *badReply {
	raw, ok := o[key]
	if text := string(raw); !ok || text != "true" && text != "false" {
		return notWanted("its `%s` is %s, which is neither true nor false", key, quote(text))
	}
	*to = raw[0] == 't'
	return nil
}
