#!/bin/sh
# Public client libraries against the emulator. usage: test/sdk/run.sh BINARY; needs node, npm and go, and 2 GB of memory.
set -eu
bin=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
command -v npm >/dev/null 2>&1 || { echo "make sdk: npm is missing: install node" >&2; exit 1; }
work=$(mktemp -d)
"$bin" emulate --script "$here/script.yaml" --header-prefix x-goog --alias gemini-pro=svc-pro --alias gemini-pro-vision=svc-pro-vision --alias gemini-2.0-flash=svc-pro \
  --alias text-embedding-004=embedding-001 --alias gemini-embedding-001=embedding-001 --alias gpt=svc-pro --alias embedder=embedding-001 > "$work/url" 2> "$work/log" &
emulator=$!
trap 'kill $emulator 2>/dev/null; rm -rf "$work"' EXIT
cp "$here/package.json" "$here/check.mjs" "$here/vendors.mjs" "$work/"
cd "$work"
npm install --silent --no-package-lock --no-audit --no-fund
until [ -s url ]; do sleep 0.1; done
node check.mjs "$(head -n 1 url)"
node vendors.mjs "$(head -n 1 url)"
# The vendors' Go libraries, in a module of their own. Optimized, one of their packages needs 3 GB to compile; like this 1.8 GB, and half of the time.
plain='-N -l'
CGO_ENABLED=0 go build -C "$here/go" -p 1 -trimpath -gcflags="github.com/openai/...=$plain" -gcflags="github.com/anthropics/...=$plain" \
  -gcflags="google.golang.org/genai/...=$plain" -o "$work/go/" ./openai ./anthropic ./genai
for library in openai anthropic genai; do
  "go/$library" "$(head -n 1 url)"
done
