package main

import (
	"fmt"
	"math"
	"strings"
)

// point is what a trial of a run costs, by the size of the run.
type point struct {
	Trials int     `json:"trials"`
	CPU    float64 `json:"cpu"` // in microseconds per trial
}

// growth measures runs of growing size, without reports, in turn. There is no round to warm up, for it would take a minute.
func (b *bench) growth() ([]point, error) {
	var points []point
	var processes []func() (cost, error)
	url, err := b.server(0)
	if err != nil {
		return nil, err
	}
	for _, trials := range []int{10_000, 100_000, 1_000_000} {
		dir, err := b.suite(outputRow{trials: trials, j: 128}, url)
		if err != nil {
			return nil, err
		}
		points = append(points, point{Trials: trials})
		processes = append(processes, func() (cost, error) { return b.evalrun(dir, url, run()) })
	}
	medians, err := inTurn(0, (b.rounds+1)/2, processes)
	if err != nil {
		return nil, err
	}
	for i, c := range medians {
		points[i].CPU = rounded(float64(c.CPU.Nanoseconds()) / 1e3 / float64(points[i].Trials))
		fmt.Printf("%9s trials: %6.1f us of CPU each, %s\n", thousands(points[i].Trials), points[i].CPU, c)
	}
	return points, nil
}

// flat is an error when a trial of a larger run costs more than one of a smaller run, by more than the tolerance. It may cost less:
// what a run costs once has more trials to bear it.
func flat(points []point) error {
	if grown(points) <= tolerance {
		return nil
	}
	return fmt.Errorf("growth: %s", growthText(points))
}

// grown is by how much a trial of a larger run costs more than one of a smaller run, at most; 0 when it costs no more.
func grown(points []point) (most float64) {
	for i, larger := range points {
		for _, smaller := range points[:i] {
			most = max(most, rounded(larger.CPU/smaller.CPU-1))
		}
	}
	return most
}

// growthText says what a trial costs, in a line of the page for each point.
func growthText(points []point) string {
	var parts []string
	for _, p := range points {
		parts = append(parts, fmt.Sprintf("%.1f us of CPU in a run of %s", p.CPU, thousands(p.Trials)))
	}
	return fmt.Sprintf("A trial takes %s:\nat most %.0f %% more in a larger run.", strings.Join(parts, ",\n"), 100*grown(points))
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// plot draws points: the number of trials to the right, each ten times the one before, and their cost upwards.
func plot(points []point) string {
	const left, right, top, bottom, step = 70.0, 560.0, 40.0, 240.0, 20.0
	ceiling := step // in microseconds
	for _, p := range points {
		ceiling = max(ceiling, step*math.Ceil(p.CPU*1.15/step)) // with room for the number above a point
	}
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="600" height="300" viewBox="0 0 600 300" role="img">
<title>CPU per trial, by the number of trials in a run</title>
<rect width="600" height="300" rx="8" fill="#ffffff"/>
<g font-family="system-ui, sans-serif" font-size="13" fill="#1f2328" text-anchor="middle">
`)
	for us := 0.0; us <= ceiling; us += step {
		y := bottom - (bottom-top)*us/ceiling
		fmt.Fprintf(&b, "<line x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\" stroke=\"#d1d9e0\"/>\n", left, y, right, y)
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", left-8, y+4, us)
	}
	var line []string
	for i, p := range points {
		x := left + 60 + (right-left-120)*float64(i)/float64(max(len(points)-1, 1))
		y := bottom - (bottom-top)*p.CPU/ceiling
		line = append(line, fmt.Sprintf("%.1f,%.1f", x, y))
		fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#0969da\"/>\n", x, y)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\">%.1f</text>\n", x, y-10, p.CPU)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%g\">%s</text>\n", x, bottom+20, thousands(p.Trials))
	}
	fmt.Fprintf(&b, "<polyline points=\"%s\" fill=\"none\" stroke=\"#0969da\" stroke-width=\"2\"/>\n", strings.Join(line, " "))
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"24\" text-anchor=\"start\">microseconds of CPU per trial</text>\n", left-40)
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\">trials in a run</text>\n</g>\n</svg>\n", (left+right)/2, bottom+42)
	return b.String()
}
