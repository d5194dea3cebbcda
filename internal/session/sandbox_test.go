//go:build unix

package session

import (
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestRefusalsOfBubblewrapSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"sleep 600": "bubblewrap did not answer within 30s: ",
		"exit 1":    "bubblewrap is denied: bwrap ended with exit status 1; ",
		"exit 0":    "<nil>",
	} {
		_, err := (&files.Invocation{Path: "/bin/sh", Args: []string{"-c", script}, Timeout: 2 * time.Second}).Output()
		got := "<nil>"
		if err = refusal(err); err != nil {
			got = err.Error()
		}
		expect.Contains(t, script, got, want)
	}
}
