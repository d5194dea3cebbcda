package scorers

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
)

// fileKinds are the scorers that `file` applies to what a file holds.
func fileKinds() []string { return []string{"contains", "equals", "regex", "json", "jsonSchema"} }

func (t Table) ofFiles() Table {
	return slices.DeleteFunc(slices.Clone(t), func(k Kind) bool { return !slices.Contains(fileKinds(), k.Name) })
}

var absentBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Need: []string{"path", "absent"}, Keys: append(filePathKeys(), yaml.Key{
		Name: "absent", Is: yaml.Bool, Doc: "There is nothing of that name.",
	})}
})

var filePathKeys = sync.OnceValue(func() []yaml.Key {
	return []yaml.Key{{Name: "path", Is: yaml.Text, Doc: "The file, relative to the workspace."}}
})

func fileKind() Kind {
	return Kind{
		Name:    "file",
		Summary: "a file that a program left in its workspace",
		Doc: "Takes the `path` of a file in the workspace and one of `contains`, `equals`, `regex`, `json` and `jsonSchema` with " +
			"its options, or `absent: true`. Add `trim: true` to `equals`: most files end in a line break. A file that is missing, " +
			"a folder, a pipe, and a link that leads out of the workspace fail, with `not` too; such links and pipes are not kept, " +
			"so they are absent. Unscored are a file of more than 4 MiB or that is not UTF-8, and a rescore without the workspace, " +
			"which `keep: all` of the program keeps.",
		Example: "- file: {path: report.json, select: {jq: .total}, equals: \"42\"}",
		takes:   yaml.Either(absentBlock().Shape(), yaml.Ref("fileScorer")),
		compile: compileFile,
		nests:   true,
	}
}

// maxFile bounds the files that are scored, in bytes.
const maxFile = maxSelect

func compileFile(a args) AnswerScorer {
	m := a.Args.Map()
	if !a.Args.IsMapping() {
		return nil
	}
	a.needs.Workspace = a.Kind
	name := localFile(m.Need("path"))
	if m.Has("absent") {
		a.Args.Map(absentBlock().Names()...)
		if n := m.Get("absent"); n.IsBool() && !n.Bool() {
			n.Errorf("leave `absent` out, and say what the file holds", "`absent: false` says nothing of the file")
		}
		m.Get("absent").Bool()
		return Func(func(a *Answer) Finding { return absent(a, name) })
	}
	for _, key := range []string{"candidate", "turn", "partial"} {
		if m.Has(key) {
			m.Key(key).Errorf("remove it", "`%s` is about answers, and this is about a file", key)
		}
	}
	a.table = a.table.ofFiles()
	inner := a.nested(a.Args.Without("path"))
	if inner == nil {
		return nil
	}
	return Func(func(a *Answer) Finding {
		text, missing := leftFile(a, name)
		if missing != nil {
			return *missing
		}
		part := eval.Candidate{Text: text, FinishReason: "STOP"}
		one := Answer{
			Response: &eval.Response{Candidates: []eval.Candidate{part}}, Candidate: &part, Vars: a.Vars, Context: a.Context,
		}
		f := inner.Score(&one)
		f.Reason += " (of the file " + visibleText(name) + ")"
		return f
	})
}

func localFile(n yaml.Node) string {
	name := n.Str()
	if clean := path.Clean(name); !n.IsZero() && (!fs.ValidPath(clean) || clean == "." || !files.Local(clean)) {
		n.Errorf("such as result.txt", "`path` is the name of a file in the workspace, and `%s` is none", visibleText(name))
	}
	return path.Clean(name)
}

// workspace opens what a program left. The finding says why that cannot be done.
func workspace(a *Answer) (*os.Root, *Finding) {
	if a.Context == nil || a.Context.Workspace == "" {
		return nil, new(Unscored("the workspace is not there any more: `keep: all` of the program keeps it"))
	}
	root, err := os.OpenRoot(a.Context.Workspace)
	if err != nil {
		return nil, new(Unscored("the workspace cannot be read: %s", plain(err)))
	}
	return root, nil
}

// plain is an error without the paths of this machine.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// absent passes if there is nothing of a name. What is there but is no file fails, with `not` too.
func absent(a *Answer, name string) Finding {
	root, missing := workspace(a)
	if missing != nil {
		return *missing
	}
	defer root.Close() //nolint:errcheck // it was only read
	info, err := root.Lstat(name)
	switch shown := visibleText(name); {
	case isMissing(err):
		return Pass("there is no file %s", shown)
	case err != nil:
		return Uncheckable("%s in the workspace cannot be looked at: %s", shown, plain(err))
	case !info.Mode().IsRegular():
		return Uncheckable("there is %s in the workspace, which is no file", shown)
	default:
		return Fail("there is a file %s of %d bytes", shown, info.Size())
	}
}

// leftFile is the text of a file in the workspace. The finding says why there is none.
func leftFile(a *Answer, name string) (string, *Finding) {
	root, none := workspace(a)
	if none != nil {
		return "", none
	}
	defer root.Close() //nolint:errcheck // it was only read
	shown := visibleText(name)
	file, err := files.FS(root).Open(name)
	switch {
	case isMissing(err):
		return missing("the workspace has no file %s", shown)
	case err != nil:
		return missing("%s in the workspace cannot be read: %s", shown, plain(err))
	}
	defer file.Close() //nolint:errcheck // it was only read
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return missing("%s in the workspace is a folder", shown)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return unscoredText("%s in the workspace cannot be read: %s", shown, plain(err))
	case len(text) > maxFile:
		return unscoredText("the file %s has more than %d bytes", shown, maxFile)
	case eval.IsBlank(string(text)):
		return missing("the file %s has no text", shown)
	case !utf8.Valid(text):
		return unscoredText("the file %s is not UTF-8: %s", shown, quote(string(text)))
	}
	return string(text), nil
}
