package suite

import (
	"net/url"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestWhatIsAllowedIsNamed(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"program": "", "http=example.com": "", "http=a.example,b.example:8080": "", "services=h,http=127.0.0.1:1,program": "",
		"services=a.example:A_API_KEY,[::1]:8080:B_API_KEY": "",
		"services=a.example:EVALRUN_X": "EVALRUN_X is never sent for an untrusted suite: " +
			"put the key of a.example into another variable",
		"http=[::1]:8080": "", " program , http = h ": "", //nolint:gocritic // the spaces are the test
		"":               "there is nothing called \"\" to allow; known here: http, program, services",
		"programs":       "there is nothing called \"programs\" to allow; did you mean `program`?",
		"everything":     "there is nothing called \"everything\" to allow; known here: http, program, services",
		"program,h":      "there is nothing called \"h\" to allow; known here: http, program, services",
		"program=sh":     "`program` takes no value: it allows every program of the suite",
		"http":           "name the host, such as http=127.0.0.1:8080 or http=example.com",
		"http=":          "name the host, such as http=127.0.0.1:8080 or http=example.com",
		"http=h,":        "name the host, such as http=127.0.0.1:8080 or http=example.com",
		"http=http://h/": "\"http://h/\" is not a host: write it without scheme and path, such as http=example.com",
		"http=*":         "\"*\" is not a host: write it without scheme and path, such as http=example.com",
	} {
		got := ""
		if err := CheckAllow(value); err != nil {
			got = err.Error()
		}
		expect.Same(t, value, got, want)
	}
}

func TestHostsAreAllowedByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		allow, at string
		want      bool
	}{
		{"http=example.com", "https://example.com/x", true},
		{"http=EXAMPLE.com", "https://Example.COM:8443", true},
		{"http=example.com", "https://example.com.evil.example", false},
		{"http=example.com", "https://sub.example.com", false},
		{"http=example.com:443", "https://example.com/", true},
		{"http=example.com:443", "http://example.com/", false},
		{"http=a,b:1", "http://b:1", true},
		{"http=a,b:1", "http://b:2", false},
		{"http=[::1]:1", "http://[::1]:1", true},
		{"http=[::1]", "http://[::1]:1", true},
		{"services=a", "http://a", false},
		{"program", "http://a", false},
		{"htp=a", "http://a", false},
	} {
		s := Suite{origin: origin{opts: Options{Untrusted: true, Allow: []string{"program", test.allow}}}}
		at, err := url.Parse(test.at)
		expect.OK(t, err)
		expect.Same(t, test.allow+" "+test.at, s.allows(permitHTTP, at), test.want)
	}
}

func TestProgramsAreAllowedByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		opts Options
		want bool
	}{
		{Options{}, true},
		{Options{Untrusted: true}, false},
		{Options{Untrusted: true, Allow: []string{"program"}}, true},
		{Options{Untrusted: true, Allow: []string{"http=program"}}, false},
	} {
		s := Suite{origin: origin{opts: test.opts}}
		why, _ := s.RefusesPrograms()
		expect.Same(t, "programs start", why == "", test.want)
	}
}
