//go:build !linux

package files

// mark is for systems on which what a program leaves behind can be found.
func mark() string { return "" }

func endStrays(string, string) bool { return false }

// EndIn is for systems on which processes can be found by their folders.
func EndIn(string) {}

// Alone is for systems on which orphans can be adopted.
func Alone() {}

// Brand is for systems on which processes can be found by it.
func Brand(string) {}

// Foreign is for systems on which orphans can be adopted.
func Foreign() {}
