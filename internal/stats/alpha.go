package stats

// MinAlpha is the least error rate of a verdict. No realistic number of cases could show a smaller one.
const MinAlpha = 1e-6
