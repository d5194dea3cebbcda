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

# The views of the page, as a browser shows them.
browser=$(command -v chromium-headless-shell || command -v chromium || command -v google-chrome) || { echo "no chromium: the pictures of the page are left as they are" >&2; exit 1; }
shoot() { # NAME ADDRESS [WIDTH HEIGHT]
  "$browser" --headless --no-sandbox --hide-scrollbars --timeout=20000 --virtual-time-budget=20000 --window-size="${3:-1440},${4:-900}" --screenshot="$root/docs/pictures/$1.png" "$2" 2>/dev/null
  echo "docs/pictures/$1.png"
}
view() { # NAME RUN VIEW
  "$bin" report ".evalrun/runs/$2" -o html="$work/$2.html" >/dev/null 2>&1 || true # with the exit code of the run
  shoot "$1" "file://$work/$2.html$3"
}
cp -R "$root/test/pictures/tickets" "$work/tickets"
cd "$work/tickets"
run() { "$bin" run "$1.yaml" --emulator=emulator.yaml -q --out ".evalrun/runs/$2" >/dev/null 2>&1 || true; }
run base base
for suite in few head arms; do sed -i 's|run: base|run: .evalrun/runs/base|' $suite.yaml; run $suite $suite; done
"$bin" run arms.yaml --emulator=emulator.yaml -q --budget-tokens 4000 --out .evalrun/runs/spent >/dev/null 2>&1 || true
view report head ""
view cannot-tell few ""
view arms arms ""
view incomplete spent ""
view matrix arms "#/matrix"
view comparison head "#/comparison"
view case head "#/case/ticket-routing/ticket-01"
view side arms "#/side/ticket-routing/ticket-01?a=pro%2Fname&b=pro%2Fkind"
"$bin" view --no-open >address 2>/dev/null &
viewer=$!
until [ -s address ]; do sleep 1; done
shoot runs "$(head -n 1 address)"
shoot runs-small "$(head -n 1 address)" 390 844
kill "$viewer"
