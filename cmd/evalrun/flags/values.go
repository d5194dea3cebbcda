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
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/suite"
)

type positiveFloat float64

func (p *positiveFloat) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*p), 'g', -1, 64)
}
func (p *positiveFloat) Type() string { return "N" }
func (p *positiveFloat) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || v > math.MaxInt32 {
		return fmt.Errorf("it takes a number above zero")
	}
	*p = positiveFloat(v)
	return nil
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

// shardFlag has the form I/N.
type shardFlag eval.Shard

func (f *shardFlag) String() string { return eval.Shard(*f).String() }
func (f *shardFlag) Type() string   { return "I/N" }
func (f *shardFlag) Set(s string) error {
	var shard eval.Shard
	if err := shard.UnmarshalText([]byte(s)); err != nil || shard.Of == 0 {
		return fmt.Errorf("it takes a part of a whole, such as 1/4")
	}
	*f = shardFlag(shard)
	return nil
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
func Positive(fs *pflag.FlagSet, p *int, name, usage string) {
	fs.Var(&boundedInt{p, math.MaxInt32}, name, usage)
}

// boundedInt accepts whole numbers from 1 to most.
type boundedInt struct {
	p    *int
	most int
}

func (b *boundedInt) String() string {
	if b.p == nil || *b.p == 0 {
		return ""
	}
	return strconv.Itoa(*b.p)
}
func (b *boundedInt) Type() string { return "N" }
func (b *boundedInt) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return fmt.Errorf("it takes a whole number above zero")
	}
	if v > b.most {
		return fmt.Errorf("it takes at most %d", b.most)
	}
	*b.p = v
	return nil
}

// jsonFormat accepts table and json for -o, and sets the value of --json.
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

// failFast sets the limit of failures to 1.
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

// shareFlag is a number between 0 and 1, exclusive.
type shareFlag float64

func (s *shareFlag) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}
func (s *shareFlag) Type() string { return "RATE" }
func (s *shareFlag) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		return fmt.Errorf("%s is not a number above 0 and below 1, such as 0.05", text)
	}
	*s = shareFlag(v)
	return nil
}

// errorRate is the share of verdicts that may be wrong.
type errorRate float64

func (r *errorRate) String() string { return (*shareFlag)(r).String() }
func (r *errorRate) Type() string   { return "RATE" }
func (r *errorRate) Set(text string) error {
	if err := (*shareFlag)(r).Set(text); err != nil {
		return err
	}
	switch {
	case *r < stats.MinAlpha:
		return fmt.Errorf("%s is too small an error rate: %g at least", text, stats.MinAlpha)
	case *r > suite.MaxAlpha:
		return fmt.Errorf("what is wrong as often as %s says nothing: %g at most", text, suite.MaxAlpha)
	}
	return nil
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

type raceFlag string

func (r *raceFlag) String() string { return string(*r) }
func (r *raceFlag) Type() string   { return "METRIC" }
func (r *raceFlag) Set(s string) error {
	switch s {
	case "":
		return fmt.Errorf("it takes the name of a metric, or nothing for the pass rate")
	case "true":
		s = eval.MetricPass
	case "false":
		s = ""
	}
	*r = raceFlag(s)
	return nil
}
