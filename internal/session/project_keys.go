package session

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

type keyReader struct {
	yaml.Key
	read func(f *projectFile, n yaml.Node)
}

const suitesKey = "suites"

// settings lists the keys of a project file. Most are the flags of `evalrun run` in camelCase.
func settings() []keyReader {
	return slices.Concat(ownSettings(), serviceSettings(), limitSettings(), gateSettings(), flagSettings())
}

// Shape returns the schema of project files.
func Shape(templates bool) yaml.Schema {
	b := yaml.Block{Need: []string{suitesKey}}
	for _, s := range settings() {
		b.Keys = append(b.Keys, s.Key)
	}
	return b.Shape()(templates)
}

// chosenPerRun lists flags that a project file cannot set: nothing on the command line would show them.
func chosenPerRun() []string {
	return []string{
		"case", "tag", "arm", "failedIn", "changedSince", "sample", "shard", "maxTrials", "var", "emulator", "answers", "untrusted",
		"allow", "trust", "interleave", "noBaseline", "dryRun", "config", "noConfig", "service", "allowEnv", "allowFile",
		"open", "watch", "color", "directory", "ledger", "ledgerCa", "ledgerWait", "extend", "runPrograms", "programsFrom", "gateOf",
		"acceptSuiteChanges", "json", "notify", "wait",
	}
}

func ownSettings() []keyReader {
	return []keyReader{
		key(suitesKey, yaml.OneOrMore(yaml.Text),
			"Globs of the suites of the project, relative to this file. One that begins with `!` leaves files out.",
			func(f *projectFile, n yaml.Node) { f.globs(n) }),
		key("services", servicesShape, "Services by name, for suites that name one which they do not have themselves.",
			func(f *projectFile, n yaml.Node) { f.Services = n }),
		key("labels", yaml.Either(yaml.OneOrMore(yaml.Text), yaml.MapShape(yaml.Text)),
			"Labels of every run: words, KEY=VALUE, or a mapping.",
			func(f *projectFile, n yaml.Node) { f.labels(n) }),
	}
}

func servicesShape(templates bool) yaml.Schema {
	keys := suite.Shape(templates)["properties"].(yaml.Schema)
	return keys["services"].(yaml.Schema)
}

func key(name string, is yaml.Shape, doc string, read func(f *projectFile, n yaml.Node)) keyReader {
	return keyReader{yaml.Key{Name: name, Is: is, Doc: doc}, read}
}

func word[T ~string](name string, words []string, doc string, at func(*eval.Options) *T) keyReader {
	return key(name, yaml.Word(words...), doc, func(f *projectFile, n yaml.Node) {
		*at(&f.Defaults) = T(n.Word(words...))
	})
}

func serviceSettings() []keyReader {
	return []keyReader{
		checked("baseUrl", yaml.Matching(`^https?://`), "Where the service is, without the version.",
			func(o *eval.Options, v string) { o.BaseURL = v }, wire.CheckBaseURL),
		word("apiVersion", wire.APIVersions, "The version of the interface.",
			func(o *eval.Options) *string { return &o.APIVersion }),
		checked("headerPrefix", yaml.Matching(suite.HeaderPrefix.String()), "The beginning of the service's header names.",
			func(o *eval.Options, v string) { o.HeaderPrefix = v }, func(v string) string {
				return unless(suite.HeaderPrefix.MatchString(v), v, "is not the beginning of a header name")
			}),
		word("auth", eval.AuthKinds(), "How to authenticate.", func(o *eval.Options) *eval.AuthKind { return &o.Auth }),
		checked("project", yaml.Matching(suite.Project.String()), "The cloud project that pays, with oauth.",
			func(o *eval.Options, v string) { o.Project = v }, func(v string) string {
				return unless(suite.Project.MatchString(v), v, "is not the id of a cloud project")
			}),
		checked("authScopeBase", yaml.Matching(`^https?://`), "The beginning of the scopes' identifiers.",
			func(o *eval.Options, v string) { o.ScopeBase = v }, wire.CheckScopeBase),
	}
}

func limitSettings() []keyReader {
	return []keyReader{
		whole("concurrency", suite.MaxConcurrency, "Calls in progress at once.",
			func(o *eval.Options) *int { return &o.Concurrency }),
		whole("rpm", math.MaxInt32, "Requests per minute.", func(o *eval.Options) *int { return &o.RPM }),
		whole("tpm", math.MaxInt32, "Tokens per minute.", func(o *eval.Options) *int { return &o.TPM }),
		whole("budgetTokens", math.MaxInt32, "Tokens to spend at most.",
			func(o *eval.Options) *int { return &o.BudgetTokens }),
		whole("budgetCalls", math.MaxInt32, "Calls to make at most, retries included.",
			func(o *eval.Options) *int { return &o.BudgetCalls }),
		key("budgetMoney", yaml.Number(1e-9, math.MaxInt32), "Money to spend at most, by the price list.",
			func(f *projectFile, n yaml.Node) { f.Defaults.BudgetMoney = n.Float(1e-9, math.MaxInt32) }),
		period("budgetTime", "Stop sending requests after this long.",
			func(o *eval.Options) *time.Duration { return &o.BudgetTime }),
		key("prices", yaml.Text, "A price list, a YAML file below the folder of this file.", func(f *projectFile, n yaml.Node) {
			if name := n.Str(); f.path(n, name) != "" {
				f.Defaults.Prices = filepath.Join(f.dir(), filepath.FromSlash(name))
			}
		}),
		whole("attempts", suite.MaxAttempts, "Attempts per call at most.", func(o *eval.Options) *int { return &o.Attempts }),
		period("timeout", "Time of one attempt.", func(o *eval.Options) *time.Duration { return &o.Timeout }),
		whole("repeats", suite.MaxRepeats, "Run each case this often.", func(o *eval.Options) *int { return &o.Repeats }),
	}
}

func gateSettings() []keyReader {
	outcomes := []eval.OnInconclusive{eval.OnFail, eval.OnWarn, eval.OnPass}
	return []keyReader{
		key("minPassRate", yaml.Either(yaml.Number(0, 1), yaml.PassRateBlock(suite.MaxAlpha).Shape()),
			"The least pass rate of each arm, or a rule as `passRate` of a suite's gate.",
			func(f *projectFile, n yaml.Node) {
				if n.IsMapping() {
					f.Defaults.MinPassRate, f.Defaults.PassRateBound = yaml.PassRate(n, errorRate)
				} else {
					f.Defaults.MinPassRate = new(n.Float(0, 1))
				}
			}),
		share("maxErrors", "The largest share of errors.", func(o *eval.Options) **float64 { return &o.MaxErrors }),
		share("maxBlocked", "The largest share of blocked answers.",
			func(o *eval.Options) **float64 { return &o.MaxBlocked }),
		checked("baseline", yaml.Text, "The name of the baseline of suites that name none.",
			func(o *eval.Options, v string) { o.Baseline = eval.NamedBaseline(v) }, func(v string) string {
				return unless(!strings.ContainsAny(v, `/\`) || strings.Contains(v, ":"), v,
					"is a path; only the name of a baseline goes here")
			}),
		key("margin", yaml.Number(0, 1), "How much lower a rate may be and still count as not worse.",
			func(f *projectFile, n yaml.Node) { f.Defaults.Rule.Margin = between(n, 1) }),
		key("alpha", yaml.Number(0, suite.MaxAlpha), "One-sided error rate of a verdict.",
			func(f *projectFile, n yaml.Node) { f.Defaults.Rule.Alpha = errorRate(n) }),
		key("onInconclusive", yaml.WordShape(outcomes...), "What an inconclusive verdict does.",
			func(f *projectFile, n yaml.Node) { f.Defaults.Rule.OnInconclusive = yaml.WordOf(n, outcomes...) }),
		share("minPaired", "The least share of the baseline's cases that must be compared.",
			func(o *eval.Options) **float64 { return &o.Rule.MinPaired }),
		texts("allowRemoved", "Globs of suites or arms that only the baseline may have.",
			func(o *eval.Options) *[]string { return &o.Rule.AllowRemoved }),
		key("metric", yaml.OneOrMore(yaml.Text), "NAME or NAME=MARGIN: metrics that must not get worse.",
			func(f *projectFile, n yaml.Node) {
				f.Defaults.Rule.Metrics = n.Strings()
				for _, item := range n.Items() {
					if err := gate.CheckMetric(item.Written()); item.IsScalar() && err != nil {
						item.Errorf("such as pass=0.05", "%s", err)
					}
				}
			}),
		key("stopEarly", yaml.Bool, "Whether to stop when the verdict is known.",
			func(f *projectFile, n yaml.Node) { f.Defaults.Rule.StopEarly = n.Bool() }),
	}
}

// flagSettings are the defaults of flags that suites have no key for.
func flagSettings() []keyReader {
	return []keyReader{
		key("report", yaml.OneOrMore(yaml.Text), "FORMAT or FORMAT=PATH: reports of every run, where -o gives none.",
			func(f *projectFile, n yaml.Node) { f.reports(n) }),
		folder("out", "out", "The run directory; `{id}` in it becomes the id of the run."),
		folder("record", "record", "The folder in which answers are recorded."),
		folder("replay", "replay", "The folder of recorded answers to use instead of the service."),
		folder("replayOrRecord", "replay-or-record",
			"The folder of recorded answers; missing ones are requested and recorded."),
		toggle("cache", "cache", "Whether to keep answers in .evalrun/cache and use those of earlier runs."),
		toggle("batch", "batch", "Whether calls are submitted in batches, at a lower price."),
		toggle("noContent", "no-content", "Whether to keep prompts and answers out of all files."),
		toggle("allowEmpty", "allow-empty", "Whether an empty selection is accepted."),
		toggle("quiet", "quiet", "Whether to print errors and failed verdicts only."),
		toggle("verbose", "verbose", "Whether to report each trial and each retry."),
		key("race", yaml.Either(yaml.Bool, yaml.Text),
			"Whether arms that cannot be the best are sent no more cases, or the metric that decides.",
			func(f *projectFile, n yaml.Node) { f.flag("race", n.Str()) }),
		toggle("failFast", "fail-fast", "Whether to stop after the first failed trial."),
		number("maxFailures", "max-failures", 1, "Stop after this many failed trials."),
		number("seed", "seed", 0, "The seed of --sample."),
		key("name", yaml.Text, "The name of runs.", func(f *projectFile, n yaml.Node) {
			name := n.Str()
			if err := CheckName(name); err != nil {
				n.Errorf("", "%s", err)
			}
			f.flag("name", name)
		}),
	}
}

// unless returns the problem of a value, "" when it is good.
func unless(good bool, value, problem string) string {
	if good {
		return ""
	}
	return "`" + value + "` " + problem
}

// checked is a text that a function checks; problem returns "" for a good one.
func checked(name string, is yaml.Shape, doc string, set func(*eval.Options, string),
	problem func(string) string,
) keyReader {
	return key(name, is, doc, func(f *projectFile, n yaml.Node) {
		v := n.Str()
		switch what := problem(v); {
		case what == "" || v == "":
		case strings.ContainsAny(v, "@?#"): // may contain a password or a key
			f.diags.Add(diag.Diagnostic{
				Severity: diag.Error, Pos: n.Pos(), Message: what, Hint: "a key belongs in EVALRUN_API_KEY", Private: true,
			})
		default:
			n.Errorf("", "%s", what)
		}
		set(&f.Defaults, v)
	})
}

func whole(name string, most int, doc string, at func(*eval.Options) *int) keyReader {
	return key(name, yaml.Int(1, most), doc, func(f *projectFile, n yaml.Node) {
		*at(&f.Defaults) = n.Int(1, most)
	})
}

func period(name, doc string, at func(*eval.Options) *time.Duration) keyReader {
	return key(name, yaml.Duration, doc, func(f *projectFile, n yaml.Node) {
		*at(&f.Defaults) = n.Duration()
	})
}

func share(name, doc string, at func(*eval.Options) **float64) keyReader {
	return key(name, yaml.Number(0, 1), doc, func(f *projectFile, n yaml.Node) {
		*at(&f.Defaults) = new(n.Float(0, 1))
	})
}

func texts(name, doc string, at func(*eval.Options) *[]string) keyReader {
	return key(name, yaml.OneOrMore(yaml.Text), doc, func(f *projectFile, n yaml.Node) {
		*at(&f.Defaults) = n.Strings()
	})
}

// between reads a number between 0 and most; most itself is allowed, unless it is 1.
func between(n yaml.Node, most float64) float64 {
	if v, err := strconv.ParseFloat(n.Written(), 64); n.IsNumber() && err == nil && !(v > 0 && v < 1 && v <= most) {
		n.Errorf("such as 0.05", "%s is not between 0 and %g", n.Written(), most)
		return 0
	}
	return n.Float(0, most)
}

func errorRate(n yaml.Node) float64 {
	alpha := between(n, suite.MaxAlpha)
	if alpha > 0 && alpha < eval.MinAlpha {
		n.Errorf("such as 0.05", "an error rate below %g can never be shown", eval.MinAlpha)
	}
	return alpha
}

func (f *projectFile) flag(name string, values ...string) {
	f.Flags = append(f.Flags, flagDefault{name, values})
}

func folder(name, flag, doc string) keyReader {
	return key(name, yaml.Text, doc, func(f *projectFile, n yaml.Node) { f.flag(flag, f.path(n, n.Str())) })
}

func toggle(name, flag, doc string) keyReader {
	return key(name, yaml.Bool, doc, func(f *projectFile, n yaml.Node) {
		f.flag(flag, strconv.FormatBool(n.Bool()))
	})
}

func number(name, flag string, least int, doc string) keyReader {
	return key(name, yaml.Int(least, math.MaxInt32), doc, func(f *projectFile, n yaml.Node) {
		f.flag(flag, strconv.Itoa(n.Int(least, math.MaxInt32)))
	})
}

func (f *projectFile) reports(n yaml.Node) {
	var out []string
	for _, item := range n.Items() {
		value := item.Str()
		format, path, named := strings.Cut(value, "=")
		if value != "" && f.formats != nil && !slices.Contains(f.formats, format) {
			item.Errorf(diag.DidYouMean(format, f.formats), "there is no report format `%s`", format)
		}
		if named {
			value = format + "=" + f.path(item, path)
		}
		out = append(out, value)
	}
	if n.IsSequence() && len(out) == 0 {
		n.Errorf("leave the key out for a table", "no report is named")
	}
	f.flag("report", out...)
}

// labels reads words, KEY=VALUE pairs, or a mapping.
func (f *projectFile) labels(n yaml.Node) {
	f.Labels = map[string]string{}
	if n.IsMapping() {
		for e := range n.Map().Entries() {
			f.label(e.Key, e.Name(), e.Value.Str())
		}
		return
	}
	for _, item := range n.Items() {
		text := item.Str()
		key, value, err := ParseLabel(text)
		switch {
		case text == "": // reported already, or an empty text
			f.label(item, "", "")
		case err != nil:
			item.Errorf("such as nightly, or team=search", "%s", err)
		default:
			f.Labels[key] = value
		}
	}
}

func (f *projectFile) label(n yaml.Node, key, value string) {
	if err := checkLabel(key, value); err != nil {
		n.Errorf("such as nightly, or team=search", "%s", err)
		return
	}
	f.Labels[key] = value
}
