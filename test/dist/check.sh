#!/bin/sh
# Proves that the archives of a commit are the same bytes in two folders, the second with an empty build cache, and that `go install` of the module as
# a proxy would serve it gives a program that knows its version. Usage: check.sh PLATFORM...
set -eu
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
for place in one two/deeper; do
  git -c advice.detachedHead=false clone -q . "$work/$place"
done
echo "building in one folder"
(cd "$work/one" && go run ./test/dist "$@" >/dev/null)
echo "building in another, from nothing"
(cd "$work/two/deeper" && GOCACHE="$work/cache" go run ./test/dist "$@" >/dev/null)
diff -r "$work/one/dist" "$work/two/deeper/dist"
(cd "$work/one/dist" && sha256sum -c SHA256SUMS)

# The module as a proxy serves it: without the nested modules, under a version of its own.
module=github.com/evalrun/evalrun version=v0.0.1
served=$work/proxy/$module/@v
mkdir -p "$served"
nested=$(git ls-files '*/go.mod' | sed 's|\(.*\)/go.mod|:(exclude)\1|')
# shellcheck disable=SC2086
git archive --format=zip --prefix="$module@$version/" -o "$served/$version.zip" HEAD -- . $nested
git show HEAD:go.mod >"$served/$version.mod"
printf '{"Version":"%s","Time":"2026-01-01T00:00:00Z"}' $version >"$served/$version.info"
echo $version >"$served/list"
(cd "$work" && GOFLAGS="-modcacherw -trimpath" GOMODCACHE="$work/mod" GOBIN="$work/bin" GONOSUMDB=$module CGO_ENABLED=0 \
  GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)" go install "$module/cmd/evalrun@latest")
said=$("$work/bin/evalrun" version)
test "$said" = "evalrun $version" || { echo "go install: the program says: $said" >&2; exit 1; }
(cd "$work" && "$work/bin/evalrun" init && "$work/bin/evalrun" run suite.yaml --emulator -q) >/dev/null
echo "the same bytes twice, and go install gives $said"
