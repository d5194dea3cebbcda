package journal

import (
	"strconv"

	"github.com/evalrun/evalrun/eval"
)

// Most lines are of trials, and as Append writes them. They are read in one pass that decodes nothing but what the
// index keeps. All others, and those with rare members, go through the decoders of any JSON.

// scanFast is scan with a check that the line is JSON. It is false, and says nothing, of a line that scan has to read.
func (r *scannedTrial) scanFast(data []byte) bool {
	r.empty()
	c := cursor{data: data}
	named := false
	for key := range c.members {
		switch string(key) {
		case "n":
			r.n = c.count()
		case "id":
			if r.id, named = hexID(c.text()); !named {
				c.giveUp()
			}
		case "suite":
			r.suite = recall(&r.last.suite, c.text())
		case "case":
			r.caseName = recall(&r.last.caseName, c.text())
		case "arm":
			r.arm = recall(&r.last.arm, c.text())
		case "model":
			r.model = recall(&r.last.model, c.text())
		case "outcome":
			r.outcome = recall(&r.last.outcome, c.text())
		case "cluster":
			r.clustered = len(c.text()) > 0
		case "quarantine", "error", "judgements", "metrics", "skipReason":
			c.giveUp()
		default:
			r.partFast(&c, key)
		}
	}
	return !c.strange && c.at == len(data) && named
}

// texts are the texts of a line that the next line mostly repeats.
type texts struct{ suite, caseName, arm, model, outcome, label, answer string }

// empty forgets the last line, but keeps the room of slices and the texts.
func (r *scannedTrial) empty() {
	*r = scannedTrial{metrics: r.metrics[:0], judges: r.judges[:0], startedAt: r.startedAt[:0], last: r.last}
}

// recall is a text, the last one of its kind if it is the same.
func recall(last *string, text []byte) string {
	if *last != string(text) {
		*last = string(text)
	}
	return *last
}

// partFast reads a nested object of the line, or skips it.
func (r *scannedTrial) partFast(c *cursor, key []byte) {
	switch string(key) {
	case "scores":
		for range c.elements {
			r.scoreFast(c)
		}
	case "usage":
		r.usageFast(c)
	case "timing":
		r.timingFast(c)
	case "response", "turns":
		c.cut = false
		c.skip()
		r.answered, r.cut = true, r.cut || c.cut
	default:
		c.skip()
	}
}

func (r *scannedTrial) scoreFast(c *cursor) {
	var m metric
	isNumber := false
	for key := range c.members {
		switch string(key) {
		case "name":
			m.name = r.known(c.text())
		case "value":
			if isNumber = c.peek() != 'n'; isNumber {
				m.value = c.float()
			} else {
				c.word("null")
			}
		case "class":
			r.classFast(c)
		default:
			c.skip()
		}
	}
	if m.name != "" && isNumber {
		r.metrics = append(r.metrics, m)
	}
}

func (r *scannedTrial) classFast(c *cursor) {
	r.class = eval.Pair{}
	for key := range c.members {
		switch string(key) {
		case "label":
			r.class.Expected = recall(&r.last.label, c.text())
		case "answer":
			r.class.Answer = recall(&r.last.answer, c.text())
		default:
			c.skip()
		}
	}
}

// known returns a text. It reuses the string of the previous line's metric at the same place, if equal.
func (r *scannedTrial) known(text []byte) string {
	if last := r.metrics[:cap(r.metrics)]; len(r.metrics) < len(last) && last[len(r.metrics)].name == string(text) {
		return last[len(r.metrics)].name
	}
	return string(text)
}

func (r *scannedTrial) usageFast(c *cursor) {
	for key := range c.members {
		switch string(key) {
		case "promptTokens":
			r.usage.PromptTokens = c.count()
		case "outputTokens":
			r.usage.OutputTokens = c.count()
		case "totalTokens":
			r.usage.TotalTokens = c.count()
		case "cachedTokens":
			r.usage.CachedTokens = c.count()
		case "toolUseTokens":
			r.usage.ToolUseTokens = c.count()
		default:
			c.skip()
		}
	}
}

func (r *scannedTrial) timingFast(c *cursor) {
	var once [3]bool
	for key := range c.members {
		at := -1
		switch string(key) {
		case "startedAt":
			at, r.startedAt = 0, append(r.startedAt[:0], c.text()...)
			if r.started.UnmarshalText(r.startedAt) != nil {
				c.giveUp()
			}
		case "latencyMs":
			at, r.latencyMs = 1, c.float()
		case "attempts":
			at, r.attempts = 2, c.count()
		default:
			c.skip()
		}
		c.first(&once, at)
	}
}

// first wants the member of a number to come once, if it is one: of members that come twice, scan takes the first.
func (c *cursor) first(once *[3]bool, at int) {
	if at < 0 {
		return
	}
	if once[at] {
		c.giveUp()
	}
	once[at] = true
}

// float passes a number, and returns it.
func (c *cursor) float() float64 {
	text := c.number()
	if len(text) > 24 { // longer than Append writes one
		c.giveUp()
		return 0
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		c.giveUp()
	}
	return v
}
