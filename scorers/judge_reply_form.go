package scorers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// replyForm is what a judge replies with, next to the reason: a scoreReply, choiceReply or tallyReply.
type replyForm interface {
	// keys are the keys of the reply.
	keys() []string
	// format describes the reply to the judge. listed is the number of contexts.
	format(reason string, listed int) string
	// read makes a ruling of a reply to the posed question.
	read(p *posed, fields jsonObject, r *eval.Ruling) *badReply
}

// oneObject precedes the format of a reply.
const oneObject = "Reply with one JSON object and nothing else: "

type scoreReply struct {
	low, high float64
	ends      string // meaning of low and high; "" when the suite's own prompt says it
	verdict   bool   // the suite's own prompt may ask for `pass` too, as prompts of other tools do
}

func shareReply(ends string) scoreReply { return scoreReply{low: 0, high: 1, ends: ends} }

// isShare reports whether the numbers are values already.
func (s scoreReply) isShare() bool { return s.low == 0 && s.high == 1 }

func (s scoreReply) keys() []string {
	if s.verdict {
		return []string{"score", "pass"}
	}
	return []string{"score"}
}

func (s scoreReply) format(reason string, _ int) string {
	return fmt.Sprintf(`%s{"reason": "%s", "score": a number from %g to %g}%s.`, oneObject, reason, s.low, s.high, s.meaning())
}

// meaning explains the ends of the scale.
func (s scoreReply) meaning() string {
	if s.ends == "" {
		return ""
	}
	return fmt.Sprintf(" (%g: %s)", s.low, strings.Replace(s.ends, ";", fmt.Sprintf("; %g:", s.high), 1))
}

func (s scoreReply) read(_ *posed, fields jsonObject, r *eval.Ruling) *badReply {
	passed := true
	if raw, judged := fields["pass"]; judged {
		if json.Unmarshal(raw, &passed) != nil || string(raw) == "null" {
			return notWanted("its pass is %s, which is neither true nor false", quote(string(raw)))
		}
		if _, scored := fields["score"]; !scored {
			fields["score"] = json.RawMessage(strconv.FormatFloat(s.high, 'g', -1, 64))
		}
	}
	raw, ok := fields["score"]
	if !ok {
		return notWanted("it has no `score`")
	}
	score, err := strconv.ParseFloat(string(raw), 64) // in JSON only a number parses
	if err != nil {
		return notWanted("its score is %s, which is no number", quote(string(raw)))
	}
	if score < s.low || score > s.high {
		return notWanted("its score %g is not between %g and %g", score, s.low, s.high)
	}
	if !passed { // whatever the score is
		score = s.low
	}
	r.Score, r.Value = &score, max(0, (score-s.low)/(s.high-s.low)) // max avoids -0
	return nil
}

type choiceReply []judgeWord

type judgeWord struct {
	word, meaning string
	value         float64
}

func (c choiceReply) keys() []string { return []string{"choice"} }

func (c choiceReply) format(reason string, _ int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s{"reason": "%s", "choice": "one of the words below"}.`+"\n", oneObject, reason)
	for _, choice := range c {
		b.WriteString("\n" + choice.word)
		if choice.meaning != "" {
			b.WriteString(": " + choice.meaning)
		}
	}
	return b.String()
}

// read ignores case.
func (c choiceReply) read(_ *posed, fields jsonObject, r *eval.Ruling) *badReply {
	var word string
	if bad := fields.text("choice", &word); bad != nil {
		return bad
	}
	i := slices.IndexFunc(c, func(choice judgeWord) bool { return strings.EqualFold(choice.word, word) })
	if i < 0 {
		return notWanted("the judge was not given the choice %s", quote(word))
	}
	r.Choice, r.Value = c[i].word, c[i].value
	return nil
}

func (c choiceReply) words() []string {
	var out []string
	for _, choice := range c {
		out = append(out, choice.word)
	}
	return out
}

func (c choiceReply) valueOf(word string) float64 { return c[slices.Index(c.words(), word)].value }

// choices are the words of a form that is answered by one of them, none for other forms.
func (f *questionForm) choices() choiceReply {
	c, _ := f.reply.(choiceReply)
	return c
}

// byChoice reports whether the judge replies with a word, which may have any value.
func (f *questionForm) byChoice() bool { return f.choices() != nil }
