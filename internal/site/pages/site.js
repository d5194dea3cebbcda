showPage(start, {runs: showRuns, trends: showTrends, compare: showComparisons});
