#!/usr/bin/env bash
# Decides whether the program is downloaded or built: VERSION, or the version of the action (ACTION_REF), is a release when it is
# written as one. Anything else, such as a branch, a commit or a local path, is built from the sources of the action.
set -euo pipefail
version="${VERSION:-$ACTION_REF}"
if [[ "$version" =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]]; then
  build=false
elif [[ -n "$VERSION" && "$VERSION" != checkout ]]; then
  echo "::error title=evalrun::invalid version \"$VERSION\": it is a release such as v0.2.0, or checkout"
  exit 2
else
  build=true version=checkout
fi
printf 'build=%s\nversion=%s\n' "$build" "$version" >> "$GITHUB_OUTPUT"
