package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
)

// errorBodies are answers with an error status, and what is made of them.
var errorBodies = map[string]struct {
	status int
	body   string
	want   outcome
	wait   time.Duration
	says   string
}{
	"an object": {
		400, `{"error":{"code":400,"message":"bad field","status":"INVALID_ARGUMENT"}}`,
		outcome{eval.KindStatus, 400, false},
		0, "bad field",
	},
	"in an array":             {400, `[{"error":{"message":"bad field"}}]`, outcome{eval.KindStatus, 400, false}, 0, "bad field"},
	"a text":                  {500, `{"error":"oh no"}`, outcome{eval.KindStatus, 500, false}, 0, "oh no"},
	"without a member around": {500, `{"message":"oh no"}`, outcome{eval.KindStatus, 500, false}, 0, "oh no"},
	"a page": {
		502, "<html>\n<h1>Bad   gateway</h1>", outcome{eval.KindStatus, 502, false}, 0, "<html> <h1>Bad gateway</h1>",
	},
	"nothing":  {503, "", outcome{eval.KindStatus, 503, false}, 0, "Service Unavailable"},
	"no UTF-8": {503, "\xff\xfe", outcome{eval.KindStatus, 503, false}, 0, "\uFFFD"},
	"a key that is wrong": {
		400, `{"error":{"message":"no","details":[{"reason":"API_KEY_INVALID"}]}}`,
		outcome{eval.KindAuth, 400, false},
		0, "no",
	},
	"a delay": {
		429, `{"error":{"message":"slow","details":[{"retryDelay":"46.5s"}]}}`,
		outcome{eval.KindQuota, 429, false},
		46500 * time.Millisecond, "slow",
	},
	"a delay in parts": {
		429, `{"error":{"message":"slow","details":[{"retryDelay":{"seconds":"46"}}]}}`,
		outcome{eval.KindQuota, 429, false},
		46 * time.Second, "slow",
	},
	"a quota of a day": {
		429, `{"error":{"message":"used up","details":[{"violations":[{"quotaId":"RequestsPerDay"}]}]}}`,
		outcome{eval.KindQuota, 429, true},
		0, "used up",
	},
	"a quota of zero": {
		429, `{"error":{"message":"none","details":[{"violations":[{"quotaId":"X","quotaValue":0}]}]}}`,
		outcome{eval.KindQuota, 429, true},
		0, "none",
	},
	"an API that is off": {
		403,
		`{"error":{"message":"off",` +
			`"details":[{"reason":"SERVICE_DISABLED","metadata":{"activationUrl":"https://on.invalid"}}]}}`,
		outcome{eval.KindAuth, 403, false},
		0, "enable it at https://on.invalid",
	},
	"members of odd types": {
		400, `{"error":{"code":"x","message":[1],"status":{},"details":"none"}}`,
		outcome{eval.KindStatus, 400, false},
		0, "Bad Request",
	},
	"a long message": {
		400, `{"error":{"message":"` + strings.Repeat("é", 5000) + `"}}`,
		outcome{eval.KindStatus, 400, false},
		0,
		strings.Repeat("é", 1000) + "...",
	},
}

func TestErrorBodiesAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, test := range errorBodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := do(t, cannedConn(canned{status: test.status, body: strings.NewReader(test.body)}), t.Context())
			if diff := cmp.Diff(test.want, outcomeOf(e)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", test.body, diff)
			}
			if e.RetryAfter != test.wait || !strings.Contains(e.Message, test.says) || strings.Contains(e.Message, strings.Repeat("é", 1001)) {
				t.Errorf("%s: got %q and a wait of %s, want %q and %s", test.body, e.Message, e.RetryAfter, test.says, test.wait)
			}
		})
	}
}
