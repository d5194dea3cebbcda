"""Runs a command line as promptfoo's exec provider does.

The prompt, the options and the context come after the arguments of the command, the last two as JSON. What the command writes to
standard output is the answer.
"""

import contextlib
import json
import os
import re
import subprocess
import sys

if os.name == "posix":
    os.set_blocking(0, True)  # the pipe may have nothing yet
given = json.load(sys.stdin)
if os.path.exists("shims/typed.json"):  # numbers and booleans are texts in a suite
    with open("shims/typed.json", encoding="utf-8") as names:
        for name in json.load(names):
            with contextlib.suppress(KeyError, TypeError, ValueError):  # a spelling that is not one of JSON stays a text
                given["vars"][name] = json.loads(given["vars"][name])
command = [  # ${env:NAME} is a secret that the import did not copy
    re.sub(r"\$\{env:(\w+)\}", lambda found: os.environ.get(found[1]) or sys.exit(f"set {found[1]}"), word)
    for word in sys.argv[sys.argv.index("--") + 1 :]
]
context = {"vars": given.get("vars") or {}}
run = subprocess.run([*command, given["prompt"], json.dumps({"config": {}}), json.dumps(context)], capture_output=True, text=True)
sys.stderr.write(run.stderr)
if run.returncode != 0:
    sys.exit(run.returncode)
json.dump({"text": run.stdout.strip()}, sys.stdout)
