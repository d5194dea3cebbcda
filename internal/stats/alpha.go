package stats

// MinAlpha is the least error rate of a verdict: no number of cases could be expected to show a smaller one.
const MinAlpha = 1e-6
