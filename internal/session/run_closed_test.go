package session

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The reason why a service gets no more calls names the service, once: the circuit breaker names it itself.
func TestReasonsNameTheServiceOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		service, message string
		origin           eval.Origin
		want             string
	}{
		{"a", "no answer from host", 0, "the service `a`: no answer from host"},
		{"a", "the service `a` gave no answer for 20 attempts", eval.FromBreaker, "the service `a` gave no answer for 20 attempts"},
		{"a", "the service `a` of a vendor says no", 0, "the service `a`: the service `a` of a vendor says no"},
		{"", "the service gave no answer for 20 attempts", eval.FromBreaker, "the service gave no answer for 20 attempts"},
	} {
		got := (&Session{}).reasonOf(test.service, &eval.Error{Kind: eval.KindTransport, Origin: test.origin, Message: test.message})
		expect.Same(t, test.message, got, test.want)
	}
}
