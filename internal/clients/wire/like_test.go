package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// What vendors hand out is known by its form, and what headers usually hold is not taken for it.
func TestKeysAreKnownByTheirForm(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"sk-very-secret-0123", "sk-proj-abcdefghijklmnop", "sk-ant-api03-Ab1Cd2Ef3Gh4", "ghp_0123456789abcdefABCD",
		"github_pat_11AAAAAAA0abcdefghij",
		"AIzaSyA0123456789abcdefghijklmnopqrstuvw", "ya29.a0AfB_byC0123456789", "AKIAIOSFODNN7EXAMPLE", "xoxb-1234567890-abcdef",
		"eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
		"hf_abcdefghijklmnopqrst", "gsk_0123456789abcdefghij", "Bearer something-long", "basic dXNlcjpwYXNz",
	} {
		expect.Same(t, key, IsKey(key), true)
	}
	for _, plain := range []string{
		"", "yes", "application/json", "2023-06-01", "prompt-caching-2024-07-31", "sk-learn", "task-force-sk", "org-AbC123dEf456GhI789jKl012",
		"us-central1", "my-project-123456", "llm-gateway-prod-eu-west-1", "evalrun/1.0", "claude-3-5-sonnet-20241022", "gpt-4o-2024-08-06",
		"550e8400-e29b-41d4-a716-446655440000", "https://app.example/path", "Basic plan", "token economics of models", "Evaluation of Prompts",
		"prompt-caching-2024-07-31,computer-use-2024-10-22", "skill-based-routing-v2-beta",
	} {
		expect.Same(t, plain+" is a key", IsKey(plain), false)
		expect.Same(t, plain+" may be a key", MayBeKey(plain), false)
	}
	for _, drawn := range []string{"Xy7Kq2Lm9Zp4Rt6Wv1Bn", "9f86d081884c7d659a2feaa0c55ad015", "0AfB2byC-9dE4fG_7hI1jK3l"} {
		expect.Same(t, drawn+" is a key", IsKey(drawn), false)
		expect.Same(t, drawn+" may be a key", MayBeKey(drawn), true)
	}
}

func TestRandomKeysLookRandom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	const digits, lower, upper = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for name, alphabet := range map[string]string{
		"base64": digits + lower + upper + "-_", "letters and digits": digits + lower, "hexadecimal": digits + "abcdef",
	} {
		missed := 0
		for range 2000 {
			key := make([]byte, 40)
			for i := range key {
				key[i] = alphabet[random.IntN(len(alphabet))]
			}
			if !MayBeKey(string(key)) {
				missed++
			}
		}
		if missed > 20 {
			t.Errorf("%s: %d of 2000 keys look like names, want 1 %% at most", name, missed)
		}
	}
}

// What programs say stays readable, and keys that they let slip do not show.
func TestKeysInProseAreHidden(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"not logged in": "not logged in",
		"ERROR: (gcloud.auth.print-access-token) There was a problem refreshing your auth tokens: ('invalid_grant: Bad Request')": "",
		"reading /home/me/.config/gcloud/application_default_credentials.json: permission denied":                                 "",
		"token: invalid_grant": "",
		"could not reach https://login.example/o/oauth2/v2/token after 3 attempts in 12.5s (request 17)":                                      "",
		"The user-provided path /usr/lib/python3.11/site-packages/google/auth/_default.py does not exist, see line 4711 of service-account-1": "",
		"token ya29.a0AfB_byC0123456789.":                    "token [key].",
		"access_token=Ab1Cd2Ef, expires=3600":                "access_token=[key], expires=3600",
		`{"access_token": "Ab1Cd2Ef", "expires_in": 3600}`:   `{"access_token": "[key]", "expires_in": 3600}`,
		"Authorization: Bearer Ab1Cd2Ef3":                    "Authorization: Bearer [key]",
		"sent 'Bearer Ab1Cd2Ef3' and got 401":                "sent 'Bearer [key]' and got 401",
		"got Xy7Kq2Lm9Zp4Rt6Wv1Bn back":                      "got [key] back",
		"got x7Kq2/m9Zp4Rt6Wv1B+n== back":                    "got [key] back",
		"wrote T=Xy7Kq2Lm9Zp4Rt6Wv1Bn to /tmp/a":             "wrote T=[key] to /tmp/a",
		"see https://host.example/cb/Xy7Kq2Lm9Zp4Rt6Wv1Bn/x": "see https://host.example/cb/[key]/x",
	} {
		if want == "" {
			want = in
		}
		expect.Same(t, in, OutOfProse(in), want)
	}
}
