#!/bin/sh
# Lists the packages that one case passes through, from YAML to JUnit: those of which a statement runs.
set -eu
dir=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -cover -coverpkg=github.com/evalrun/evalrun/... -o "$dir/evalrun" ./cmd/evalrun
GOCOVERDIR=$(mktemp -d -p "$dir") "$dir/evalrun" emulate --listen 127.0.0.1:0 > "$dir/address" &
server=$!
while [ ! -s "$dir/address" ]; do sleep 0.1; done
cat > "$dir/suite.yaml" <<'S'
version: 1
name: walk
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: "hello {{.x}}"}]
cases: [{name: c, vars: {x: y}, scorers: [{contains: hello}]}]
S
mkdir "$dir/walked"
(cd "$dir" && GOCOVERDIR="$dir/walked" EVALRUN_API_KEY=k EVALRUN_BASE_URL=$(head -1 address) ./evalrun run suite.yaml -q -o junit=junit.xml --out run) > "$dir/verdict"
go tool covdata percent -i="$dir/walked" | awk '{ split($3, share, "%"); if (share[1] > 0) print $1 }'
