package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// Commenting says where to post a run.
type Commenting struct {
	Issue  bool     // an issue of the project instead of a comment
	Number int      // of the pull or merge request; 0 is the job's own
	Links  []string // further links, each as TEXT=URL
	Getenv func(string) string
}

// Comment posts a run as a comment on a pull or merge request, or as an issue.
func (f Folder) Comment(ctx context.Context, name string, o Commenting) (posted, error) {
	links, err := linksOf(o.Links)
	if err != nil {
		return posted{}, err
	}
	at, err := find(o.Getenv)
	if err != nil {
		return posted{}, err
	}
	doc, err := f.open(name)
	if err != nil {
		return posted{}, err
	}
	defer doc.Close() //nolint:errcheck // only read
	if doc.Running {
		return posted{}, eval.BadInput("the run %s is still in progress; comment on it when it finishes", name)
	}
	body := func() (string, error) {
		var b strings.Builder
		err := reports.Markdown(&b, doc, reports.Options{Links: links})
		return b.String(), err
	}
	marker := reports.Marker(&doc.Run)
	if o.Issue && doc.Waits() != nil {
		return posted{Page: "the run waits for its batches: the issue stays as it is until they are answered"}, nil
	}
	if o.Issue {
		text, err := body()
		if err != nil {
			return posted{}, err
		}
		return at.Issue(ctx, marker, "evalrun: "+titleOf(doc), text, doc.Gate().Exit != eval.CodeOK)
	}
	exit := doc.Gate().Exit
	done, err := at.Comment(ctx, o.Number, marker, func(old string) (string, error) {
		looks := countOn(&doc.Run, old)
		gate.ApplyIn(f.Dir, doc)
		text, err := body()
		return strings.Replace(text, marker+"\n", marker+"\n"+looks, 1), err
	})
	if now := doc.Gate().Exit; err == nil && now != exit {
		err = eval.WithCode(now, errors.New("by the looks that the comment counts, the gate of the run does not hold: see the comment"))
	}
	return done, err
}

// The comment of a pull request counts looks for machines without a history: one entry for each candidate with its baseline.
const (
	looksBefore = "<!-- evalrun looks:"
	maxCounted  = 100
)

// countedLook is what a comment knows of a candidate: its last look, and the answers that it was at.
var countedLook = regexp.MustCompile(` ([0-9a-f]{16})=([0-9]{1,6}):([0-9a-f]{16})`)

// countOn raises the looks of a run to what an earlier comment has counted, and returns the line for the new comment, "" when
// there is nothing to count. Posting the same answers again is not another look.
func countOn(run *eval.Run, old string) (line string) {
	_, rest, _ := strings.Cut(old, looksBefore)
	before, _, _ := strings.Cut(rest, "-->")
	type entry struct {
		nth int
		of  string
	}
	known, order := map[string]entry{}, []string{}
	note := func(key string, e entry) {
		order = append(slices.DeleteFunc(order, func(k string) bool { return k == key }), key)
		known[key] = e
	}
	for _, m := range countedLook.FindAllStringSubmatch(before, -1) {
		nth, _ := strconv.Atoi(m[2])
		note(m[1], entry{nth, m[3]})
	}
	answers := shortHash(run.AnswersOf())
	for i := range run.Suites {
		one := &run.Suites[i]
		for k := range one.Looks {
			l := &one.Looks[k]
			key := shortHash(one.Name, l.Candidate, l.Base)
			last := known[key]
			if last.of != answers {
				last.nth++
			}
			l.Nth = max(l.Nth, last.nth)
			note(key, entry{l.Nth, answers})
		}
	}
	for _, key := range order[max(0, len(order)-maxCounted):] {
		line += fmt.Sprintf(" %s=%d:%s", key, known[key].nth, known[key].of)
	}
	if line == "" {
		return ""
	}
	return looksBefore + line + " -->\n"
}

func shortHash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func titleOf(doc *journal.Document) string {
	const most = 3
	var names []string
	for i := range doc.Run.Suites {
		if i == most {
			return strings.Join(names, ", ") + " and more"
		}
		names = append(names, doc.Run.Suites[i].Name)
	}
	return strings.Join(names, ", ")
}

func linksOf(texts []string) (all []reports.Link, err error) {
	for _, text := range texts {
		words, address, ok := strings.Cut(text, "=")
		u, err := url.Parse(address)
		if !ok || words == "" || err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, eval.BadInput("invalid --link %q: a link is TEXT=URL with an http or https address", text)
		}
		all = append(all, reports.Link{Text: words, URL: address})
	}
	return all, nil
}
