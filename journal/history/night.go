package history

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/journal"
)

// Night is a run of a suite on one arm, as the alarm over nights reads it.
type Night struct {
	Run RunRecord // without its parts
	// Part says why the run does not count as a night, such as "selection"; "" when it does. It has no cases then.
	Part  string
	Tool  string           // the version of evalrun
	Rules []eval.DriftRule // of the suite
	// Model is the model that was asked; Versions are those that the answers name, none where they do not.
	Model    string
	Versions []string
	Nth      int // among the whole runs of the arm, when it was added
	Planned  int // trials
	Missing  int // trials without an outcome, such as those that met an outage
	Cached   int // trials whose answers came from a cache
	Cases    []NightCase
}

// NightCase is one case of a night, its repeats added up. Cases in quarantine are not among them.
type NightCase struct {
	Key     string // of eval.CaseKey: another one when the variables or the scorers change
	Request uint32 // differs when what is sent differs
	Passed  int
	Scored  int // what the answer or its length broke, such as one that was cut, counts as scored
	Scores  journal.MetricSums
}

// CaseLabel is how reports call a case of a Night.
type CaseLabel struct {
	Name string
	Tags []string
}

// partOf says why a run cannot be a night, "" if it can.
func partOf(d *journal.Document) string {
	run := &d.Run
	switch stopped := d.End.StopReason() != ""; {
	case run.Emulator:
		return "emulator"
	case run.Replay != "" || run.RescoredFrom != "":
		return "recorded answers"
	case len(run.ExtendedFrom) > 0:
		return "extended"
	case run.Plan.Shard != nil:
		return "shard"
	case run.Options().Narrows():
		return "selection"
	case len(d.Stops) > 0:
		return "early stop"
	case d.End.Waits():
		return "waiting"
	case d.Partial() && !stopped: // a run that the service ended may be an outage
		return "incomplete"
	}
	return ""
}

// fromOutside reports whether an error says nothing about the answer: the service, the network or a scorer failed. The answer
// or its length caused all others, which are failures.
func fromOutside(kind eval.ErrorKind) bool {
	switch kind {
	case eval.KindTransport, eval.KindStatus, eval.KindAuth, eval.KindQuota, eval.KindUnscored, eval.KindScorer, eval.KindReplayMiss,
		eval.KindCanceled, eval.KindBudget:
		return true
	}
	return false
}

type armOfNight struct{ suite, arm string }

type nightInReading struct {
	Night
	places map[string]int
	labels []CaseLabel // of the cases
}

// mostInNight bounds the cases of an arm that the history keeps: the rule reads all of them for each night.
const mostInNight = 20_000

// Nights are the arms of a run as nights, by suite and arm.
func Nights(d *journal.Document) (map[[2]string]*Night, error) {
	read, err := nightsOf(d)
	out := map[[2]string]*Night{}
	for of, n := range read {
		out[[2]string{of.suite, of.arm}] = &n.Night
	}
	return out, err
}

func nightsOf(d *journal.Document) (map[armOfNight]*nightInReading, error) {
	out := map[armOfNight]*nightInReading{}
	part := partOf(d)
	head := recordOf(&d.Run)
	for _, s := range d.Summary.Suites {
		for i := range s.Arms {
			n := &nightInReading{Night: Night{Run: head, Part: part, Tool: d.Run.Tool}, places: map[string]int{}}
			if g := d.Run.Suite(s.Name).Gate; g != nil {
				n.Rules = g.Drift
			}
			target, _, _ := strings.Cut(s.Arms[i].Name, "/")
			if t := d.Run.Target(s.Name, target); t != nil {
				n.Model = cmp.Or(t.Model, t.App)
			}
			if n.Part == "" && s.Arms[i].Cases.Tests > mostInNight {
				n.Part = "too many cases"
			}
			out[armOfNight{s.Name, s.Arms[i].Name}] = n
		}
	}
	counts := func(n *nightInReading) bool { return n.Part == "" }
	if !slices.ContainsFunc(slices.Collect(maps.Values(out)), counts) {
		return out, nil
	}
	for f, err := range d.Facts() {
		if err != nil {
			return nil, err
		}
		if n := out[armOfNight{f.Suite, f.Arm}]; n != nil && counts(n) {
			n.add(f)
		}
	}
	unwritten := max(0, d.Run.Plan.Trials-d.Summary.Counts.Total())
	for _, n := range out {
		n.Planned, n.Missing = n.Planned+unwritten, n.Missing+unwritten
	}
	return out, nil
}

func recordOf(run *eval.Run) RunRecord {
	return RunRecord{
		ID: run.ID, Name: run.Name, StartedAt: run.StartedAt, Labels: run.Labels, Commit: run.Commit, Branch: run.Branch,
		Emulator: run.Emulator,
	}
}

func (n *nightInReading) add(f *journal.Facts) {
	n.Planned++
	missing := f.Outcome == eval.Skip || f.Outcome == eval.Err && fromOutside(f.ErrorKind)
	if missing {
		n.Missing++
	} else if f.Attempts == 0 {
		n.Cached++
	}
	if f.Quarantined {
		return
	}
	key := eval.CaseKey(cmp.Or(f.CaseID, f.Case), f.VarsHash, f.ScorersHash)
	at, known := n.places[key]
	if !known {
		at = len(n.Cases)
		n.places[key] = at
		sent, _ := hex.DecodeString(f.RequestHash[:min(len(f.RequestHash), 8)]) // a file without one has the same every night
		n.Cases = append(n.Cases, NightCase{Key: key, Request: binary.BigEndian.Uint32(append(sent, 0, 0, 0, 0))})
		n.labels = append(n.labels, CaseLabel{strings.Clone(f.Case), slices.Clone(f.Tags)})
	}
	if missing {
		return
	}
	c := &n.Cases[at]
	c.Scored++
	if f.Outcome == eval.Pass {
		c.Passed++
	}
	for _, s := range f.Scores {
		c.Scores.Add(s.Name, s.Value)
	}
	if v := f.ModelVersion; v != "" && !slices.Contains(n.Versions, v) {
		n.Versions = append(n.Versions, v)
		slices.Sort(n.Versions)
	}
}

// nights inserts the arms of a run as nights. The words of the suites and arms are known.
func (a *adder) nights(tx *sql.Tx, d *journal.Document) error {
	all, err := nightsOf(d)
	if err != nil {
		return err
	}
	for _, key := range a.order {
		of := armOfNight{a.words.texts[key[0]], a.words.texts[key[1]]}
		n := all[of]
		if n == nil {
			continue
		}
		if err := a.night(tx, key, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *adder) night(tx *sql.Tx, key [2]int64, n *nightInReading) error {
	versions, err1 := wirejson.Marshal(n.Versions)
	rules, err2 := wirejson.Marshal(n.Rules)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	data := []byte{}
	label, err := tx.Prepare("INSERT INTO kase (key, name, tags) VALUES (?,?,?) ON CONFLICT (key) DO UPDATE SET name = excluded.name, " +
		"tags = excluded.tags WHERE name <> excluded.name OR tags <> excluded.tags")
	if err != nil {
		return err
	}
	defer label.Close() //nolint:errcheck // Exec reports what fails
	for i := range n.Cases {
		c := &n.Cases[i]
		for _, m := range c.Scores {
			if err := a.words.know(m.Name); err != nil {
				return err
			}
		}
		data = appendNightCase(data, c, a.words.ids)
		tags, err := wirejson.Marshal(n.labels[i].Tags)
		if err == nil {
			_, err = label.Exec([]byte(c.Key), n.labels[i].Name, string(tags))
		}
		if err != nil {
			return err
		}
	}
	nth := a.nths[key]
	if nth == 0 && n.Part == "" {
		const last = "SELECT coalesce(max(nth), 0) + 1 FROM night WHERE suite = ? AND arm = ?"
		if err := tx.QueryRow(last, key[0], key[1]).Scan(&nth); err != nil {
			return err
		}
	}
	_, err = tx.Exec(
		"INSERT INTO night (run, suite, arm, part, tool, model, rules, versions, nth, planned, missing, cached, data) "+
			"VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
		a.run, key[0], key[1], n.Part, n.Tool, n.Model, string(rules), string(versions), nth, n.Planned, n.Missing, n.Cached, data,
	)
	return err
}

func appendNightCase(b []byte, c *NightCase, names map[string]int64) []byte {
	b = appendInts(b, len(c.Key))
	b = append(b, c.Key...)
	b = appendInts(b, int(c.Request), c.Passed, c.Scored, len(c.Scores))
	for i := range c.Scores {
		b = appendMetric(b, &c.Scores[i], names)
	}
	return b
}

// nightCases decodes the cases of a night. names has the texts of words.
func (s *Store) nightCases(data []byte, names map[int64]string) (out []NightCase, err error) {
	r := cellReader{data: data}
	for len(r.data) > 0 {
		c := NightCase{Key: string(r.bytes(r.int()))}
		c.Request = uint32(r.int()) //nolint:gosec // as it was written
		c.Passed, c.Scored = r.int(), r.int()
		for n := r.int(); n > 0 && !r.bad; n-- {
			m := r.metric()
			name, known := names[m.name]
			if !known {
				if name, err = s.textOf(m.name); err != nil {
					return nil, err
				}
				names[m.name] = name
			}
			c.Scores = append(c.Scores, journal.MetricSum{Name: name, Sum: m.Sum})
		}
		if r.bad {
			return nil, errCells
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *Store) textOf(word int64) (text string, err error) {
	if err = s.db.QueryRow("SELECT text FROM word WHERE id = ?", word).Scan(&text); errors.Is(err, sql.ErrNoRows) {
		err = errCells
	}
	return text, err
}

// Nights lists the runs of an arm that choose keeps, those from before nights were kept with the Part "older", the newest last.
// Of the nights the newest `most` have their cases, the others are left out.
func (s *Store) Nights(suite, arm string, most int, choose func(*RunRecord) bool) ([]Night, error) {
	version, err := versionOf(s.db)
	if err != nil {
		return nil, s.explain(err)
	}
	heads, err := s.heads()
	if err != nil {
		return nil, s.explain(err)
	}
	var out []Night
	names := map[int64]string{}
	for i := range heads {
		run := &heads[i]
		if most == 0 || !choose(run) {
			continue
		}
		n := &Night{Part: "older"}
		if version >= withNights {
			n, err = s.nightOf(run.number, suite, arm, names)
		}
		if errors.Is(err, sql.ErrNoRows) {
			n, err = s.olderNight(run.number, suite, arm)
		}
		if err != nil {
			return nil, s.explain(err)
		}
		if n == nil { // the run does not have the arm
			continue
		}
		if n.Run = *run; n.Part == "" {
			most--
		}
		out = append(out, *n)
	}
	slices.Reverse(out)
	return out, nil
}

// Lost is how many nights of an arm the history had once and has no more.
func (s *Store) Lost(suite, arm string) (n int, err error) {
	if version, err := versionOf(s.db); err != nil || version < withNights {
		return 0, s.explain(err)
	}
	ctx, cancel := bounded()
	defer cancel()
	err = s.db.QueryRowContext(ctx, `SELECT coalesce(max(nth), 0) - count(*) FROM night
WHERE part = '' AND suite = (SELECT id FROM word WHERE text = ?) AND arm = (SELECT id FROM word WHERE text = ?)`, suite, arm).Scan(&n)
	return max(0, n), s.explain(err)
}

// DriftRules are the rules about drift of the newest run of an arm; none where they are not known.
func (s *Store) DriftRules(suite, arm string) (rules []eval.DriftRule, err error) {
	if version, err := versionOf(s.db); err != nil || version < withNights {
		return nil, s.explain(err)
	}
	var text string
	ctx, cancel := bounded()
	defer cancel()
	err = s.db.QueryRowContext(ctx, `SELECT n.rules FROM night n JOIN run r ON r.n = n.run
WHERE n.suite = (SELECT id FROM word WHERE text = ?) AND n.arm = (SELECT id FROM word WHERE text = ?)
ORDER BY r.started DESC, r.id DESC LIMIT 1`, suite, arm).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &rules)
	}
	return rules, s.explain(err)
}

const whereArm = " WHERE run = ? AND suite = (SELECT id FROM word WHERE text = ?) AND arm = (SELECT id FROM word WHERE text = ?)"

func (s *Store) nightOf(run int64, suite, arm string, names map[int64]string) (*Night, error) {
	n := &Night{}
	var versions, rules string
	var data []byte
	ctx, cancel := bounded()
	defer cancel()
	err := s.db.QueryRowContext(
		ctx, "SELECT part, tool, model, rules, versions, nth, planned, missing, cached, data FROM night"+whereArm, run, suite, arm,
	).Scan(&n.Part, &n.Tool, &n.Model, &rules, &versions, &n.Nth, &n.Planned, &n.Missing, &n.Cached, &data)
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(versions), &n.Versions), json.Unmarshal([]byte(rules), &n.Rules))
	}
	if err == nil {
		n.Cases, err = s.nightCases(data, names)
	}
	return n, err
}

// olderNight is the arm of a run that an earlier version added; nil when the run does not have it.
func (s *Store) olderNight(run int64, suite, arm string) (*Night, error) {
	var found int
	ctx, cancel := bounded()
	defer cancel()
	err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM total"+whereArm, run, suite, arm).Scan(&found)
	if err != nil || found == 0 {
		return nil, err
	}
	return &Night{Part: "older"}, nil
}

// Labels are the labels of cases by their keys; those of unknown keys are missing.
func (s *Store) Labels(keys []string) (map[string]CaseLabel, error) {
	out := map[string]CaseLabel{}
	for _, key := range keys {
		var l CaseLabel
		var tags string
		err := s.db.QueryRow("SELECT name, tags FROM kase WHERE key = ?", []byte(key)).Scan(&l.Name, &tags)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil {
			err = json.Unmarshal([]byte(tags), &l.Tags)
		}
		if err != nil {
			return nil, s.explain(err)
		}
		out[key] = l
	}
	return out, nil
}
