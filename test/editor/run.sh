#!/bin/sh
# The schema of suites before yaml-language-server, as editors use it. Usage: test/editor/run.sh BINARY; needs node and npm.
set -eu
bin=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
command -v npm >/dev/null 2>&1 || { echo "make editor: npm is missing: install node" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/package.json "$here"/*.mjs "$work/"
cd "$work"
npm install --silent --no-package-lock --no-audit --no-fund
"$bin" schema >suite.schema.json
node check.mjs "$bin"
