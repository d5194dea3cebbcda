//go:build !unix

package session

import "io/fs"

// owned cannot find the owner of a file on this system. It trusts the file, as the system trusts every user
// who can write to the folder.
func owned(fs.FileInfo) bool { return true }

// changeable returns false, because these systems have no mode bits for it.
func changeable(fs.FileInfo) bool { return false }

// replaceable returns false for the same reason.
func replaceable(fs.FileInfo) bool { return false }
