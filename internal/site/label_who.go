package site

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
	"time"
)

// userName is the default for --as: the name that git writes into commits, or else the name of the account.
func userName(dir string, getenv func(string) string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "-C", dir, "config", "--get", "user.name") //nolint:gosec // -C takes the folder as its value
	out, _ := git.Output()                                                            // without git, the account's name is used
	return cmp.Or(strings.TrimSpace(string(out)), strings.TrimSpace(getenv("USER")), strings.TrimSpace(getenv("USERNAME")))
}
