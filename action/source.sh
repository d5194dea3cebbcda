#!/usr/bin/env bash
# Decides whether the program is downloaded or built. VERSION, or the version of the action (ACTION_REF), is downloaded if it is a release
# and CHECKSUM has the digest of its archive: what the release says of itself proves nothing. Anything else is built from the sources of
# the action, which its commit pins.
set -euo pipefail
fail() {
  echo "::error title=evalrun::$1"
  exit 2
}
release='^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z]+([.-][0-9A-Za-z]+)*)?$'
version="${VERSION:-$ACTION_REF}"
shown=$(printf '%.80s' "$VERSION" | tr -cd '0-9A-Za-z._/+-')
if [[ -n "$VERSION" && "$VERSION" != checkout && ! "$VERSION" =~ $release ]]; then
  fail "invalid version \"$shown\": it is a release such as v0.2.0, or checkout"
elif [[ -n "$CHECKSUM" && ! "$CHECKSUM" =~ ^[0-9a-f]{64}$ ]]; then
  fail "invalid checksum: it is the SHA-256 digest of the archive, in 64 small hexadecimal digits"
elif [[ -n "$CHECKSUM" && "$version" =~ $release ]]; then
  build=false
elif [[ -n "$CHECKSUM" ]]; then
  fail "checksum is of the archive of a release: name that in version too, such as v0.2.0"
elif [[ "$VERSION" =~ $release && "$VERSION" != "$ACTION_REF" ]]; then
  fail "version $VERSION needs checksum, the SHA-256 digest of its archive (\`make dist VERSION=$VERSION\` in its sources writes it); or leave version out"
else
  build=true version=checkout
fi
printf 'build=%s\nversion=%s\n' "$build" "$version" >> "$GITHUB_OUTPUT"
