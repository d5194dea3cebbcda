//go:build unix

package session

import (
	"os/user"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A group is a user's own when it has the user's name or number and no other member.
func TestAGroupOfOneUserIsOwned(t *testing.T) {
	t.Parallel()
	const groups = "root:x:0:\nme:x:1000:\nmine:x:1001:me\nshared:x:1002:me,other\nother:x:1003:\nbroken\n"
	for gid, want := range map[string]bool{"0": false, "1000": true, "1001": false, "1002": false, "1003": false, "9999": false} {
		expect.Same(t, "the group "+gid, isPrivate(groups, gid, &user.User{Uid: "500", Username: "me"}), want)
	}
	expect.Same(t, "a number without a line", isPrivate(groups, "500", &user.User{Uid: "500", Username: "me"}), true)
	expect.Same(t, "a number with other members", isPrivate(groups, "1002", &user.User{Uid: "1002", Username: "me"}), false)
}
