package files

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestFilesAreReadUpToALimit(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	expect.OK(t, os.WriteFile(name, []byte("12345"), 0o600))
	for limit, ok := range map[int64]bool{0: false, 4: false, 5: true, 6: true, 1 << 40: true} {
		for how, read := range map[string]func(string, int64) ([]byte, error){"file": ReadFile, "input": ReadInput} {
			data, err := read(name, limit)
			if ok && (err != nil || string(data) != "12345") {
				t.Errorf("%s with the limit %d: got %q, %v, want 12345", how, limit, data, err)
			}
			if !ok && (!errors.Is(err, ErrTooLarge) || data != nil || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s with the limit %d: got %q, %v, want an error that names the file", how, limit, data, err)
			}
		}
	}
	empty := filepath.Join(t.TempDir(), "empty")
	expect.OK(t, os.WriteFile(empty, nil, 0o600))
	if data, err := ReadFile(empty, 0); err != nil || len(data) != 0 {
		t.Errorf("an empty file: got %q, %v, want nothing", data, err)
	}
}

func TestErrorsSayWhatIsThereInstead(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "r") // the paths of sockets are short
	expect.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if _, err := Open(dir); !errors.Is(err, ErrNotFile) || !strings.Contains(err.Error(), "but a folder") {
		t.Errorf("a folder: %v, want a folder among %v", err, ErrNotFile)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v, want %v", err, fs.ErrNotExist)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if _, err := Open(os.DevNull); !errors.Is(err, ErrNotFile) || !strings.Contains(err.Error(), "but a device") {
		t.Errorf("a device: %v, want a device among %v", err, ErrNotFile)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	expect.OK(t, err)
	defer socket.Close()
	if _, err := Open(filepath.Join(dir, "s")); err == nil {
		t.Error("a socket was opened, want an error")
	}
}

// The file system is one like others: it lists, finds and reads what is in the folder.
func TestTheFileSystemListsFindsAndReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "a", "sub/b.yaml": "b", "sub/deep/c.txt": "", "größe 日本.csv": "x"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	root, err := os.OpenRoot(dir)
	expect.OK(t, err)
	defer root.Close()
	if err := fstest.TestFS(FS(root), "a.yaml", "sub/b.yaml", "sub/deep/c.txt", "größe 日本.csv"); err != nil {
		t.Error(err)
	}
}
