package runner

import (
	"context"
	"iter"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers/labels"
	"github.com/evalrun/evalrun/suite"
)

// Config says how a plan is carried out. Services and Stop are needed, the rest is optional.
type Config struct {
	Services Services
	Counting Counting
	// Stop ends the run early.
	Stop *Stop
	// Schedule yields the trials of the plan in the order to send them. Without it they are sent in the plan's order.
	Schedule iter.Seq[*Planned]
	// Admission may delay trials, or leave them out. Without it every trial is sent at once.
	Admission   Admission
	EarlierRuns EarlierRuns
	Keeper      Keeper
	ScorerData  ScorerData
	Environment Environment
}

// Services are what trials call, and how many trials of one model run at once.
type Services struct {
	Generator Generator
	Counter   TokenCounter // for Counting
	Embedder  Embedder     // for scorers that compare embeddings
	// Concurrency is how many trials of one model run at once; at least 1.
	Concurrency int
	// ByName overrides Concurrency for the models of named services.
	ByName map[string]int
}

// Counting says when the tokens of prompts are counted rather than estimated.
type Counting struct {
	Mode suite.TokenCounting
	// TokensMatter is set when tokens have a limit or a budget.
	TokensMatter bool
}

// CountingUnder returns when tokens are counted under the limits of a suite or a run.
func CountingUnder(l *suite.Limits) Counting {
	return Counting{Mode: l.CountTokens, TokensMatter: l.TokensMatter()}
}

// Admission decides when a trial is sent, and whether. For each trial without an earlier answer a worker calls Hold,
// Skip, Enter and Skip again, in this order, and then makes the calls. After Stop, or when Skip returns an ending, or before Skip
// when Waits is true, the trial gets no further. Several workers call the methods at once.
type Admission interface {
	// Hold may delay a trial. It returns when stop or done is closed.
	Hold(t *Planned, stop, done <-chan struct{})
	// Skip returns the ending of a trial that need not run any more, nil when it must.
	Skip(t *Planned) eval.Ending
	// Waits reports whether a trial has to wait for a batch. Its result is then yielded with the halt Waits.
	Waits(t *Planned) bool
	// Enter waits until there is room for another trial, or until stop is closed, and returns the context for the trial's
	// calls. The worker calls leave once the result is taken or the answer is written down.
	Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func())
}

// EarlierRuns left answers and replies for a run that is resumed or rescored, or that has recorded answers.
type EarlierRuns struct {
	// Trial returns what they have of a trial; nil for nothing. Several goroutines call it at once.
	Trial func(*Planned) EarlierTrial
	// Replies are their replies of judges. The questions are not sent again.
	Replies iter.Seq[eval.Judgement]
	// RepeatUseless sends a question again when its earlier reply could not be used.
	RepeatUseless bool
	// Reader, if not nil, reads earlier answers of applications again.
	Reader AnswerReader
}

// AnswerReader reads an earlier answer of an application again, since the suite may have changed how. The error is an
// *eval.Error.
type AnswerReader interface {
	ReadAgain(to eval.RequestMaker, resp *eval.Response) (*eval.Response, error)
}

// Keeper writes down answers and replies before their trial is settled. A worker that may have to write down an answer
// calls Writing before the call. After the answer it calls KeepAnswer, KeepCall or KeepJudgement, and then written. After an
// error it only calls written. Several workers call the methods at once, and continue when they return. They change the
// results later.
type Keeper interface {
	// Writing returns the context for a call, which counts as in progress until written is called.
	Writing(ctx context.Context) (calling context.Context, written func())
	// KeepAnswer takes a result that has its answer, and waits to be scored.
	KeepAnswer(r *eval.Result)
	// KeepCall takes a result whose last call was answered, and has further calls to come. It takes the call again when it
	// has the results of programs.
	KeepCall(r *eval.Result)
	// KeepJudgement takes a judge's reply about the answer of a trial.
	KeepJudgement(trialID string, j *eval.Judgement)
}

// ScorerData is what scorers know besides the answer.
type ScorerData struct {
	// Prices are for scorers that judge costs. nil: nothing has a price.
	Prices *eval.PriceList
	// PeopleLabels are people's labels of answers, by suite.
	PeopleLabels map[string]*labels.File
}

// Environment is what applications and the programs of a suite see of the run.
type Environment struct {
	// Keys names environment variables that hold keys. Programs do not get them.
	Keys []string
	// NameSalt distinguishes the trial names that applications see from those of other processes.
	NameSalt string
	// Workspaces, if not nil, has the folders in which programs under test work.
	Workspaces Workspaces
}

// Workspaces has the folders in which programs under test work.
type Workspaces interface {
	// Folder returns the folder of a trial, by the trial's name; "" for none.
	Folder(trialName string) string
}

// Generator sends a call to a model. The error is an *eval.Error.
type Generator interface {
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
}

// TokenCounter requests the number of tokens of the contents of a call. The error is an *eval.Error.
type TokenCounter interface {
	CountTokens(ctx context.Context, call *eval.Call) (int, error)
}

// ModelSource returns metadata of models. The error is an *eval.Error.
type ModelSource interface {
	Model(ctx context.Context, apiVersion, id string) (*eval.Model, error)
	Models(ctx context.Context, apiVersion string) ([]eval.Model, error)
}

// ModelSources find the source of metadata for the models of a service. As a ModelSource it is that of the unnamed
// service.
type ModelSources interface {
	ModelSource
	// Of is the source of a named service.
	Of(service string) ModelSource
	// Lost records that a named service refuses metadata, or cannot be reached. It reports whether the plan makes sense
	// without it.
	Lost(service string, err *eval.Error) bool
}

// Embedder turns texts into vectors, in their order and all of one length. The error is an *eval.Error.
type Embedder interface {
	Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error)
}

// EarlierTrial is what earlier runs have of a trial: a SettledTrial, a FinalResult, an AnsweredTrial or a BegunTrial.
type EarlierTrial interface{ earlierTrial() }

// SettledTrial is neither sent nor yielded.
type SettledTrial struct{}

// FinalResult is yielded as it is.
type FinalResult struct{ Result *eval.Result }

// AnsweredTrial only has to be scored. The workspace of its result is an absolute path.
type AnsweredTrial struct{ Result *eval.Result }

// BegunTrial has the calls of a live chat that were answered before the run broke off.
type BegunTrial struct{ Calls []eval.AnsweredCall }

func (SettledTrial) earlierTrial()  {}
func (FinalResult) earlierTrial()   {}
func (AnsweredTrial) earlierTrial() {}
func (BegunTrial) earlierTrial()    {}
