package flags

import (
	"strings"
	"testing"
)

// The flag wins over the environment, NO_COLOR over what forces colors, and these over what the output is.
func TestTheColorFlagWinsOverTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flag     color
		env      string
		terminal bool
		want     bool
	}{
		{"", "", true, true},
		{"", "", false, false},
		{"", "TERM=dumb", true, false},
		{"", "NO_COLOR=1", true, false},
		{"", "NO_COLOR=", true, true},
		{"", "FORCE_COLOR=1", false, true},
		{"", "FORCE_COLOR=0", false, false},
		{"", "FORCE_COLOR=false", true, true},
		{"", "FORCE_COLOR=3 TERM=dumb", false, true},
		{"", "CLICOLOR_FORCE=1", false, true},
		{"", "CLICOLOR_FORCE=0", false, false},
		{"", "NO_COLOR=1 FORCE_COLOR=1 CLICOLOR_FORCE=1", true, false},
		{"auto", "FORCE_COLOR=1", false, true},
		{"auto", "NO_COLOR=1", true, false},
		{"always", "NO_COLOR=1 TERM=dumb", false, true},
		{"never", "FORCE_COLOR=1", true, false},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		if got := test.flag.On(test.terminal, func(name string) string { return env[name] }); got != test.want {
			t.Errorf("--color=%s, %s, terminal %t: got %t, want %t", test.flag, test.env, test.terminal, got, test.want)
		}
	}
	var c color
	if err := c.Set("sometimes"); err == nil || !strings.Contains(err.Error(), "auto, always, never") {
		t.Errorf("got %v, want the values that it takes", err)
	}
}
