package eval

import "errors"

// SourceOptions say where answers come from and go, other than the service. Source settles what they mean together.
type SourceOptions struct {
	Record    string `json:"record,omitempty"`
	Replay    string `json:"replay,omitempty"`
	ReplayOr  string `json:"replayOrRecord,omitempty"`
	Cache     bool   `json:"cache,omitempty"`
	Answers   string `json:"answers,omitempty"`   // a file of answers from elsewhere
	Rescore   string `json:"rescore,omitempty"`   // a run whose answers are scored again
	AskJudges bool   `json:"askJudges,omitempty"` // with Rescore: judges are called where the run has no reply
	Extend    string `json:"extend,omitempty"`    // a finished run whose results count in this one
}

// Source is where the answers of a run come from: FromService, FromRecords, FromFile or FromRun.
type Source interface{ source() }

// FromService requests answers.
type FromService struct {
	Record string // the folder that keeps the answers; "" for none
	Reuse  bool   // answers in that folder need no request
}

// FromRecords takes the answers that an earlier run recorded in a folder. Nothing is sent.
type FromRecords struct{ Dir string }

// FromFile takes the answers in a file that was made elsewhere. Nothing is sent.
type FromFile struct{ Path string }

// FromRun takes the answers of a run, to score them again. Embeddings are requested if scorers want them.
type FromRun struct {
	Run       string
	AskJudges bool // judges are called where the run has no reply
}

func (FromService) source() {}
func (FromRecords) source() {}
func (FromFile) source()    {}
func (FromRun) source()     {}

// Source is what the options choose. The error says which of them exclude each other.
func (o *SourceOptions) Source() (Source, error) {
	recorded := 0
	for _, dir := range []string{o.Record, o.Replay, o.ReplayOr} {
		if dir != "" {
			recorded++
		}
	}
	switch {
	case recorded > 1:
		return nil, errors.New("--record, --replay and --replay-or-record are three ways to use recorded answers: choose one")
	case o.Answers != "" && recorded > 0:
		return nil, errors.New(
			"--answers takes the answers from a file, and --record, --replay and --replay-or-record keep or use those of a service: " +
				"choose one",
		)
	case o.Rescore != "" && (o.Answers != "" || recorded > 0):
		return nil, errors.New("a rescore takes the answers from its run: leave out the options that record answers or take others")
	case o.AskJudges && o.Rescore == "":
		return nil, errors.New("only a rescore can ask judges alone: name the run, or leave the option out")
	case o.Rescore != "":
		return FromRun{Run: o.Rescore, AskJudges: o.AskJudges}, nil
	case o.Answers != "":
		return FromFile{o.Answers}, nil
	case o.Replay != "":
		return FromRecords{o.Replay}, nil
	case o.ReplayOr != "":
		return FromService{Record: o.ReplayOr, Reuse: true}, nil
	}
	return FromService{Record: o.Record}, nil
}
