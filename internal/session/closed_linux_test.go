package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// held lists the files in a folder of the site that this process has open.
func (s *site) held(folder string) (all []string) {
	s.Helper()
	real, err := filepath.EvalSymlinks(s.at.Join(folder))
	expect.OK(s, err)
	descriptors, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(descriptors) == 0 {
		s.Fatalf("%d descriptors, %v", len(descriptors), err)
	}
	for _, fd := range descriptors {
		if file, err := os.Readlink(fd); err == nil && strings.HasPrefix(file, real+string(filepath.Separator)) {
			all = append(all, file)
		}
	}
	return all
}

// A rescore that is refused after it opened the run lets go of the run file.
func TestRefusedRescoreClosesTheRun(t *testing.T) {
	t.Parallel()
	similar := strings.Replace(fourSuite, "{contains: x}", "{similar: {to: x, min: 0.5}}", 1)
	for name, test := range map[string]struct {
		change func(s *site)
		flags  Options
		says   string
	}{
		"no script": {
			change: func(s *site) { s.write("s.yaml", similar) },
			flags:  Options{Options: eval.Options{Emulator: "gone.yaml"}}, says: "gone.yaml",
		},
		"a run of another user": {
			change: func(s *site) {
				s.env["EVALRUN_TRUST_KEY"] = "fedcba9876543210"
				expect.OK(s.T, os.RemoveAll(s.at.Join("run/suites")))
			},
			says: "--trust",
		},
		"a changed copy": {change: func(s *site) { s.write("run/suites/0/s.yaml", similar) }, says: "restore the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ranFour(t)
			test.change(s)
			before := s.held("run")
			s.refused(s.rescore("run", "out", test.flags), eval.CodeBadInput, test.says)
			if after := s.held("run"); len(after) > len(before) {
				t.Errorf("open files of the run: %q, before it %q, want no more", after, before)
			}
		})
	}
}
