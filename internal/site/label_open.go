package site

import (
	"net/http"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers/labels"
)

// labelledTrials lists trials by their index in the plan: Yes has labelled trials, and No the trials that
// still need a label. Trials that take no label are in neither list.
type labelledTrials struct {
	Yes []int `json:"yes"`
	No  []int `json:"no"`
}

// listLabelled answers with the trials of a run that the current person has labelled.
func (s *Server) listLabelled(w http.ResponseWriter, r *http.Request) {
	one, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return
	}
	opened := s.opened.take(one)
	defer s.opened.leave(opened)
	if err := s.use(r.Context(), opened); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	defer opened.mu.Unlock()
	if of := r.URL.Query().Get("of"); of != "" && of != opened.epoch {
		refuse(w, http.StatusConflict, errOld.Error())
		return
	}
	out, err := s.labelling.labelled(opened.doc, s.options.Dir.Abs(""))
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, out)
}

// labelled reads all trials, because equal answers share their labels.
func (l *labelling) labelled(d *journal.Document, dir string) (*labelledTrials, error) {
	out := &labelledTrials{Yes: []int{}, No: []int{}}
	if l.closedRun(d) != "" {
		return out, nil
	}
	files := map[string]*labels.File{}
	for r, err := range d.Trials() {
		if err != nil || closedTrial(r) != "" { // the page has no row for a damaged trial
			continue
		}
		file := files[r.Suite]
		if file == nil {
			if file, err = labels.Read(dir, r.Suite); err != nil {
				return nil, err
			}
			files[r.Suite] = file
		}
		if l.hasLabelled(file, r) {
			out.Yes = append(out.Yes, r.N)
		} else {
			out.No = append(out.No, r.N)
		}
	}
	return out, nil
}

// hasLabelled ignores the label "none", which withdraws an earlier one.
func (l *labelling) hasLabelled(file *labels.File, r *eval.Result) bool {
	key, _ := labels.KeyOf(r)
	for _, one := range file.Of(key) {
		if one.Who == l.who && one.Label != labels.None {
			return true
		}
	}
	return false
}
