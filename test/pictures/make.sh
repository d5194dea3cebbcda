#!/bin/sh
# Makes the pictures in docs/pictures from a run of the demo. Usage: make.sh BINARY
set -eu
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$root/docs/pictures"
cp -R "$root/examples/suites/." "$work"
cd "$work"
mkdir bin && ln -s "$bin" bin/evalrun
cat >session.sh <<'END'
stty cols 96
shows() { printf '\033[2m$\033[0m \033[1m%s\033[0m\n' "$*"; "$@" 2>/dev/null || true; printf '\n'; }
shows evalrun run capitals.yaml --emulator --out capitals
shows evalrun run fails-on-purpose.yaml --emulator --out fails
END
env -u NO_COLOR PATH="$work/bin:$PATH" TERM=xterm-256color script -qec 'sh session.sh' /dev/null </dev/null >transcript
(cd "$root" && go run ./test/pictures -title "A terminal: evalrun runs a suite that holds its gate, and one that fails on purpose" <"$work/transcript") >terminal.svg
mv terminal.svg "$root/docs/pictures/terminal.svg"
echo "docs/pictures/terminal.svg"

# The page of runs, as a browser shows it: a verdict, and a matrix of prompts.
browser=$(command -v chromium-headless-shell || command -v chromium || command -v google-chrome) || { echo "no chromium: the pictures of the page are left as they are" >&2; exit 1; }
shoot() { # NAME RUN VIEW
  "$bin" report "$2" -o html="$work/$1.html" >/dev/null 2>&1 || true # with the exit code of the run
  "$browser" --headless --no-sandbox --hide-scrollbars --timeout=20000 --virtual-time-budget=20000 --window-size=1440,900 --screenshot="$root/docs/pictures/$1.png" "file://$work/$1.html$3" 2>/dev/null
  echo "docs/pictures/$1.png"
}
"$bin" run race.yaml --emulator -q --out race
shoot report fails ""
shoot matrix race "#/matrix"
