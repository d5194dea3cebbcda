package suite

import (
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

const maxFaultLatency = 10 * time.Minute

var faultBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"status", "latency", "cut"},
		Keys: []yaml.Key{
			key("status", yaml.Int(400, 599), "The call is answered with this status of HTTP, and not sent."),
			key("latency", yaml.Duration, "The call waits so long before it is sent: 10m at most."),
			key("cut", yaml.Bool, "true: the connection breaks in the middle of the answer."),
			key("rate", yaml.Number(0, 1), "The share of the calls that it happens to; all when not given."),
		},
	}
})

// faults reads what goes wrong on purpose with the calls that a program makes.
func (l *loader) faults(t *Target, m yaml.Map) {
	if !m.Has("faults") {
		return
	}
	p, ok := t.Of.(*Program)
	if !ok || len(p.Models) == 0 {
		m.Key("faults").Errorf("name what a program calls: `program: {models: [openai]}`", "`faults` are for the `models` of a program")
		return
	}
	for _, n := range m.Get("faults").Items() {
		of := n.Map(faultBlock().Names()...)
		one := eval.ModelFault{Status: of.Get("status").Int(400, 599), Rate: 1}
		if v := of.Get("latency"); !v.IsZero() {
			if one.Latency = v.Duration(); one.Latency > maxFaultLatency {
				v.Errorf("shorten it", "a fault may take %s at most", maxFaultLatency)
			}
		}
		if v := of.Get("cut"); !v.IsZero() {
			one.Cut = v.Bool()
		}
		if v := of.Get("rate"); !v.IsZero() {
			one.Rate = v.Float(0, 1)
		}
		if one.Status == 0 && one.Latency == 0 && !one.Cut {
			n.Errorf("such as {status: 429, rate: 0.1}, {latency: 2s} or {cut: true}", "a fault has `status`, `latency` or `cut`")
		}
		p.Faults = append(p.Faults, one)
	}
}
