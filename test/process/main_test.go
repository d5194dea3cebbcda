package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestMedianIsTakenOfEachFigure(t *testing.T) {
	t.Parallel()
	got := median([]cost{{3, 10, 1}, {1, 30, 1}, {2, 20, 9}})
	expect.Same(t, "the median of each figure", got, cost{2, 20, 1})
}

// A row that is worse than its committed ratio by more than a tenth is named, whichever ratio it is.
func TestHoldNamesWorseRatios(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ratios.json")
	row := func(wall, cpu time.Duration, memory int64) []figure {
		return []figure{{Name: "a", Evalrun: cost{wall, cpu, memory << 20}, Loop: cost{100, 100, 0}}}
	}
	expect.OK(t, writeRatios(file, row(200, 200, 100)))
	expect.OK(t, hold(file, row(215, 215, 105)))
	for want, worse := range map[string][]figure{
		"a: 0.400 of the loop's speed, was 0.500":  row(250, 200, 100),
		"a: 2.500 times the loop's CPU, was 2.000": row(200, 250, 100),
		"a: 120 MB, was 100":                       row(200, 200, 120),
		"b: there is no ratio in":                  {{Name: "b", Evalrun: cost{1, 1, 1}, Loop: cost{1, 1, 1}}},
	} {
		if err := hold(file, worse); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The loop sends every request and checks every answer; one that is wrong is an error.
func TestLoopChecksEveryAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(answer(0))
	defer server.Close()
	expect.OK(t, loop([]string{"-url", server.URL, "-trials", "25", "-j", "4"}))
	if err := loop([]string{"-url", "http://127.0.0.1:1", "-trials", "3"}); err == nil {
		t.Error("no error without a server, want one")
	}
}
