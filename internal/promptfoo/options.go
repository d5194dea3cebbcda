package promptfoo

import (
	"fmt"
	"regexp"
	"strconv"
)

func (c *converter) options(s src) {
	c.limit(s.get("maxConcurrency"), "concurrency", func(n float64) yamlValue { return integer(max(1, int(n))) })
	c.limit(s.get("timeoutMs"), "timeout", func(n float64) yamlValue { return literal(duration(n)) })
	if e := s.get("maxEvalTimeMs"); !e.IsZero() {
		if n, ok := number(e); ok && n > 0 {
			c.limits.set("budget", one("time", literal(duration(n))))
		}
		e.ok("as `limits.budget.time`")
	}
	if e := s.get("delay"); !e.IsZero() {
		c.delay(e)
	}
	if e := s.get("repeat"); !e.IsZero() {
		if n, ok := number(e); ok && n >= 1 {
			c.defaults.repeats = int(n)
		}
		e.ok("as `defaults.repeats`")
	}
	for key, why := range asFlags {
		s.get(key).differs("%s", why)
	}
	s.ok("")
	s.rest(otherOptions...)
}

// asFlags has options whose counterpart is a flag.
var asFlags = map[string]string{
	"cache":              "a flag: `evalrun run --cache`",
	"showProgressBar":    "progress is shown on a terminal; `-q` hides it",
	"verbose":            "a flag: `-v`",
	"filterFirstN":       "a flag: `--sample N`",
	"filterPattern":      "a flag: `--case GLOB`",
	"filterMetadata":     "a flag: `--tag TAG`",
	"filterFailing":      "a flag: `--failed-in RUN`",
	"filterSample":       "a flag: `--sample N`",
	"output":             "a flag: `-o FORMAT=PATH`",
	"table":              "the table is the default report",
	"share":              "results stay on this machine",
	"noShare":            "results stay on this machine",
	"write":              "every run is kept in its directory",
	"progressBar":        "progress is shown on a terminal; `-q` hides it",
	"tableCellMaxLength": "the table fits the terminal",
}

// otherOptions are known to promptfoo and have no counterpart.
var otherOptions = []string{
	"generateSuggestions", "suggestionsCount", "interactiveProviders", "isRedteam", "silent", "filterRange", "envFile",
	"envPath", "vars", "promptPrefix", "promptSuffix", "grader", "modelOutputs", "watch", "filterProviders",
	"filterTargets", "filterPrompts", "filterErrorsOnly", "prompts", "providers", "config", "assertions", "tests",
	"var", "description", "remote", "resume", "retryErrors", "extension",
}

// limit sets a limit once: the first block that has it counts.
func (c *converter) limit(s src, key string, value func(float64) yamlValue) {
	n, ok := number(s)
	if s.IsZero() || !ok {
		return
	}
	if c.limits.get(key) == nil {
		c.limits.set(key, value(n))
	}
	s.ok(fmt.Sprintf("as `limits.%s`", key))
}

// delay reads the pause after each call, in milliseconds.
func (c *converter) delay(s src) {
	n, ok := number(s)
	if !ok || n <= 0 {
		s.ok("no pause")
		return
	}
	perMinute := max(1, int(60_000/n))
	if c.limits.get("requestsPerMinute") == nil {
		c.limits.set("requestsPerMinute", integer(perMinute), fmt.Sprintf("promptfoo paused for %s ms after each call", s.text()))
	}
	s.differs("as %d requests per minute", perMinute)
}

func number(s src) (float64, bool) {
	if s.IsZero() || !s.IsScalar() {
		return 0, false
	}
	n, err := strconv.ParseFloat(s.Written(), 64)
	return n, err == nil
}

func duration(ms float64) string {
	if ms >= 1000 && ms == float64(int64(ms/1000))*1000 {
		return fmt.Sprintf("%ds", int64(ms/1000))
	}
	return strconv.FormatFloat(ms, 'f', -1, 64) + "ms"
}

// formula matches expressions that mean the same in promptfoo and in evalrun.
var formula = regexp.MustCompile(`^[\w\s.+*/()-]+$`)

func (c *converter) derived(s src) {
	s.listed("as `metrics`")
	for _, item := range s.items() {
		name, value := item.get("name"), item.get("value")
		as := plainName(name.text(), "metric", func(n string) bool { return c.metrics.get(n) != nil })
		if !formula.MatchString(value.text()) {
			why := "an expression over named scorers may have + - * / and parentheses"
			item.todo("%s", why)
			c.metrics.note(fmt.Sprintf("TODO: the metric %s: %s", name.text(), why))
			continue
		}
		c.metrics.set(as, textValue(value.text()), "per trial, and then averaged; promptfoo computes it over sums")
		name.ok("as the metric " + as)
		value.differs("per trial, and then averaged; promptfoo computes it over sums")
	}
}
