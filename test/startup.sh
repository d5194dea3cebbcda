#!/bin/sh
# Whole-process times, side by side and as multiples of a hello world with cobra: evalrun version, and evalrun validate of a one-case suite.
# usage: test/startup.sh BINARY [ROUNDS]
set -eu
bin=$1 rounds=${2:-200}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/suite.yaml" <<'YAML'
version: 1
name: one
targets: [{name: pro, model: svc-pro}]
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{contains: hello}]}]
YAML
CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$dir/hello" ./test/hello
measure() {
  start=$(date +%s%N)
  i=0
  while [ $i -lt "$rounds" ]; do "$@" >/dev/null 2>&1; i=$((i + 1)); done
  end=$(date +%s%N)
  took=$(((end - start) / rounds / 1000))
  : "${unit:=$took}"
  echo "$took us, $((took * 100 / unit)) % of hello: $*"
}
measure "$dir/hello"
measure "$bin" version
measure "$bin" validate "$dir/suite.yaml"
measure "$dir/hello"
