#!/usr/bin/env bash
# Runs the suites, and leaves what later steps publish in a folder: the run, report.md, report.html, report.csv and junit.xml. The exit
# code of evalrun is an output, so that the job ends with it after everything is published. A run that waits for its batches is kept for
# the next job, which resumes it; with COLLECT, a job does nothing else.
set -euo pipefail
if [[ ! "$NAME" =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]]; then
  echo "::error title=evalrun::invalid name: letters, digits, \".\", \"_\" and \"-\" are allowed"
  exit 2
fi
folder="$RUNNER_TEMP/$NAME"
read -r -a suites <<< "$SUITE"
args=()
while IFS= read -r -d '' word; do args+=("$word"); done < <(xargs printf '%s\0' <<< "$ARGS")
if [ -z "$ARGS" ]; then args=(); fi

# foreign reports whether an event is about the head of another repository. A deleted fork has no name, and the head of a pull request
# that was commented on is not known.
foreign() {
  [[ -n "$PULL_REQUEST" && "$PULL_REQUEST_REPOSITORY" != "$REPOSITORY" ]] ||
    [[ -n "$WORKFLOW_RUN" && "$WORKFLOW_RUN_REPOSITORY" != "$REPOSITORY" ]] || [[ -n "$COMMENTED_PULL_REQUEST" ]]
}

comment=true
waiting=".evalrun/waiting/$NAME"
if foreign; then # somebody else's suite: it may not name the service, read the environment or start programs
  args+=(--untrusted)
  if [ -n "$ANSWERS" ]; then args+=(--replay "$ANSWERS"); fi
  comment=false # the token of a fork may not write
  waiting=""    # nor may its run become one that a later job trusts
elif [ "$EVENT" = pull_request ]; then
  args+=(--cache)
fi

rm -rf "$folder"
mkdir -p "$folder"
reports=(-o table -o "markdown=$folder/report.md" -o "html=$folder/report.html" -o "junit-gate=$folder/junit.xml"
  -o "csv=$folder/report.csv")
code=0
if [[ -n "$waiting" && -f "$waiting/run.jsonl" ]]; then # of an earlier job of this branch, and so with another signature
  mv "$waiting" "$folder/run"
  evalrun resume "$folder/run" --trust "${reports[@]}" || code=$?
  if [ "$code" = 4 ]; then # what batches left unanswered is sent again
    code=0
    evalrun resume "$folder/run" --trust "${reports[@]}" || code=$?
  fi
elif [ "$COLLECT" = true ]; then
  echo "no run waits"
  exit 0
else
  evalrun run "${suites[@]}" --out "$folder/run" ${args[@]+"${args[@]}"} "${reports[@]}" || code=$?
fi
if [[ -n "$waiting" && "$code" = 5 ]]; then
  mkdir -p .evalrun/waiting
  cp -R "$folder/run" "$waiting"
fi
if [ -f "$folder/run/run.jsonl" ]; then
  evalrun report "$folder/run" -o github
else
  comment=false
fi
if [ -f "$folder/report.md" ]; then cat "$folder/report.md" >> "$GITHUB_STEP_SUMMARY"; fi
printf 'exit=%s\nfolder=%s\ncomment=%s\n' "$code" "$folder" "$comment" >> "$GITHUB_OUTPUT"
