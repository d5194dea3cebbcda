package session

import (
	"os"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A file that cannot be a suite is bad input, and the message names it.
func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("folder/a.yaml", fourSuite)
	s.write("b.yaml", fourSuite)
	for file, says := range map[string]string{"gone.yaml": "gone.yaml", "folder": "folder"} {
		_, err := s.settle(Options{}, file)
		s.bad(err, says)
	}
	_, err := s.settle(Options{}, "b.yaml", "folder/a.yaml")
	s.bad(err, "`s`", "folder/a.yaml", "b.yaml")
	_, err = s.settle(Options{Options: eval.Options{GateOptions: eval.GateOptions{Interleave: "other.yaml@main"}}}, "b.yaml")
	s.bad(err, "other.yaml")
	_, err = s.settle(Options{Options: eval.Options{GateOptions: eval.GateOptions{Interleave: "b.yaml@--output=x"}}}, "b.yaml")
	s.bad(err, "SUITE@REF")
}

// A suite reads only files of its folder. The folder of a linked suite is that of the target.
func TestLoadStaysInTheFolderOfTheSuite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	suite := func(file string) string {
		return "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, file: " + file + "}]\n" +
			"cases: [{name: c, scorers: [{contains: x}]}]\n"
	}
	s.write("secret.tmpl", "secret")
	s.write("real/in.tmpl", "inside")
	s.write("real/in.yaml", suite("in.tmpl"))
	s.write("real/up.yaml", suite("../secret.tmpl"))
	s.write("real/link.yaml", suite("link.tmpl"))
	s.write("real/absolute.yaml", suite(s.at.Join("secret.tmpl")))
	for link, target := range map[string]string{"linked.yaml": "real/in.yaml", "real/link.tmpl": "../secret.tmpl"} {
		expect.OK(t, os.Symlink(target, s.at.Join(link)))
	}
	j, err := s.settle(Options{}, "linked.yaml")
	expect.OK(t, err)
	expect.Same(t, "the folder of a linked suite", j.Dir(0), rundir.At(s.at.Join("real")).Abs(""))
	for _, file := range []string{"real/up.yaml", "real/link.yaml", "real/absolute.yaml"} {
		_, err := s.settle(Options{}, file)
		s.bad(err, file+":4:27")
	}
}

// --var wins over the variables of cases, and is no part of their identity.
func TestVariablesOfFlagsWinAndLeaveCasesTheSame(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	prompts := func(vars map[string]string) (texts, ids []string) {
		j, err := s.settle(Options{Options: eval.Options{Vars: vars, SelectionOptions: eval.SelectionOptions{Repeats: 1}}}, "s.yaml")
		expect.OK(t, err)
		for trial := range j.Plan().Trials() {
			texts, ids = append(texts, trial.Request.Contents[0].Parts[0].(eval.TextPart).Text), append(ids, trial.CaseID)
		}
		return texts, ids
	}
	texts, ids := prompts(nil)
	changed, same := prompts(map[string]string{"w": "flag"})
	expect.Same(t, "prompts without --var", texts, []string{"say x1", "say x2", "say b3", "say x4"})
	expect.Same(t, "prompts with --var", changed, []string{"say flag", "say flag", "say flag", "say flag"})
	expect.Same(t, "identities of cases with --var", same, ids)
}

// A dangling link is bad input.
func TestLoadRefusesADanglingLink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	expect.OK(t, os.Symlink("nowhere.yaml", s.at.Join("link.yaml")))
	_, err := s.settle(Options{}, "link.yaml")
	s.bad(err, "link.yaml")
}
