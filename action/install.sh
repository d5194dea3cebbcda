#!/usr/bin/env bash
# Puts evalrun on the path: built from the sources of the action (VERSION is checkout), or from the archive of a release. An archive
# is unpacked only if its digest is CHECKSUM. source.sh has checked both.
set -euo pipefail
to="$RUNNER_TEMP/evalrun-$VERSION"
mkdir -p "$to"
if [ "$VERSION" = checkout ]; then
  (cd "$(dirname "$0")/.." && CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -o "$to/evalrun" ./cmd/evalrun)
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
  curl --fail --silent --show-error --location --retry 3 --output "$archive" "$from/$archive" || {
    echo "::error title=evalrun::cannot download $archive of $VERSION; is it a release?"
    exit 4
  }
  if command -v sha256sum > /dev/null; then got=$(sha256sum "$archive"); else got=$(shasum -a 256 "$archive"); fi
  if [ "${got%% *}" != "$CHECKSUM" ]; then
    echo "::error title=evalrun::$archive has the digest ${got%% *}, and should have $CHECKSUM; it was not installed"
    exit 4
  fi
  tar -xzf "$archive" --strip-components 1
fi
echo "$to" >> "$GITHUB_PATH"
"$to/evalrun" version
