// Command prose measures the words of the repository: how long its sentences are, and how often they have a word that
// CONTRIBUTING.md lists as one to avoid. It reads the README and the pages, and the texts, comments and names of the code.
//
// With -ceilings it fails when a figure is above the one in that file.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	ceilings := flag.String("ceilings", "", "file with the most long sentences and listed words that each source may have")
	show := flag.String("show", "", "print what is long or has listed words in a source: docs, decisions, messages, comments or names")
	flag.Parse()
	if err := run(os.Stdout, *root, *ceilings, *show); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root, ceilings, show string) error {
	found, err := measure(root)
	if err != nil {
		return err
	}
	if show != "" {
		return list(w, found[show])
	}
	if err := table(w, found); err != nil || ceilings == "" {
		return err
	}
	text, err := os.ReadFile(ceilings)
	if err != nil {
		return err
	}
	most := map[string]figures{}
	if err := json.Unmarshal(text, &most); err != nil {
		return fmt.Errorf("%s: %w", ceilings, err)
	}
	return compare(found, most)
}

// sources are what is measured, in the order of the table.
var sources = []string{"docs", "decisions", "messages", "comments", "names"}

// figures are the numbers of a source that have a ceiling.
type figures struct {
	Long   int `json:"long"`   // sentences of more than 30 words
	Listed int `json:"listed"` // words of the list
}

func figuresOf(sentences []proseSentence) figures {
	var f figures
	for _, s := range sentences {
		if s.words > longest {
			f.Long++
		}
		f.Listed += len(s.listed)
	}
	return f
}

// longest is how many words a sentence may have, and most is what most of them should stay below.
const longest, most = 30, 25

func measure(root string) (map[string][]proseSentence, error) {
	out := map[string][]proseSentence{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "node_modules" || path != root && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return add(out, path, filepath.ToSlash(rel))
	})
	return out, err
}

// add puts the sentences of a file below the names of its sources.
func add(out map[string][]proseSentence, path, rel string) error {
	read := func(source string, sentencesOf func(rel string, text []byte) []proseSentence) error {
		text, err := os.ReadFile(path)
		out[source] = append(out[source], sentencesOf(rel, text)...)
		return err
	}
	switch {
	case strings.HasPrefix(rel, "docs/adr/"):
		return read("decisions", markdown)
	case rel == "README.md", rel == "CONTRIBUTING.md", strings.HasPrefix(rel, "docs/") && strings.HasSuffix(rel, ".md"):
		return read("docs", markdown)
	case strings.HasSuffix(rel, ".go"):
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		messages, comments, err := code(rel, text)
		out["messages"], out["comments"] = append(out["messages"], messages...), append(out["comments"], comments...)
		if err != nil {
			return err
		}
		declared, err := names(rel, text)
		out["names"] = append(out["names"], declared...)
		return err
	}
	return nil
}

func table(w io.Writer, found map[string][]proseSentence) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "source\twords\tsentences\twords per sentence\tover %d\tover %d\tlisted words\t\n", most, longest)
	for _, source := range sources {
		words, over := 0, 0
		for _, s := range found[source] {
			words += s.words
			if s.words > most {
				over++
			}
		}
		n, f := len(found[source]), figuresOf(found[source])
		fmt.Fprintf(tw, "%s\t%d\t%d\t%.1f\t%d\t%d\t%d\t\n", source, words, n, float64(words)/float64(max(n, 1)), over, f.Long, f.Listed)
	}
	return tw.Flush()
}

func list(w io.Writer, sentences []proseSentence) error {
	for _, s := range sentences {
		if s.words <= longest && len(s.listed) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s:%d: %d words %q: %s\n", s.file, s.line, s.words, s.listed, s.text); err != nil {
			return err
		}
	}
	return nil
}

// compare holds figures against their ceilings. A source without one may have any.
func compare(found map[string][]proseSentence, most map[string]figures) error {
	var out []error
	for _, source := range slices.Sorted(maps.Keys(most)) {
		got, want := figuresOf(found[source]), most[source]
		if got.Long > want.Long {
			out = append(out, fmt.Errorf("%s: %d sentences have more than %d words, and %d may", source, got.Long, longest, want.Long))
		}
		if got.Listed > want.Listed {
			out = append(out, fmt.Errorf("%s: %d words of the list, and %d may be there", source, got.Listed, want.Listed))
		}
	}
	if len(out) > 0 {
		out = append(out, errors.New("`go run ./test/prose -show SOURCE` prints them"))
	}
	return errors.Join(out...)
}
