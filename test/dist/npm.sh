#!/bin/sh
# Installs the packages of npm of this machine from a folder, without a network and without scripts, and starts the program by npx.
# Usage: npm.sh FOLDER
set -eu
from=$(realpath "$1")
command -v npm >/dev/null 2>&1 || { echo "make npm: npm is missing: install node" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
version=$(node -p '/evalrun-(\d.*)\.tgz/.exec(require("fs").readdirSync(process.argv[1]).find(f => /^evalrun-\d/.test(f)))[1]' "$from")
platform=$(node -p 'process.platform + "-" + process.arch')
echo '{"private": true}' >package.json
npm install --silent --offline --ignore-scripts --no-audit --no-fund "$from/evalrun-$platform-$version.tgz" "$from/evalrun-$version.tgz"
npx --offline evalrun version
npx --offline evalrun init >/dev/null
npx --offline evalrun run suite.yaml --emulator -q >/dev/null
code=0
npx --offline evalrun run missing.yaml >/dev/null 2>&1 || code=$?
test $code -eq 2 || { echo "npx evalrun: exit $code of a suite that is missing, and not 2" >&2; exit 1; }
rm -r "node_modules/@evalrun"
code=0
npx --offline evalrun version 2>no-platform || code=$?
grep -q "there is no package @evalrun/$platform" no-platform && test $code -eq 2 || { cat no-platform >&2; exit 1; }
