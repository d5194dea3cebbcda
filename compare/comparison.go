package compare

import "github.com/evalrun/evalrun/eval"

// Comparison is a run, or some arms of it, against a baseline.
type Comparison struct {
	Base Compared        `json:"base"`
	Head Compared        `json:"head"`
	Arms []ArmComparison `json:"arms"`
	// Verdict is the worst of the arms', "" without a margin.
	Verdict eval.Verdict `json:"verdict,omitempty"`
	// Why says what makes the comparison invalid as a whole, "" when it is not.
	Why      string   `json:"why,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Choice is what a judge chose between the answers, nil without a judge.
	Choice *PairwiseJudging `json:"choice,omitempty"`
	// Repeated are the suites that this folder's runs have compared with the same baseline before.
	Repeated []Repeated `json:"repeated,omitempty"`
	// NotCompared says that the gate has a baseline and --no-baseline was given.
	NotCompared bool `json:"notCompared,omitempty"`
}

// Repeated says that a suite, its files unchanged, was compared with its baseline before.
type Repeated struct {
	Suite string `json:"suite"`
	Base  string `json:"base"` // the id of the baseline's run
	Nth   int    `json:"nth"`  // 2 for the second comparison
}

// Compared names one side of a comparison.
type Compared struct {
	Run       string `json:"run"`            // its id
	Name      string `json:"name,omitempty"` // what the user called it
	StartedAt string `json:"startedAt,omitempty"`
}

// ArmComparison is an arm of a suite against that of the baseline, cases paired.
type ArmComparison struct {
	Suite   string       `json:"suite"`
	BaseArm string       `json:"baseArm"`
	HeadArm string       `json:"headArm"`
	Verdict eval.Verdict `json:"verdict,omitempty"`
	Why     string       `json:"why,omitempty"` // of an invalid one
	// EarlyVerdict says that the verdict was known early; the metrics are of what was used.
	EarlyVerdict *eval.EarlyVerdict `json:"stopped,omitempty"`
	// Estimand says what the intervals are about: `population`, and the cases are a sample of it.
	Estimand string             `json:"estimand"`
	Cases    Pairing            `json:"cases"`
	Metrics  []MetricComparison `json:"metrics"`
	// Choice is what a judge chose, nil without a judge.
	Choice *ArmPreference `json:"choice,omitempty"`
	// Flips are the cases whose outcome changed, the worsened ones first.
	Flips  []Flip  `json:"flips,omitempty"`
	Slices []Slice `json:"slices,omitempty"` // by tag, advisory
	// Safety compares the ratings of answers, by category.
	Safety []CategoryComparison `json:"safety,omitempty"`
	// Points are the cases one by one, nil where there are too many.
	Points *Points `json:"-"`
}

// Pairing says which cases are compared.
type Pairing struct {
	Paired int `json:"paired"`
	Units  int `json:"units"` // independent ones: clusters, where cases have them
	// Compared of Of cases of the baseline are among them: of the cases out of quarantine that the run has to cover.
	// An early stop takes none away.
	Compared int `json:"compared"`
	Of       int `json:"of"`
	// MinPaired is the least share of them that a verdict takes; 0 without a verdict.
	MinPaired float64 `json:"minPaired,omitempty"`
	// Unselected are cases of the baseline that the run leaves out by its filters.
	Unselected int `json:"unselected,omitempty"`
	// PassedBefore are the removed, changed or quarantined cases that had passed.
	PassedBefore []string `json:"passedBefore,omitempty"`
	Unjudged     []string `json:"unjudged,omitempty"` // paired, but on one side there is no pass and no fail
	Changed      []string `json:"changed,omitempty"`  // the same name, but other variables or scorers
	// ScorerVersions say which of the changed ones have the same scorers, whose kinds mean something else.
	ScorerVersions []ScorerVersion `json:"scorerVersions,omitempty"`
	Added          []string        `json:"added,omitempty"`
	Removed        []string        `json:"removed,omitempty"`
	Unused         int             `json:"unused,omitempty"` // not run, or not used, since the verdict was known
	// Duplicates are the names of cases that sent one and the same request: each list counts as one case with several
	// repeats.
	Duplicates [][]string `json:"duplicates,omitempty"`
	// CallsPerCase and TokensPerCase are what a case costs on the head's side, on average.
	CallsPerCase  float64 `json:"callsPerCase"`
	TokensPerCase float64 `json:"tokensPerCase"`
	// Quarantined cases are left out.
	Quarantined []string `json:"quarantined,omitempty"`
}

// MetricComparison is one metric, head against base. Differences are head minus base; of latency and tokens the
// estimate is a ratio, head to base.
type MetricComparison struct {
	Name string `json:"name"`
	// Base and Head are the means over cases whose difference or ratio Estimate is: of ratios, of amounts up to Cap.
	Base     float64 `json:"base"`
	Head     float64 `json:"head"`
	Estimate float64 `json:"estimate"`
	// Interval is nil when nothing is known: too few cases, or ratios that are all the same.
	Interval *[2]float64 `json:"interval"`
	Level    float64     `json:"level"` // of the interval, such as 0.9
	// Anytime says that the interval holds although the run stopped early, and that the estimate is biased away from zero.
	Anytime bool `json:"anytime,omitempty"`
	N       int  `json:"n"` // units
	// Gained and Regressed are cases that went from failing to passing, and back.
	Gained    int    `json:"gained"`
	Regressed int    `json:"regressed"`
	Test      string `json:"test"`
	Gated     bool   `json:"gated"`
	// Margin is how much worse still counts as not worse; of ratios, the largest ratio that does. nil: none was stated.
	Margin       *float64 `json:"margin,omitempty"`
	PNonInferior *float64 `json:"pNonInferior,omitempty"`
	PWorse       *float64 `json:"pWorse,omitempty"`
	PBetter      *float64 `json:"pBetter,omitempty"`
	// Asymptotic are the tests of large numbers, where exact ones decide.
	Asymptotic *Asymptotic `json:"asymptotic,omitempty"`
	// HeadErrors are trials of head that could not be judged; PWithErrors are PNonInferior and PBetter with the worst value for each.
	HeadErrors  int         `json:"headErrors,omitempty"`
	PWithErrors *[2]float64 `json:"pWithErrors,omitempty"`
	// Cap is what a case counts at most, of latency in milliseconds and of tokens; nil of other metrics.
	Cap *float64 `json:"cap,omitempty"`
	// Needs is from how many units on a ratio within the limit can be shown; 0 of other metrics.
	Needs int `json:"needs,omitempty"`
	// Advisory says that the cases are fewer, and that the gate accepts it.
	Advisory bool         `json:"advisory,omitempty"`
	Verdict  eval.Verdict `json:"verdict,omitempty"`
	Flags    []string     `json:"flags,omitempty"`
	// Advice says in words what it would take to know.
	Advice string `json:"advice,omitempty"`
	// MoreCases is how many cases are missing for a power of 80 %, 0 when there are enough.
	MoreCases int `json:"moreCases,omitempty"`
	// Repeats is how many repeats of each case would do instead of more cases; -1: no number of repeats would.
	Repeats int `json:"repeats,omitempty"`
	// scale is how far a unit can change the metric, 0 where it is a mean of values up to 1.
	scale float64
}

// Asymptotic are Tango's interval and test, and McNemar's mid-p.
type Asymptotic struct {
	Interval     [2]float64 `json:"interval"`
	PNonInferior float64    `json:"pNonInferior"`
	PWorse       float64    `json:"pWorse"`
	PBetter      float64    `json:"pBetter"`
}

// Flip is a case whose outcome changed.
type Flip struct {
	Case string `json:"case"`
	// Passes and trials of base and head: repeats that were judged.
	BasePassed int `json:"basePassed"`
	BaseJudged int `json:"baseJudged"`
	HeadPassed int `json:"headPassed"`
	HeadJudged int `json:"headJudged"`
	// SingleSample says that it is one trial against another, which is no evidence.
	SingleSample bool `json:"singleSample"`
	// P is the adjusted p value (Benjamini-Hochberg) of cases with five repeats or more.
	P *float64 `json:"p,omitempty"`
	// BaseTrial and HeadTrial are the ids of a trial of each. Compare leaves them to those who have the run files.
	BaseTrial string `json:"baseTrial,omitempty"`
	HeadTrial string `json:"headTrial,omitempty"`
	// BaseAt and HeadAt are where the run files have those trials.
	BaseAt int64 `json:"-"`
	HeadAt int64 `json:"-"`
	// BaseAnswer and HeadAnswer are their texts, of the first flips.
	BaseAnswer string `json:"baseAnswer,omitempty"`
	HeadAnswer string `json:"headAnswer,omitempty"`
}

// Slice is the pass rate among the cases with a tag.
type Slice struct {
	Tag      string      `json:"tag"`
	N        int         `json:"n"`
	Estimate float64     `json:"estimate"`
	Interval *[2]float64 `json:"interval"`
	// P is the adjusted one-sided p value (Benjamini-Hochberg) of having got worse.
	P float64 `json:"p"`
	// Significant at a false discovery rate of 0.1.
	Significant bool `json:"standsOut"`
}

// CategoryComparison says how often a safety category was rated MEDIUM or HIGH, or blocked, on each side.
type CategoryComparison struct {
	Category    string  `json:"category"`
	BaseRated   int     `json:"baseRated"` // answers with a rating
	HeadRated   int     `json:"headRated"`
	BaseHigh    float64 `json:"baseHigh"` // share rated MEDIUM or higher
	HeadHigh    float64 `json:"headHigh"`
	BaseBlocked float64 `json:"baseBlocked"` // share blocked for it
	HeadBlocked float64 `json:"headBlocked"`
}
