package scorers

import (
	"cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// PreferenceQuestion has a judge prefer one of two answers, once in each order.
type PreferenceQuestion struct {
	judging  judgeScorer
	criteria string
}

// NewPreferenceQuestion compiles the question. Criteria are optional.
func NewPreferenceQuestion(j *suite.Judge, criteria string) *PreferenceQuestion {
	return &PreferenceQuestion{judgeScorer{questionForm: preferenceForm(), judges: []*suite.Judge{j}}, criteria}
}

// Judge is the judge that prefers one.
func (q *PreferenceQuestion) Judge() *suite.Judge { return q.judging.judges[0] }

// Criteria are the judge's criteria, "" for none.
func (q *PreferenceQuestion) Criteria() string { return q.criteria }

func preferenceForm() questionForm {
	return questionForm{
		given: "Two systems were asked and each gave an answer, A and B.",
		task: "Say which of the two answers is the better one, by the criteria where they are given. Where the systems were asked in " +
			"different words, each answer is one to its own question. " +
			"Which answer stands first means nothing, and neither does length for its own sake.",
		reply: choiceReply{
			{word: wordA, meaning: "answer A is better"},
			{word: wordB, meaning: "answer B is better"},
			{word: wordTie, meaning: "neither is better than the other"},
		},
	}
}

const wordA, wordB, wordTie = "A", "B", "tie"

// AnswerPair holds two answers to one case.
type AnswerPair struct{ Base, Head Exchange }

// Exchange is an answer with its question.
type Exchange struct{ Question, Answer string }

// NewExchange extracts question and answer from a recorded trial.
func NewExchange(r *eval.Result) Exchange {
	t := Exchange{Answer: r.Response.Text()}
	if r.Request != nil {
		t.Question = conversation(r.Request.Contents)
	}
	return t
}

// Preference is a judge's preference between two answers. The zero Preference means that no ruling counts.
type Preference string

// Results of a judge over both orders of two answers.
const (
	Win  Preference = "win"  // head's answer is better
	Loss Preference = "loss" // base's answer is better
	Tie  Preference = "tie"  // neither, or a different one in each order
)

// PairRuling is a judge's ruling on a pair.
type PairRuling struct {
	// Preferred is the preferred answer; "" when there is none, and then Why says why.
	Preferred Preference
	Why       string
	// Firsts and Seconds count how often the judge preferred the answer in that position.
	Firsts, Seconds int
	// Same says that the answers are identical, so no call was made.
	Same bool
}

// Contradicts reports whether the judge's preference followed the position, not the answer.
func (c *PairRuling) Contradicts() bool { return c.Firsts == 2 || c.Seconds == 2 }

// Prefer rules on a pair from the available replies. While replies are missing, there is no preference yet.
func (q *PreferenceQuestion) Prefer(p AnswerPair, replies *Judgements) PairRuling {
	switch {
	case eval.IsBlank(p.Base.Answer) || eval.IsBlank(p.Head.Answer):
		return PairRuling{Why: "one of the answers has no text"}
	case p.Base.Answer == p.Head.Answer:
		return PairRuling{Preferred: Tie, Same: true}
	}
	first, problem := q.order(p.Base, p.Head, replies)
	second, other := q.order(p.Head, p.Base, replies)
	out := PairRuling{Why: cmp.Or(problem, other), Preferred: preferenceFor(first, second)}
	for _, word := range []string{first, second} {
		switch word {
		case wordA:
			out.Firsts++
		case wordB:
			out.Seconds++
		}
	}
	return out
}

// preferenceFor combines the rulings of both orders for head, which is second and then first; "" when one is missing.
func preferenceFor(first, second string) Preference {
	switch {
	case first == "" || second == "":
		return ""
	case first == wordB && second == wordA:
		return Win
	case first == wordA && second == wordB:
		return Loss
	}
	return Tie
}

// order reads the ruling on one order of the answers. It is "" while no reply counts.
func (q *PreferenceQuestion) order(a, b Exchange, replies *Judgements) (word, problem string) {
	var parts []fencedText
	if q.criteria != "" {
		parts = append(parts, fencedText{"criteria", q.criteria})
	}
	switch {
	case a.Question == b.Question && a.Question != "":
		parts = append(parts, fencedText{"question", a.Question})
	case a.Question != b.Question:
		parts = append(parts, fencedText{"questionA", a.Question}, fencedText{"questionB", b.Question})
	}
	contents, ok := q.judging.fill(append(parts, fencedText{"answerA", a.Answer}, fencedText{"answerB", b.Answer}), 0)
	if !ok {
		return "", "the answers are too long for a judge"
	}
	ruling, unscored := q.judging.ruling(replies, &posed{questionForm: &q.judging.questionForm, judge: q.Judge(), contents: contents}, 1)
	if ruling == nil {
		return "", unscored.Why
	}
	return ruling.Choice, ""
}
