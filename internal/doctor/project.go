package doctor

// ofProject returns the value of a setting in the project file.
func (d *Doctor) ofProject(setting string) string {
	if d.Flags.ProjectFile == nil {
		return ""
	}
	o := &d.Flags.ProjectFile.Defaults
	return map[string]string{
		"baseUrl": o.BaseURL, "apiVersion": o.APIVersion, "headerPrefix": o.HeaderPrefix, "auth": o.Auth,
		"project":       o.Project,
		"authScopeBase": o.ScopeBase,
	}[setting]
}
