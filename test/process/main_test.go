package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestMedianIsTakenOfEachFigure(t *testing.T) {
	t.Parallel()
	got := median([]cost{{3, 10, 1, 4, 5}, {1, 30, 1, 5, 4}, {2, 20, 9, 6, 4}})
	expect.Same(t, "the median of each figure", got, cost{2, 20, 1, 5, 4})
}

// figureOf is a row that sends, next to a loop and a limit of 100.
func figureOf(wall, cpu time.Duration, megabytes, allocations int64) figure {
	f := figure{Name: "a", Evalrun: cost{Wall: wall, CPU: cpu, Memory: megabytes << 20}}
	f.Loop, f.Limit = cost{Wall: 100, CPU: 100}, cost{Wall: 100, CPU: 50}
	f.Allocations.Evalrun = allocations
	return f
}

// A row that is worse than its committed ratio by more than a tenth is named, whichever ratio it is.
func TestHoldNamesWorseRatios(t *testing.T) {
	t.Parallel()
	k := kept{}.with("today", []figure{figureOf(200, 200, 100, 100)}, nil)
	expect.OK(t, k.hold([]figure{figureOf(215, 215, 105, 110)}, []point{{10, 80}, {100, 88}}))
	other := figureOf(200, 200, 100, 100)
	other.Name = "b"
	for want, worse := range map[string]figure{
		"a: 0.4 of the loop's speed, was 0.5":  figureOf(250, 200, 100, 100),
		"a: 0.4 of the limit's speed, was 0.5": figureOf(250, 200, 100, 100),
		"a: 2.5 times the loop's CPU, was 2":   figureOf(200, 250, 100, 100),
		"a: 5 times the limit's CPU, was 4":    figureOf(200, 250, 100, 100),
		"a: 120 MB, was 100":                   figureOf(200, 200, 120, 100),
		"a: 111 allocations a trial, was 100":  figureOf(200, 200, 100, 111),
		"b: nothing is committed":              other,
	} {
		if err := k.hold([]figure{worse}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	want := "80.0 us of CPU in a run of 10,\n89.0 us of CPU in a run of 100:\nat most 11 % more"
	if err := k.hold(nil, []point{{10, 80}, {100, 89}}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What was not measured again is kept, rows that are gone are not, and only a whole measurement has a new date.
func TestWithReplacesWhatWasMeasured(t *testing.T) {
	t.Parallel()
	before := kept{"before", map[string]ratio{"version": {MB: 1}, "gone": {MB: 2}}, []point{{10, 80}}}
	got := before.with("now", []figure{{Name: "1 case", Evalrun: cost{Memory: 3 << 20}}}, nil)
	expect.Same(t, "what is kept", got, kept{"before", map[string]ratio{"version": {MB: 1}, "1 case": {MB: 3}}, before.Growth})
	var all []figure
	for _, r := range rows() {
		all = append(all, figure{Name: r.name})
	}
	expect.Same(t, "the date of a whole measurement", before.with("now", all, nil).Measured, "now")
}

// The loop and the limit send every request and check every answer; one that is wrong is an error. The limit keeps a line of
// each trial, whose checksum is that of evalrun's lines.
func TestLoopChecksEveryAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(answer(0, &flight{}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "lines")
	args := []string{"-url", server.URL, "-trials", "25", "-j", "4"}
	expect.OK(t, loop(append(args, "-chat")))
	expect.OK(t, loop(append(args, "-own", "-lines", "3", "-journal", file)))
	data, err := os.ReadFile(file)
	expect.OK(t, err)
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	expect.Same(t, "the lines", len(lines), 25)
	for seq, line := range lines {
		body, tail, _ := bytes.Cut(line, []byte(`,"crc"`))
		sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
		expect.Same(t, "the end of a line", string(tail), fmt.Sprintf(`:"%08x"}`, sum))
		var got struct {
			Seq      int
			Passed   bool
			Response response
		}
		expect.OK(t, json.Unmarshal(line, &got))
		if got.Seq != seq || !got.Passed || got.Response.Candidates[0].FinishReason != "STOP" {
			t.Errorf("got %s, want a trial that passed and its reply", line)
		}
	}
	if err := loop([]string{"-url", "http://127.0.0.1:1", "-trials", "3"}); err == nil {
		t.Error("no error without a server, want one")
	}
}

// The server answers each question for itself, in every protocol.
func TestAnswersDependOnTheQuestion(t *testing.T) {
	t.Parallel()
	for _, path := range []string{":generateContent", "/chat/completions", "/responses", "/messages", "/chat"} {
		got := replyTo(path, []byte(`{"text":"What is the capital of country 17? Answer"}`))
		if !json.Valid([]byte(got)) || !strings.Contains(got, fmt.Sprintf(`"The capital of country 17 is `+capital+`"`, 17)) {
			t.Errorf("%s: got %s, want the answer about country 17", path, got)
		}
	}
}

// Calls in flight are weighed by time: two calls overlap for a second of three, and between calls the server is idle.
func TestFlightIsWeighedByTime(t *testing.T) {
	t.Parallel()
	var f flight
	start := time.Now()
	for _, step := range []struct {
		by int64
		at time.Duration
	}{{1, 0}, {1, 1}, {-1, 2}, {-1, 3}, {1, 7}, {-1, 8}} {
		f.change(step.by, start.Add(step.at*time.Second))
	}
	most, mean := f.account()
	expect.Same(t, "the most and the mean", [2]int64{most, mean}, [2]int64{2, 625})
	most, mean = f.account()
	expect.Same(t, "a new account", [2]int64{most, mean}, [2]int64{0, 0})
}

// The table next to peers has a line for each program; factors leave out the start of the process.
func TestPeersTable(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	got := peersTable([]besides{
		{peerRow{1, 1, 0}, [3]cost{{Wall: 10 * ms, CPU: 10 * ms}, {}, {Wall: 1000 * ms, CPU: 1000 * ms}}},
		{peerRow{1000, 32, 0}, [3]cost{{Wall: 110 * ms, CPU: 210 * ms}, {}, {Wall: 11000 * ms, CPU: 11000 * ms, Memory: 300 << 20}}},
		{peerRow{80, 8, 100 * ms}, [3]cost{{Open: 7900, Highest: 8}, {}, {}}},
	})
	expect.Contains(t, "the table", got, "\n| 1,000 calls, j=32 | promptfoo | 11.00 | 11.00 | 300 MB |  |\n")
	expect.Contains(t, "the table", got, "\n| 80 calls of 100 ms, j=8 | evalrun | 0.00 | 0.00 | 0 MB | 7.9 (8) of 8 |\n")
	expect.Contains(t, "the factors", got, "100 times evalrun's wall time\nand 52 times its CPU")
	expect.Contains(t, "the factors without the start", got, "which 1 call shows, 100 and 50 times.")
}

// A page keeps what is outside of the marks.
func TestBetweenReplacesWhatIsMarked(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf(begin, "make x")
	got, err := between("# A\n"+mark+"old\n"+end+"b\n", "make x", "new\n")
	expect.OK(t, err)
	expect.Same(t, "the page", got, "# A\n"+mark+"\nnew\n\n"+end+"b\n")
	if _, err := between("# A\n"+mark, "make x", "new"); err == nil {
		t.Error("no error without the second mark, want one")
	}
}

// A row that does not send has no limit, and the plot has a dot for each point, the higher the more a trial costs.
func TestTableAndPlot(t *testing.T) {
	t.Parallel()
	k := kept{"Measured today", map[string]ratio{
		"version":                 {Share: 0.123, CPU: 12.345, MB: 20},
		"5,000 rows of CSV, j=32": {Share: 0.5, CPU: 2.5, ShareOfLimit: 0.6, CPUOfLimit: 2, Allocations: 300, OfLimit: 100, MB: 50},
	}, []point{{10, 60}, {1000, 30}}}
	table := k.table()
	expect.Contains(t, "the table", table, "Measured today.\n\n| work |")
	expect.Contains(t, "the table", table, "\n| version | 0.12 | | 12.3 | | | | 20 MB |\n")
	expect.Contains(t, "the table", table, "\n| 5,000 rows of CSV, j=32 | 0.50 | 0.60 | 2.5 | 2.0 | 300 | 100 | 50 MB |\n")
	growth := "\nA trial takes 60.0 us of CPU in a run of 10,\n30.0 us of CPU in a run of 1,000:\nat most 0 % more"
	expect.Contains(t, "the growth", table, growth)
	expect.Contains(t, "the plot", plot(k.Growth), `points="130.0,90.0 500.0,165.0"`)
	expect.OK(t, xml.Unmarshal([]byte(plot(k.Growth)), new(struct{})))
}

// The page, its table and its plot are what the ratios say.
func TestThePageShowsTheRatios(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	k, err := readKept(filepath.Join(root, ratiosFile))
	expect.OK(t, err)
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	expect.OK(t, err)
	want, err := between(string(page), "make bench-process", k.table())
	expect.OK(t, err)
	expect.Same(t, pageFile, string(page), want)
	picture, err := os.ReadFile(filepath.Join(root, plotFile))
	expect.OK(t, err)
	expect.Same(t, plotFile, string(picture), plot(k.Growth))
	for _, r := range rows() {
		if _, known := k.Rows[r.name]; !known {
			t.Errorf("%s: got no ratio, want one", r.name)
		}
	}
}
