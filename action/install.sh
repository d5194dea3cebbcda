#!/usr/bin/env bash
# Puts evalrun on the path: built from the sources of the action (VERSION is checkout), or from the archive of a release. An archive
# is unpacked only if its digest is CHECKSUM, or what the release's SHA256SUMS says.
set -euo pipefail
to="$RUNNER_TEMP/evalrun-$VERSION"
mkdir -p "$to"
if [ "$VERSION" = checkout ]; then
  (cd "$(dirname "$0")/.." && CGO_ENABLED=0 go build -trimpath -o "$to/evalrun" ./cmd/evalrun)
else
  system=$(uname -s | tr '[:upper:]' '[:lower:]')
  case "$system" in linux | darwin) ;; *)
    echo "::error title=evalrun::this action runs on Linux and macOS, not on $system"
    exit 2 ;;
  esac
  machine=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
  archive="evalrun-$system-$machine.tar.gz"
  from="${EVALRUN_RELEASES:-https://github.com/evalrun/evalrun/releases/download}/$VERSION"
  cd "$to"
  for file in "$archive" SHA256SUMS; do
    curl --fail --silent --show-error --location --retry 3 --output "$file" "$from/$file" || {
      echo "::error title=evalrun::cannot download $file of $VERSION; is it a release?"
      exit 4
    }
  done
  sum=${CHECKSUM:-$(awk -v file="$archive" '$2 == file { print $1 }' SHA256SUMS)}
  if command -v sha256sum > /dev/null; then got=$(sha256sum "$archive"); else got=$(shasum -a 256 "$archive"); fi
  if [ -z "$sum" ] || [ "${got%% *}" != "$sum" ]; then
    echo "::error title=evalrun::$archive has the digest ${got%% *}, and should have ${sum:-one in SHA256SUMS}; it was not installed"
    exit 4
  fi
  tar -xzf "$archive" --strip-components 1
fi
echo "$to" >> "$GITHUB_PATH"
"$to/evalrun" version
