#!/bin/sh
# Whole-process times: true, evalrun version, and evalrun validate of a one-case suite, side by side.
# usage: test/startup.sh BINARY [ROUNDS]
bin=$1 rounds=${2:-200}
suite=$(mktemp)
trap 'rm -f "$suite"' EXIT
cat > "$suite" <<'YAML'
version: 1
name: one
targets: [{name: pro, model: svc-pro}]
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{contains: hello}]}]
YAML
measure() {
  start=$(date +%s%N)
  i=0
  while [ $i -lt "$rounds" ]; do "$@" >/dev/null 2>&1; i=$((i + 1)); done
  end=$(date +%s%N)
  echo "$(((end - start) / rounds / 1000)) us  $*"
}
measure true | sed 's/true/true (a shell built-in costs less: this is the loop)/'
measure /bin/true
measure "$bin" version
measure "$bin" validate "$suite"
