#!/usr/bin/env bash
# Shows the run in the pull request, or as an issue. COMMENT is true (where the job is about a pull request), always or issue.
set -euo pipefail
links=(--link "job=$JOB")
if [ -n "$HTML" ]; then links=(--link "HTML report=$HTML" "${links[@]}"); fi
case "$COMMENT" in
  issue) evalrun comment "$FOLDER/run" --issue "${links[@]}" ;;
  always) evalrun comment "$FOLDER/run" "${links[@]}" ;;
  true)
    if [[ "$GITHUB_REF" == refs/pull/* ]]; then evalrun comment "$FOLDER/run" "${links[@]}"; fi ;;
  *)
    echo "::error title=evalrun::invalid comment \"$COMMENT\": it is true, issue or false"
    exit 2 ;;
esac
