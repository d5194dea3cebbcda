package compare

import (
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// sharedVerdicts are verdicts on counts that paths have come by. Thousands of paths end in a few hundred tables, and each of its verdicts
// takes milliseconds, many times as much with the race detector.
var sharedVerdicts = struct {
	sync.Mutex
	known map[tableSize][]table
}{known: map[tableSize][]table{}}

// tableSize is what tables must have in common to be compared.
type tableSize struct {
	n             int
	margin, alpha float64
}

type table struct {
	gained, regressed int
	verdict           eval.Verdict
}

// sharedVerdict is binaryVerdict. The verdict rises with every case gained, and falls with every one that regressed
// (TestACaseThatTurnsForTheWorseNeverHelps of internal/stats): between two tables with the same verdict there is no other.
func sharedVerdict(n, gained, regressed int, margin, alpha float64) eval.Verdict {
	size := tableSize{n, margin, alpha}
	if v, ok := between(size, gained, regressed); ok {
		return v
	}
	v := binaryVerdict(n, gained, regressed, margin, alpha)
	sharedVerdicts.Lock()
	defer sharedVerdicts.Unlock()
	sharedVerdicts.known[size] = append(sharedVerdicts.known[size], table{gained, regressed, v})
	return v
}

// between looks for a table that is no better and one that is no worse, both with the same verdict.
func between(size tableSize, gained, regressed int) (eval.Verdict, bool) {
	sharedVerdicts.Lock()
	defer sharedVerdicts.Unlock()
	noBetter, noWorse := map[eval.Verdict]bool{}, map[eval.Verdict]bool{}
	for _, t := range sharedVerdicts.known[size] {
		if t.gained <= gained && t.regressed >= regressed {
			noBetter[t.verdict] = true
		}
		if t.gained >= gained && t.regressed <= regressed {
			noWorse[t.verdict] = true
		}
	}
	for v := range noBetter {
		if noWorse[v] {
			return v, true
		}
	}
	return "", false
}
