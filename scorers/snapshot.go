package scorers

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

func snapshotKind() Kind {
	return Kind{
		Name: "snapshot", Summary: "the answer is the one that was accepted before", Options: textOptions(),
		Doc: "Takes `true`, for a file of each case and arm (`expected/SUITE/CASE/TARGET.PROMPT.txt`), or the name of a file below " +
			"`expected/` in the suite's folder, which all arms share. `evalrun accept RUN` shows new and changed answers and " +
			"writes these files; commit them with the suite. With a `select`, the selected part is kept. `\\r\\n` is `\\n`. " +
			"Without a file the score is unscored. " +
			textOptionsDoc,
		Example: "- snapshot: true\n  trim: true", takes: yaml.Either(yaml.Word("true"), yaml.Text), compile: compileSnapshot,
	}
}

func compileSnapshot(a args) AnswerScorer {
	named, ok := a.snapshotFile()
	if !ok {
		return nil
	}
	a.needs.Snapshots = append(a.needs.Snapshots, named)
	return snapshotScorer{named, a.Suite, a.fold()}
}

type snapshotScorer struct {
	named string
	home  *suite.Suite
	fold  fold
}

// Score compares the answer with its file, and records it as one that may be accepted.
func (c snapshotScorer) Score(a *Answer) Finding {
	if missing, ok := noText(a); ok {
		return missing
	}
	if a.Context == nil || c.home == nil {
		return Unscored("the trial of the answer is not known")
	}
	trial := a.Context.Trial
	trial.Suite = c.home.Name // an earlier version may have another suite name
	s := SnapshotCheck{File: suite.ExpectedFile(c.named, &trial), Got: files.PlainLines(a.Candidate.Text)}
	s.Folded = c.fold.text(s.Got)
	if want, ok := c.home.Expected(s.File); ok {
		s.Accepted = &AcceptedAnswer{want, s.Folded == c.fold.text(want)}
	}
	acceptable := !eval.IsBlank(s.Got) && a.Candidate.Block() == ""
	switch {
	case acceptable:
		a.Context.SnapshotChecks = append(a.Context.SnapshotChecks, s)
	case s.Accepted == nil:
		return Unscored("%s, and this one cannot be: it is empty or was blocked", nothingAccepted)
	}
	return s.finding(c.fold)
}

const nothingAccepted = "there is no expected answer yet"

func (s *SnapshotCheck) finding(f fold) Finding {
	switch {
	case s.Accepted == nil:
		return unscoredFor(eval.Unscored{Why: nothingAccepted + ": `evalrun accept RUN` writes it", Cause: eval.NothingAccepted})
	case s.Accepted.Same:
		return Pass("the answer is that of %s: %s", s.File, quote(s.Got))
	}
	want := s.Accepted.Text
	out := Fail(
		"expected %s (%s), got %s%s",
		quote(want),
		s.File,
		quote(s.Got),
		cmp.Or(f.formNote(s.Got, []string{want}, equalTexts), slight(s.Folded, []string{f.text(want)})),
	)
	if long := max(len(want), len(s.Got)) > maxQuoted; long || strings.Contains(want+s.Got, "\n") {
		out.Diff = lineDiff(want, s.Got)
	}
	return out
}

// snapshotFile reads the argument: "" for the default file of the case and arm.
func (a args) snapshotFile() (named string, ok bool) {
	n := a.Args
	if n.IsBool() {
		if !n.Bool() {
			n.Errorf("leave the scorer out", "`snapshot: false` looks at nothing")
		}
		return "", n.Bool()
	}
	if named = textOf(n); named == "" {
		if n.IsScalar() {
			n.Errorf("`true` chooses a file by case and arm", "the name of the file is empty")
		}
		return "", false
	}
	return path.Clean(named), checkFileName(n, named)
}

// checkFileName reports a file name that leaves expected/, or that some file systems do not support.
func checkFileName(n yaml.Node, name string) bool {
	const hint = "`snapshot: true` makes a name that is good everywhere, of the case and the arm"
	clean := path.Clean(name)
	outside := clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean)
	if outside || clean == "." || strings.HasSuffix(name, "/") {
		n.Errorf("such as \"{{.country}}.txt\"", "%s is not a file below expected/", quote(name))
		return false
	}
	why := unportable(name, clean)
	if why != "" {
		n.Errorf(hint, "%s", why)
	}
	return why == ""
}

// unportable explains why some systems do not support a file name.
func unportable(name, clean string) string {
	strange := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(`\:*?"<>|`, r) })
	parts := strings.Split(clean, "/")
	switch {
	case strange >= 0:
		return fmt.Sprintf("the file name %s has a character that some systems do not take: %s", quote(name),
			quote(string([]rune(name[strange:])[:1])))
	case slices.ContainsFunc(parts, files.ReservedName.MatchString):
		return fmt.Sprintf("the file name %s is a device on Windows", quote(name))
	case slices.ContainsFunc(parts, func(p string) bool { return strings.HasSuffix(p, ".") || strings.TrimSpace(p) != p }):
		return fmt.Sprintf("a part of the file name %s begins or ends with a space, or ends with a dot", quote(name))
	case len(clean) > maxFileName || slices.ContainsFunc(parts, func(p string) bool { return len(p) > maxFilePart }):
		return fmt.Sprintf(
			"the file name %s is too long: at most %d bytes, and %d between two slashes",
			quote(name),
			maxFileName,
			maxFilePart,
		)
	}
	return ""
}

// maxFileName and maxFilePart are limits that all file systems support, in bytes.
const maxFileName, maxFilePart = 700, 200

// Bounds of a diff: lines that it shows, and bytes that it compares.
const maxDiffLines, maxDiffBytes = 60, 1 << 18

// lineDiff is a line diff of two texts: - before, + after.
func lineDiff(before, after string) string {
	diff := udiff.Unified("", "", text.CutText(before, maxDiffBytes)+"\n", text.CutText(after, maxDiffBytes)+"\n")
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	lines = lines[min(2, len(lines)):] // skip the names of the texts
	if len(lines) > maxDiffLines {
		lines = append(lines[:maxDiffLines], "...")
	}
	return cmp.Or(strings.Join(lines, "\n"), "they differ after "+shownBytes)
}

const shownBytes = "the first 256 KiB"
