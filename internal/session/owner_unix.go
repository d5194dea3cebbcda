//go:build unix

package session

import (
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Mode bits that let other users write.
const (
	groupWrites = 0o020
	allWrite    = 0o002
)

const groupsFile = "/etc/group"

func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}

// changeable reports whether other users may change a file.
func changeable(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	return !ok || mode&allWrite != 0 || mode&groupWrites != 0 && !isOwnGroup(stat.Gid)
}

// replaceable reports whether others may replace files of a folder: it is another user's, or others may write and it is not sticky.
func replaceable(folder fs.FileInfo) bool {
	stat, ok := folder.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid != 0 && !owned(folder) {
		return true
	}
	return folder.Mode()&fs.ModeSticky == 0 && changeable(folder)
}

// isOwnGroup reports whether the user is the only member of a group, which many systems make for each user.
func isOwnGroup(gid uint32) bool {
	me, err := user.Current()
	if err != nil {
		return false
	}
	id := strconv.FormatUint(uint64(gid), 10)
	groups, _ := os.ReadFile(groupsFile) // if the file cannot be read, the name of the group decides
	return isPrivate(string(groups), id, me)
}

// isPrivate reports whether a group has the id or name of a user and no other member.
func isPrivate(groups, gid string, of *user.User) bool {
	private := gid == of.Uid
	for line := range strings.Lines(groups) {
		fields := strings.Split(strings.TrimSpace(line), ":") // name:password:id:members
		if len(fields) < 4 || fields[2] != gid {
			continue
		}
		others := func(member string) bool { return member != "" && member != of.Username }
		if slices.ContainsFunc(strings.Split(fields[3], ","), others) {
			return false
		}
		private = private || fields[0] == of.Username
	}
	return private
}
