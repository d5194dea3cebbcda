package wirejson

// OpenObject is a JSON object that is being written: it begins as "{".
type OpenObject []byte

// Member begins a member of the object, whose value follows.
func (o OpenObject) Member(name string) OpenObject {
	if o[len(o)-1] != '{' {
		o = append(o, ',')
	}
	return append(AppendString(o, name), ':')
}
