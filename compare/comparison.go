package compare

import (
	"github.com/evalrun/evalrun/eval"
)

// Comparison compares a run, or some of its arms, with a baseline.
type Comparison struct {
	Base Compared `json:"base"`
	Head Compared `json:"head"`
	// Finding says what happened on the worst arm, with the number of others.
	Finding
	// Worst is the index of that arm in Arms; 0 without arms.
	Worst int `json:"worst"`
	// Notes qualify the headline: what a reader must know to read it right, such as "compared 60 of 600 cases". Every report and
	// -q print AllNotes below the headline, one a line. To add one, append a text to these, or to those of the arm that it is
	// about, before Describe: short, without a capital and a full stop, and without numbers that the headline has.
	Notes []string        `json:"notes,omitempty"`
	Arms  []ArmComparison `json:"arms"`
	// Verdict is the worst verdict of the arms, "" without a margin.
	Verdict eval.Verdict `json:"verdict,omitempty"`
	// Comparisons is how many verdicts on metrics of arms "regressed" and "improved" are adjusted for.
	Comparisons int `json:"comparisons,omitempty"`
	// Coverage says how many cases are compared where not all are, of the arm with the least share; "" otherwise.
	Coverage string `json:"coverage,omitempty"`
	// Why explains why the comparison as a whole is invalid, "" when it is valid.
	Why      string   `json:"why,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Preferences are what a judge prefers between the answers, nil without a judge.
	Preferences *PreferenceTotals `json:"choice,omitempty"`
}

// Look is which comparison of the same candidate with the same baseline this is. Versions before 0.2 counted per suite.
type Look struct {
	Nth int `json:"nth"`
	// Of is how many looks the gate plans; 0 when it plans none.
	Of int `json:"of,omitempty"`
	// MaxError bounds the error of a verdict over all looks: those planned, or those so far.
	MaxError float64 `json:"maxError"`
}

// Compared names one side of a comparison.
type Compared struct {
	Run       string `json:"run"`            // run id
	Name      string `json:"name,omitempty"` // name given by the user
	StartedAt string `json:"startedAt,omitempty"`
}

// ArmComparison compares an arm of a suite with its baseline arm, case by case.
type ArmComparison struct {
	Suite   string `json:"suite"`
	BaseArm string `json:"baseArm"`
	HeadArm string `json:"headArm"`
	// Finding says what happened on the arm, and Notes qualify it; see Comparison.
	Finding
	Notes []string `json:"notes,omitempty"`
	// BaseSent and HeadSent are what both sides sent for the case SentFor, where that differs: the first changed case, or the first
	// compared one. Compare leaves them empty: the caller reads the run files at the offsets SentAt.
	BaseSent string   `json:"baseSent,omitempty"`
	HeadSent string   `json:"headSent,omitempty"`
	SentFor  string   `json:"sentFor,omitempty"`
	SentAt   [2]int64 `json:"-"`

	Verdict eval.Verdict `json:"verdict,omitempty"`
	Why     string       `json:"why,omitempty"` // why the verdict is invalid
	// NotCompared says why there is no verdict although a margin is stated: a replay shows nothing about answers.
	NotCompared string `json:"notCompared,omitempty"`
	// Look is nil where looks were not counted.
	Look *Look `json:"look,omitempty"`
	// Judges are those whose scores the verdict is about.
	Judges []eval.MeasuredJudge `json:"judges,omitempty"`
	// EarlyVerdict says that the verdict was known early; the metrics cover only the trials used.
	EarlyVerdict *eval.KnownVerdict `json:"stopped,omitempty"`
	// Estimand says whether verdicts and intervals are about cases like these, or about these cases alone.
	Estimand eval.Estimand      `json:"estimand"`
	Cases    Pairing            `json:"cases"`
	Metrics  []MetricComparison `json:"metrics"`
	// Preference is the judge's preference, nil without a judge.
	Preference *ArmPreference `json:"choice,omitempty"`
	// Flips are the cases whose outcome changed, worse ones first.
	Flips  []Flip  `json:"flips,omitempty"`
	Slices []Slice `json:"slices,omitempty"` // by tag, advisory
	// Safety compares the ratings of answers, by category.
	Safety []CategoryComparison `json:"safety,omitempty"`
	// Points are the cases one by one, nil where there are too many.
	Points *Points `json:"-"`
}

// Pairing counts the compared cases, and lists the others.
type Pairing struct {
	Paired int `json:"paired"`
	Units  int `json:"units"` // independent units: clusters where cases have them, else cases
	// Compared is how many of the Of cases of the baseline are compared. Of counts the cases, without quarantined
	// ones, that the run has to cover. An early stop does not change it.
	Compared int `json:"compared"`
	Of       int `json:"of"`
	// MinPaired is the least Compared/Of that a verdict accepts; 0 without a verdict.
	MinPaired float64 `json:"minPaired,omitempty"`
	// Unselected counts cases of the baseline's suite that the run's filters leave out.
	Unselected int `json:"unselected,omitempty"`
	// Accepted are the names of lost cases that the rule accepts. They are in no other list, and not among Of.
	Accepted eval.Accepted `json:"accepted,omitzero"`
	// Selection are the flags that selected the cases of the run, "" when it ran the whole suite.
	Selection string `json:"selection,omitempty"`
	// NotRun are cases that the baseline's suite had and the baseline did not run. They count in Of.
	NotRun []string `json:"notRun,omitempty"`
	// UnknownCoverage says that the baseline does not record which cases of its suite it did not run.
	UnknownCoverage bool `json:"unknownCoverage,omitempty"`
	// PassedBefore are the removed, changed or quarantined cases that had passed.
	PassedBefore []string `json:"passedBefore,omitempty"`
	// OneAnswer counts the pairs whose answers are one recorded answer on both sides.
	OneAnswer int      `json:"oneAnswer,omitempty"`
	Unscored  []string `json:"unjudged,omitempty"` // paired, but one side has neither a pass nor a fail
	Changed   []string `json:"changed,omitempty"`  // same name, different variables or scorers
	// ScorerVersions lists changed cases whose scorers differ only in the version of a kind.
	ScorerVersions []ScorerVersion `json:"scorerVersions,omitempty"`
	// Rescored lists compared cases whose answers in the baseline were scored again by a newer version of a kind.
	Rescored []ScorerVersion `json:"rescored,omitempty"`
	Added    []string        `json:"added,omitempty"`
	Removed  []string        `json:"removed,omitempty"`
	Unused   int             `json:"unused,omitempty"` // not run, or left out, because the verdict was known early
	// Duplicates lists the names of cases that sent the same request: each list counts as one case with several
	// repeats.
	Duplicates [][]string `json:"duplicates,omitempty"`
	// Questions is how many different questions the compared cases ask when white space, letter case and a number at the
	// end of a prompt make no difference, and the scorers are the same; 0 when that is as many as count.
	Questions int `json:"questions,omitempty"`
	// CallsPerCase and TokensPerCase are averages on head's side.
	CallsPerCase  float64 `json:"callsPerCase"`
	TokensPerCase float64 `json:"tokensPerCase"`
	// Quarantined cases are not compared.
	Quarantined []string `json:"quarantined,omitempty"`
}

// MetricComparison compares one metric: how it changed, what tests say of the change, and what follows.
type MetricComparison struct {
	Name string `json:"name"`
	MetricChange
	MetricTests
	MetricVerdict
	unseen string // what counts at its worst, in words
	// perMargin is how the margin was scaled for the tests; 0 where it was not.
	perMargin float64
	// repeatsChance is the simulated chance that Repeats show "not worse".
	repeatsChance float64
	// sample are the differences that were tested; nil for other tests.
	sample *means
	// logs are the products so far against a loss of the margin, by bet, and size is the root mean square of the changes of pairs that differ;
	// for the estimand suite.
	logs []float64
	size float64
}

// MetricChange is how a metric changed. Estimate is head minus base or, for latency and tokens, head divided by base.
type MetricChange struct {
	// Base and Head are the means that Estimate compares; for ratios, of amounts capped at Cap.
	Base     float64 `json:"base"`
	Head     float64 `json:"head"`
	Estimate float64 `json:"estimate"`
	// Interval is nil when there is none: too few cases, or ratios that are all equal.
	Interval *[2]float64 `json:"interval"`
	Level    float64     `json:"level"` // of the interval, such as 0.9
	// Anytime says that the interval stays valid under early stopping, and that the estimate is biased away from
	// zero.
	Anytime bool `json:"anytime,omitempty"`
	N       int  `json:"n"` // number of units
	// Pairs is the number of pairs of repeats, in a comparison of the suite's own cases; 0 in others. Of them
	// PairsWorse failed only in head, and PairsBetter only in base.
	Pairs       int `json:"pairs,omitempty"`
	PairsWorse  int `json:"pairsWorse,omitempty"`
	PairsBetter int `json:"pairsBetter,omitempty"`
	// Gained counts cases that went from failing to passing, Regressed the reverse.
	Gained    int `json:"gained"`
	Regressed int `json:"regressed"`
}

// MetricTests are the tests of a change, and what a gate wants of it.
type MetricTests struct {
	Test  string `json:"test"`
	Gated bool   `json:"gated"`
	// Margin is the largest loss that counts as not worse or, for ratios, the largest ratio. nil: none was stated.
	Margin       *float64 `json:"margin,omitempty"`
	PNonInferior *float64 `json:"pNonInferior,omitempty"`
	PWorse       *float64 `json:"pWorse,omitempty"`
	PBetter      *float64 `json:"pBetter,omitempty"`
	// Asymptotic holds the large-sample tests, for information when exact tests decide.
	Asymptotic *Asymptotic `json:"asymptotic,omitempty"`
	// HeadErrors counts trials of head that could not be scored, and Lost the cases of the baseline that head has not, or
	// not as they were. PWithErrors are PNonInferior and PBetter with each of both at its worst value.
	HeadErrors  int         `json:"headErrors,omitempty"`
	Lost        int         `json:"lost,omitempty"`
	PWithErrors *[2]float64 `json:"pWithErrors,omitempty"`
	// Cap is the largest value that counts for a case, in milliseconds or tokens; nil for other metrics.
	Cap *float64 `json:"cap,omitempty"`
	// Needs is the least number of units that can show that a ratio is within its limit; 0 for other metrics.
	Needs int `json:"needs,omitempty"`
}

// MetricVerdict is what follows from the tests, in a word and in words.
type MetricVerdict struct {
	// Advisory says that fewer cases are compared than required, and that the gate accepts it.
	Advisory bool         `json:"advisory,omitempty"`
	Verdict  eval.Verdict `json:"verdict,omitempty"`
	Cautions []string     `json:"flags,omitempty"`
	// Advice says in words what a decision would take.
	Advice string `json:"advice,omitempty"`
	// MoreCases is the number of additional cases for a power of 80 %, 0 when there are enough.
	MoreCases int `json:"moreCases,omitempty"`
	// Repeats is the number of repeats of each case that would replace more cases, noRepeatsEnough when no number does; 0
	// where cases ran once or belong to clusters.
	Repeats int `json:"repeats,omitempty"`
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
	// Repeats of base and head that passed, and that were scored.
	BasePassed int `json:"basePassed"`
	BaseScored int `json:"baseJudged"`
	HeadPassed int `json:"headPassed"`
	HeadScored int `json:"headJudged"`
	// SingleSample says that each side has one trial, which is no evidence of a change.
	SingleSample bool `json:"singleSample"`
	// P is the adjusted p value (Benjamini-Hochberg), for cases with at least five repeats.
	P *float64 `json:"p,omitempty"`
	// BaseTrial and HeadTrial are ids of an example trial. Compare leaves them empty: the caller reads the run files.
	BaseTrial string `json:"baseTrial,omitempty"`
	HeadTrial string `json:"headTrial,omitempty"`
	// BaseAt and HeadAt are the offsets of these trials in the run files.
	BaseAt int64 `json:"-"`
	HeadAt int64 `json:"-"`
	// BaseAnswer and HeadAnswer are the texts of these trials, for the first flips only.
	BaseAnswer string `json:"baseAnswer,omitempty"`
	HeadAnswer string `json:"headAnswer,omitempty"`
}

// Worse reports whether a smaller share of the repeats passed in head.
func (f *Flip) Worse() bool { return f.HeadPassed*f.BaseScored < f.BasePassed*f.HeadScored }

// Slice is the pass rate of the cases with a tag.
type Slice struct {
	Tag      string      `json:"tag"`
	N        int         `json:"n"`
	Estimate float64     `json:"estimate"`
	Interval *[2]float64 `json:"interval"`
	// P is the adjusted one-sided p value (Benjamini-Hochberg) for a loss.
	P float64 `json:"p"`
	// Significant means at a false discovery rate of 0.1.
	Significant bool `json:"standsOut"`
}

// CategoryComparison compares how often a safety category was rated MEDIUM or higher, or blocked.
type CategoryComparison struct {
	Category    string  `json:"category"`
	BaseRated   int     `json:"baseRated"` // answers with a rating
	HeadRated   int     `json:"headRated"`
	BaseHigh    float64 `json:"baseHigh"` // share rated MEDIUM or higher
	HeadHigh    float64 `json:"headHigh"`
	BaseBlocked float64 `json:"baseBlocked"` // share blocked for it
	HeadBlocked float64 `json:"headBlocked"`
}
