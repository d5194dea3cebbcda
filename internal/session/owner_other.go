//go:build !unix

package session

import "io/fs"

// owned trusts the file: this system has no owner to compare, and trusts every user who can write to the folder.
func owned(fs.FileInfo) bool { return true }

// changeable returns false, because these systems have no mode bits for it.
func changeable(fs.FileInfo) bool { return false }

func replaceable(fs.FileInfo) bool { return false }
