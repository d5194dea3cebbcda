"""What EnricoMi/publish-unit-test-result-action counts: it reads files with junitparser, adds up what suites say, and looks at every case."""
import json
import sys

from junitparser import Error, Failure, JUnitXml, Skipped

wrong = 0
for name in sys.argv[1:]:
    want = json.load(open(name + ".json"))["summary"]["cases"]
    suites = list(JUnitXml.fromfile(name + ".xml"))
    stated = {"tests": sum(s.tests for s in suites), "failures": sum(s.failures for s in suites), "errors": sum(s.errors for s in suites), "skipped": sum(s.skipped for s in suites)}
    counted = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for case in (c for s in suites for c in s):
        result = case.result if isinstance(case.result, list) else [case.result]
        assert case.name is not None and case.classname is not None and case.time is not None
        counted["tests"] += 1
        for kind, key in ((Error, "errors"), (Failure, "failures"), (Skipped, "skipped")):
            counted[key] += any(isinstance(r, kind) for r in result)
    same = stated == want and counted == want
    print(f"  {'ok' if same else 'WRONG'} {name} EnricoMi/publish-unit-test-result-action" + ("" if same else f" {stated} {counted} {want}"))
    wrong += not same
sys.exit(1 if wrong else 0)
