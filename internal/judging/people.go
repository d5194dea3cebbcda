package judging

import (
	"errors"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers/labels"
)

// People is the agreement of two people on the answers to a suite, in this run and others.
type People struct {
	Suite string `json:"suite"`
	labels.PeopleAgreement
}

// wholeLabels has labels of whole answers.
type wholeLabels struct {
	bySuite map[string]*labels.File
	divided int
	met     map[labels.AnswerKey]bool
}

// CheckPeople compares the judges of a run with the labels that people gave in evalrun view, suite by
// suite. A label is about the whole answer, so all judges of the answer are compared with it. Problems of
// the files are exit 2. If there is nothing to compare, it is exit 4.
func CheckPeople(d *journal.Document, files []*labels.File) (*AgreementReport, error) {
	c := newLabelCheck(&labelFile{})
	c.people = &wholeLabels{bySuite: map[string]*labels.File{}, met: map[labels.AnswerKey]bool{}}
	var problems []error
	for _, f := range files {
		problems = append(problems, f.Err())
		c.people.bySuite[f.Suite()] = f
	}
	if err := errors.Join(problems...); err != nil {
		return nil, eval.With(eval.CodeBadInput, err)
	}
	if err := c.read(d); err != nil {
		return nil, err
	}
	if !c.hasJudges {
		return nil, errNoJudges
	}
	out, err := c.report(files[0].Path)
	if err != nil {
		return nil, err
	}
	out.Divided = c.people.divided
	for _, f := range files {
		for _, k := range f.Answers() {
			if !c.people.met[k] {
				out.Elsewhere++
			}
		}
		for _, a := range f.Agreements() {
			out.People = append(out.People, People{f.Suite(), a})
		}
	}
	return out, nil
}

// peopleOn matches an answer with the labels of people.
func (c *labelCheck) peopleOn(r *eval.Result) {
	file := c.people.bySuite[r.Suite]
	key, ok := labels.KeyOf(r)
	if file == nil || !ok {
		return
	}
	said := file.Of(key)
	word := labels.Decide(said)
	if word == labels.None {
		if labels.AnyWord(said) {
			c.people.met[key] = true
			c.people.divided++
		}
		return
	}
	c.people.met[key] = true
	judged := false
	for i := range r.Scores {
		if s := &r.Scores[i]; s.Judged != nil {
			judged = true
			c.take(&label{Label: word}, r, s)
		}
	}
	if !judged {
		c.unlabelled++
	}
}
