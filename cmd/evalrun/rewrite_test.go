package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// rewrite replaces a pattern in the lines of a run file, as another version of evalrun would have written them, with their checksums:
// rewrite FILE PATTERN REPLACEMENT.
func rewrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: rewrite FILE PATTERN REPLACEMENT")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	var out strings.Builder
	changed := false
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		body, _, _ := strings.Cut(line, `,"crc":`)
		after := pattern.ReplaceAllString(body, args[2])
		changed = changed || after != body
		fmt.Fprintf(&out, "%s,\"crc\":\"%08x\"}\n", after, crc32.Checksum([]byte(after), crc32.MakeTable(crc32.Castagnoli)))
	}
	if !changed {
		ts.Fatalf("%s has nothing like %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o600))
}
