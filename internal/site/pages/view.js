showPage(showRun, {runs: showRuns, trends: showTrends, compare: showCompare, labels: showLabelFiles});
