package flags

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// value is a flag whose text a function reads. A zero value shows no default.
type value[T comparable] struct {
	to   *T
	word string // the placeholder in help
	read func(text string) (T, error)
}

func (v value[T]) String() string {
	var zero T
	if v.to == nil || *v.to == zero {
		return ""
	}
	return fmt.Sprint(*v.to)
}
func (v value[T]) Type() string { return v.word }
func (v value[T]) Set(text string) error {
	read, err := v.read(text)
	if err == nil {
		*v.to = read
	}
	return err
}

func positiveFloat(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || v > math.MaxInt32 {
		return 0, fmt.Errorf("it takes a number above zero")
	}
	return v, nil
}

// Duration is a flag value for a time above zero.
type Duration time.Duration

func (p *Duration) String() string {
	if *p == 0 {
		return ""
	}
	return time.Duration(*p).String()
}

// Type returns the placeholder of the value in help.
func (p *Duration) Type() string { return "DURATION" }

// Set accepts what time.ParseDuration does, above zero.
func (p *Duration) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("it takes a time above zero, such as 500ms or 2s")
	}
	*p = Duration(d)
	return nil
}

// Conflict is a flag that does not go with one before it.
type Conflict string

func (c Conflict) Error() string { return string(c) }

const errTwoBaselines Conflict = "--baseline names a baseline, and --no-baseline compares with none: choose one"

// baselineFlag names a baseline, unless a noBaselineFlag of the same options wants none.
type baselineFlag struct{ to *eval.BaselineOption }

func (f *baselineFlag) String() string { return "" }
func (f *baselineFlag) Type() string   { return "RUN" }
func (f *baselineFlag) Set(s string) error {
	if s == "" {
		return nil
	}
	if _, none := (*f.to).(eval.NoBaseline); none {
		return errTwoBaselines
	}
	*f.to = eval.NamedBaseline(s)
	return nil
}

// noBaselineFlag is a switch.
type noBaselineFlag struct{ to *eval.BaselineOption }

func (f *noBaselineFlag) String() string   { return "" }
func (f *noBaselineFlag) Type() string     { return "bool" }
func (f *noBaselineFlag) IsBoolFlag() bool { return true }
func (f *noBaselineFlag) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil || !on {
		return err
	}
	if _, named := (*f.to).(eval.NamedBaseline); named {
		return errTwoBaselines
	}
	*f.to = eval.NoBaseline{}
	return nil
}

func shardOf(text string) (shard eval.Shard, err error) {
	if err := shard.UnmarshalText([]byte(text)); err != nil || shard.Of == 0 {
		return shard, fmt.Errorf("it takes a part of a whole, such as 1/4")
	}
	return shard, nil
}

// jsonReport is --json where reports have formats: it sets that flag to json, once.
type jsonReport struct {
	formats pflag.Value
	set     bool
}

func (j *jsonReport) String() string   { return "" }
func (j *jsonReport) Type() string     { return "bool" }
func (j *jsonReport) IsBoolFlag() bool { return true }
func (j *jsonReport) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if !on || j.set {
		return err
	}
	j.set = true
	return j.formats.Set("json")
}

// Vars is a flag value of the form NAME=VALUE, for a flag that can be repeated.
type Vars map[string]string

func (v Vars) String() string { return "" }

// Type returns the placeholder of the value in help.
func (v Vars) Type() string { return "NAME=VALUE" }

// Set adds a variable. A later value of the same variable replaces an earlier one.
func (v Vars) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("write it as NAME=VALUE")
	}
	v[name] = value
	return nil
}

// servicesFlag has the form NAME.baseUrl=URL.
type servicesFlag struct{ urls *map[string]string }

func (s *servicesFlag) String() string { return "" }
func (s *servicesFlag) Type() string   { return "NAME.baseUrl=URL" }
func (s *servicesFlag) Set(text string) error {
	key, url, ok := strings.Cut(text, "=")
	dot := strings.LastIndexByte(key, '.') // names may contain dots
	if !ok || dot <= 0 || url == "" {
		return fmt.Errorf("write it as NAME.baseUrl=URL")
	}
	if name := key[dot+1:]; name != "baseUrl" {
		return fmt.Errorf("only baseUrl can be given by a flag, not %s; %s", name, diag.DidYouMean(name, []string{"baseUrl"}))
	}
	if *s.urls == nil {
		*s.urls = map[string]string{}
	}
	(*s.urls)[key[:dot]] = url
	return nil
}

// allow checks what --allow may grant to an untrusted suite.
type allow []string

func (a *allow) String() string { return strings.Join(*a, ",") }
func (a *allow) Type() string   { return "WHAT" }
func (a *allow) Set(s string) error {
	if err := suite.CheckAllow(s); err != nil {
		return err
	}
	*a = append(*a, s)
	return nil
}

// Positive adds a flag for a whole number above zero.
func (fs Set) Positive(p *int, name, usage string) {
	fs.Var(boundedInt(p, math.MaxInt32), name, usage)
}

// boundedInt accepts whole numbers from 1 to most.
func boundedInt(p *int, most int) pflag.Value {
	return value[int]{p, "N", func(text string) (int, error) {
		v, err := strconv.Atoi(text)
		switch {
		case err != nil || v < 1:
			return 0, fmt.Errorf("it takes a whole number above zero")
		case v > most:
			return 0, fmt.Errorf("it takes at most %d", most)
		}
		return v, nil
	}}
}

type jsonFormat bool

func (j *jsonFormat) String() string { return "" }
func (j *jsonFormat) Type() string   { return "FORMAT" }
func (j *jsonFormat) Set(s string) error {
	if s != "json" && s != "table" {
		return fmt.Errorf("it takes table or json")
	}
	*j = s == "json"
	return nil
}

type failFast int

func (f *failFast) String() string   { return strconv.FormatBool(*f == 1) }
func (f *failFast) Type() string     { return "bool" }
func (f *failFast) IsBoolFlag() bool { return true }
func (f *failFast) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("it takes true or false")
	}
	*f = 0
	if on {
		*f = 1
	}
	return nil
}

func share(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		return 0, fmt.Errorf("%s is not a number above 0 and below 1, such as 0.05", text)
	}
	return v, nil
}

// errorRate reads the share of verdicts that may be wrong.
func errorRate(text string) (float64, error) {
	v, err := share(text)
	switch {
	case err != nil:
		return 0, err
	case v < eval.MinAlpha:
		return 0, fmt.Errorf("%s is too small an error rate: %g at least", text, eval.MinAlpha)
	case v > suite.MaxAlpha:
		return 0, fmt.Errorf("an error rate of %s is not informative: use %g or less", text, suite.MaxAlpha)
	}
	return v, nil
}

// optionalShare is a number from 0 to 1. Its nil distinguishes a flag that was not given from 0.
type optionalShare struct{ value **float64 }

func (s *optionalShare) String() string {
	if s.value == nil || *s.value == nil {
		return ""
	}
	return strconv.FormatFloat(**s.value, 'g', -1, 64)
}
func (s *optionalShare) Type() string { return "RATE" }
func (s *optionalShare) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if inRange := v >= 0 && v <= 1; err != nil || !inRange {
		return fmt.Errorf("%s is not a number from 0 to 1", text)
	}
	*s.value = &v
	return nil
}

// Age is a flag value for a time above zero, also in days or weeks.
type Age time.Duration

func (a *Age) String() string { return (*Duration)(a).String() }

// Type returns the placeholder of the value in help.
func (a *Age) Type() string { return "AGE" }

// Set accepts numbers of days and weeks, such as 7d and 2w, and what Duration accepts.
func (a *Age) Set(s string) error {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(s, unit)
		n, err := strconv.Atoi(number)
		if ok && err == nil && n > 0 && n <= maxAge {
			*a = Age(time.Duration(n) * length)
			return nil
		}
	}
	if (*Duration)(a).Set(s) != nil {
		return fmt.Errorf("it takes a time above zero, such as 90d, 2w or 12h")
	}
	return nil
}

// maxAge bounds an age in its unit, so that its time cannot overflow.
const maxAge = 10_000

// raceMetric reads the metric of a race; the flag alone is "true".
func raceMetric(text string) (string, error) {
	switch text {
	case "":
		return "", fmt.Errorf("it takes the name of a metric, or nothing for the pass rate")
	case "true":
		return eval.MetricPass, nil
	case "false":
		return "", nil
	}
	return text, nil
}
