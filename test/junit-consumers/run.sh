#!/bin/sh
# JUnit files before those who read them: each must count what summary.cases says. usage: test/junit-consumers/run.sh BINARY; needs node, npm and
# Python with junitparser (Debian's python3-junitparser; PYTHON names another interpreter).
set -eu
bin=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
python=${PYTHON:-/usr/bin/python3}
command -v npm >/dev/null 2>&1 || { echo "make consumers: npm is missing: install node" >&2; exit 1; }
"$python" -c 'import junitparser' 2>/dev/null || { echo "make consumers: $python has no junitparser: install python3-junitparser, or set PYTHON" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/package.json "$here"/*.mjs "$here"/check.py "$work/"
hostile=$here/../../internal/testing/hostile/hostile.json
cd "$work"
npm install --silent --no-package-lock --no-audit --no-fund
node make.mjs "$hostile"

# run NAME EXIT ARGUMENTS...: a run whose reports are NAME.xml and NAME.json.
run() {
  name=$1 want=$2
  shift 2
  code=0
  "$bin" run "$@" --out "run-$name" -q -o table=/dev/null -o "junit=$name.xml" -o "json=$name.json" >"$name.log" 2>&1 || code=$?
  test $code -eq "$want" || { echo "$name: exit $code" >&2; cat "$name.log" >&2; exit 1; }
}
run mixed 1 mixed.yaml --emulator=mixed-script.yaml --attempts 1
run cut 4 passes.yaml skips.yaml --emulator --budget-calls 1 --concurrency 1
run skips 0 skips.yaml --emulator
run passes 0 passes.yaml --emulator
run gate 1 gate.yaml --emulator
run empty 0 passes.yaml --emulator --case nothing --allow-empty
run hostile 1 hostile.yaml --answers answers.jsonl
node check.mjs mixed cut skips passes gate empty hostile
"$python" check.py mixed cut skips passes gate empty hostile
