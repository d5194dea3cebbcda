package main

import (
	"bytes"
	"debug/buildinfo"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// What a release may weigh.
const (
	mostBytes         = 33 << 20 // of a program
	mostArchivedBytes = 13 << 20
	mostModules       = 60
)

// weigh refuses a program, or its archive, that is too large.
func weigh(platform string, program, archive []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if n := len(info.Deps); n > mostModules || len(program) > mostBytes || len(archive) > mostArchivedBytes {
		return fmt.Errorf(
			"%s: the program has %d bytes and %d modules, its archive %d bytes: at most %d, %d and %d; go version -m and go tool nm -size "+
				"show what it has", platform, len(program), n, len(archive), mostBytes, mostModules, mostArchivedBytes,
		)
	}
	return nil
}

//go:embed packages
var packages embed.FS

// archive is what package managers have to know of one.
type archive struct{ System, Architecture, Name, Digest string }

// writeRecipes writes a Dockerfile and a formula of Homebrew for the archives of the release.
func (r *release) writeRecipes() error {
	facts := map[string]any{
		"Version": r.version, "Number": npmVersion(r.version), "Archives": r.archives,
		"Homebrew": map[string]string{"darwin": "macos", "linux": "linux"},
	}
	for _, name := range []string{"Dockerfile", "evalrun.rb"} {
		var text bytes.Buffer
		t, err := template.ParseFS(packages, "packages/"+name)
		if err == nil {
			err = t.Execute(&text, facts)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(r.out, name), text.Bytes(), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manifest is a package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   string            `json:"repository"`
	Bin          map[string]string `json:"bin,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"` // programs are files, not entries of an archive
}

func (r *release) manifest(name, description string) manifest {
	return manifest{
		Name: name, Version: npmVersion(r.version), Description: description,
		License: "Apache-2.0", Repository: "github:evalrun/evalrun",
	}
}

// addNpm writes the package of npm with the program of a platform.
func (r *release) addNpm(system, architecture, binary string, program []byte) error {
	system = strings.Replace(system, "windows", "win32", 1)
	architecture = strings.Replace(architecture, "amd64", "x64", 1)
	m := r.manifest("@evalrun/"+system+"-"+architecture, "The program evalrun for "+system+" on "+architecture)
	m.OS, m.CPU, m.PreferUnplug = []string{system}, []string{architecture}, true
	r.npm = append(r.npm, m.Name)
	return r.writeNpm(m, archiveFile{"bin/" + binary, program, 0o755})
}

// addNpmStarter writes the package that people install. npm installs, of the others, the one of the machine.
func (r *release) addNpmStarter() error {
	m := r.manifest("evalrun", "Tests prompts: scores the answers of models and gates on their quality")
	m.Bin, m.Optional = map[string]string{"evalrun": "bin/evalrun.js"}, map[string]string{}
	for _, name := range r.npm {
		m.Optional[name] = m.Version
	}
	starter, err := packages.ReadFile("packages/evalrun.js")
	if err != nil {
		return err
	}
	return r.writeNpm(m, archiveFile{"bin/evalrun.js", starter, 0o755})
}

// writeNpm writes a package as `npm pack` does, with the licence and the README.
func (r *release) writeNpm(m manifest, file archiveFile) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files := []archiveFile{{"package.json", append(text, '\n'), 0o644}, file}
	for _, f := range r.common {
		if f.name == "LICENSE" || f.name == "README.md" {
			files = append(files, f)
		}
	}
	var packed bytes.Buffer
	if err := writeTar(&packed, "package", files, r.at); err != nil {
		return err
	}
	dir := filepath.Join(r.out, "npm")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(m.Name) + "-" + m.Version + ".tgz"
	return os.WriteFile(filepath.Join(dir, name), packed.Bytes(), 0o644)
}

var released = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$`)

// npmVersion is a version as package managers write it; a commit without a release before it is one of 0.0.0.
func npmVersion(version string) string {
	if m := released.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return "0.0.0-g" + version
}
