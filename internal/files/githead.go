package files

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// head is the commit and branch that a folder has checked out. It is zero for a folder without a
// repository, and when the repository's files cannot be read.
type head struct {
	Commit string // in hexadecimal digits; "" before the first commit
	Branch string // "" for a commit without a branch
}

// Repository is the name of the folder, or file, that makes a folder the root of a repository.
const Repository = ".git"

// HeadOf returns the head of the nearest repository at or above a folder. It reads the files of the repository itself: git
// could start programs that the repository names (hooks, a file system monitor), and need not be installed.
func HeadOf(dir string) head {
	top := Checkout(dir)
	if top == "" {
		return head{}
	}
	at := filepath.Join(top, Repository)
	info, err := os.Stat(at)
	return readGit(at, err == nil && info.IsDir())
}

// Checkout returns the top of the git checkout that a folder is in, "" without one.
func Checkout(dir string) string {
	for at, err := filepath.Abs(dir); err == nil; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, Repository)); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	return ""
}

// readGit reads the head of a repository: a folder, or the file of a worktree or a submodule, which says where that is.
func readGit(at string, isFolder bool) head {
	if !isFolder {
		to, ok := strings.CutPrefix(firstLine(at), "gitdir: ")
		if !ok {
			return head{}
		}
		at = below(filepath.Dir(at), to)
	}
	line := firstLine(filepath.Join(at, "HEAD"))
	ref, symbolic := strings.CutPrefix(line, "ref: ")
	if !symbolic {
		return head{Commit: commit(line)}
	}
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok || !filepath.IsLocal(filepath.FromSlash(ref)) || !plain(branch) || branch == unknown {
		return head{}
	}
	return head{Commit: resolve(at, ref), Branch: branch}
}

// unknown is the branch that a repository names whose references are in files of another form.
const unknown = ".invalid"

// resolve is the commit of a reference. A worktree shares its references with the repository that has it.
func resolve(at, ref string) string {
	if to := firstLine(filepath.Join(at, "commondir")); to != "" {
		at = below(at, to)
	}
	if id := commit(firstLine(filepath.Join(at, filepath.FromSlash(ref)))); id != "" {
		return id
	}
	for line := range strings.Lines(gitText(filepath.Join(at, "packed-refs"))) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return commit(id)
		}
	}
	return ""
}

// below is a path of a file of the repository, which may be relative to a folder.
func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// maxFile bounds the files that are read, in bytes: a large repository has some hundred thousand packed references.
const maxFile = 64 << 20

func gitText(path string) string {
	data, err := ReadFile(path, maxFile)
	if err != nil { // nothing depends on it
		return ""
	}
	return string(data)
}

func firstLine(path string) string {
	line, _, _ := strings.Cut(gitText(path), "\n")
	return strings.TrimSpace(line)
}

var commitHash = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
})

func commit(id string) string {
	if commitHash().MatchString(id) {
		return id
	}
	return ""
}

// maxBranch is as long as the name of a file may be, with its folders, in bytes.
const maxBranch = 4096

func plain(branch string) bool {
	return len(branch) <= maxBranch && utf8.ValidString(branch) && !strings.ContainsFunc(branch, unicode.IsControl)
}
