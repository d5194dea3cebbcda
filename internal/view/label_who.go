package view

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
	"time"
)

// userName is who labels when that is not said: the name that git writes into commits, else that of the account.
func userName(dir string, getenv func(string) string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "-C", dir, "config", "--get", "user.name") //nolint:gosec // the folder is no option
	out, _ := git.Output()                                                            // without git there is the account
	return cmp.Or(strings.TrimSpace(string(out)), strings.TrimSpace(getenv("USER")), strings.TrimSpace(getenv("USERNAME")))
}
