package site

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/judging"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/scorers/labels"
)

// mostLabelFiles bounds the suites on the page of labels.
const mostLabelFiles = 200

type labelSums struct {
	Suite   string `json:"suite"`
	Answers int    `json:"answers"`
	Pass    int    `json:"pass"`
	Fail    int    `json:"fail"`
	Split   int    `json:"split"` // answers with equal numbers of pass and fail labels
	// Divided lists the first mostDivided answers of Split.
	Divided []divided `json:"divided"`
	// People counts the answers that each person labelled.
	People     []labeller               `json:"people"`
	Agreements []labels.PeopleAgreement `json:"agreements"`
	// Judges are those of the newest run with the suite, whose key is Run; none where no labelled answer of it was judged.
	Judges  []judged `json:"judges,omitempty"`
	Run     string   `json:"run,omitempty"`
	Problem string   `json:"problem"`
}

// judged is a judge, and the first answers on which it disagrees with people.
type judged struct {
	Scorer        string                 `json:"scorer"`
	Judge         string                 `json:"judge"`
	Answers       int                    `json:"answers"`
	Disagreed     int                    `json:"disagreed"`
	Disagreements []judging.Disagreement `json:"disagreements"`
}

// mostDivided bounds the answers that the page lists for a suite.
const mostDivided = 100

type divided struct {
	Case string `json:"case"`
	Arm  string `json:"arm"`
}

type labeller struct {
	Who     string `json:"who"`
	Answers int    `json:"answers"`
	Pass    int    `json:"pass"`
}

// listLabels answers with labelSums for each suite in the folder that has labels.
func (s *Server) listLabels(w http.ResponseWriter, r *http.Request) {
	end, ok := s.begin(r.Context())
	if !ok {
		return
	}
	defer end()
	dir := s.options.Dir.Abs("")
	paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+labels.Suffix))
	if err != nil {
		answer(w, nil, err)
		return
	}
	out := []labelSums{}
	for _, path := range paths[:min(len(paths), mostLabelFiles)] {
		out = append(out, s.newLabelFile(dir, strings.TrimSuffix(filepath.Base(path), labels.Suffix)))
	}
	answer(w, map[string]any{"files": out, "more": len(paths) - len(out), "who": s.labelling.who}, nil)
}

func escapeGlob(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

func (s *Server) newLabelFile(dir, suite string) labelSums {
	out := labelSums{Suite: suite, People: []labeller{}, Divided: []divided{}, Agreements: []labels.PeopleAgreement{}}
	file, err := labels.Read(dir, suite)
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	if err := file.Err(); err != nil {
		out.Problem = err.Error()
	}
	for _, who := range file.People() {
		out.People = append(out.People, labeller{Who: who})
	}
	for _, k := range file.Answers() {
		out.count(file.Of(k))
	}
	out.Agreements = append(out.Agreements, file.Agreements()...)
	s.judges(&out, file)
	return out
}

// judges compares the judges of the newest run of a suite with its labels.
func (s *Server) judges(f *labelSums, file *labels.File) {
	all := s.runs.list()
	at := slices.IndexFunc(all, func(r *viewedRun) bool { return slices.Contains(r.Suites, f.Suite) })
	if at < 0 {
		return
	}
	d, err := rundir.At("").Open(all[at].path)
	if err != nil {
		return // the list of runs shows the problem
	}
	defer d.Close() //nolint:errcheck // only read
	report, err := judging.CheckPeople(d, []*labels.File{file})
	if err != nil {
		return // no labelled answer of the run was judged, or f has the problem
	}
	f.Run = all[at].Key
	for i := range report.Judges {
		j := &report.Judges[i]
		listed := j.Disagreements[:min(len(j.Disagreements), mostDivided)]
		f.Judges = append(f.Judges, judged{j.Scorer, j.Judge, j.Answers, j.Disagreed, append([]judging.Disagreement{}, listed...)})
	}
}

func (f *labelSums) count(all []labels.Label) {
	f.Answers++
	switch labels.Decide(all) {
	case labels.Pass:
		f.Pass++
	case labels.Fail:
		f.Fail++
	default:
		if f.Split++; f.Split <= mostDivided {
			f.Divided = append(f.Divided, divided{all[0].Case, all[0].Arm})
		}
	}
	for _, l := range all {
		who := &f.People[slices.IndexFunc(f.People, func(p labeller) bool { return p.Who == l.Who })]
		if l.Label == labels.None {
			continue
		}
		who.Answers++
		if l.Label == labels.Pass {
			who.Pass++
		}
	}
}
