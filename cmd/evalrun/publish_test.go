package main

import (
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// blockFile is all that a file of data may be.
var blockFile = regexp.MustCompile(`^evalrun\("([a-z]+(?:/[0-9a-f]+)?)","([A-Za-z0-9+/=]+)"\);\n$`)

// blocks writes what the files of data of a site hold to a file: blocks DIR FILE.
func blocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: blocks DIR FILE")
	}
	all, err := readBlocks(ts.MkAbs(args[0]))
	ts.Check(err)
	var out strings.Builder
	for _, text := range all {
		out.WriteString(text + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o600))
}

// readBlocks reads the files of data of a site, by their paths.
func readBlocks(site string) (map[string]string, error) {
	out := map[string]string{}
	return out, filepath.WalkDir(filepath.Join(site, "data"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".js" || entry.Name() == "program.js" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found := blockFile.FindSubmatch(data)
		if found == nil || !strings.HasSuffix(filepath.ToSlash(path), "/"+string(found[1])+".js") {
			return fmt.Errorf("%s is not a block: %.100q", path, data)
		}
		text, err := io.ReadAll(flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(string(found[2])))))
		out[path] = string(text)
		return err
	})
}
