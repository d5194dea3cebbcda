//go:build !unix

package project

import "io/fs"

// owned reports whether a file belongs to the user. Where files have no such owner, every user who can write to the
// folder counts as the owner.
func owned(fs.FileInfo) bool { return true }

// changeable reports whether others may change a file. Where files have no modes that is not known.
func changeable(fs.FileInfo) bool { return false }

// replaceable reports whether others may replace the files of a folder.
func replaceable(fs.FileInfo) bool { return false }
