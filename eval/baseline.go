package eval

// BaselineOption is what options say of the baseline: a NamedBaseline or NoBaseline. Nil leaves it to the suites.
type BaselineOption interface{ baseline() }

// NamedBaseline is the name of a baseline, a run, or an exported file.
type NamedBaseline string

// NoBaseline compares nothing, whatever the suites say.
type NoBaseline struct{}

func (NamedBaseline) baseline() {}
func (NoBaseline) baseline()    {}

// BaselineName is the baseline that the options name, "" for none.
func (o *GateOptions) BaselineName() string {
	name, _ := o.Baseline.(NamedBaseline)
	return string(name)
}

// NoBaseline reports whether the options leave out the comparison.
func (o *GateOptions) NoBaseline() bool {
	_, none := o.Baseline.(NoBaseline)
	return none
}

// writtenBaseline is a BaselineOption in run files.
type writtenBaseline struct {
	Name string `json:"baseline,omitempty"`
	None bool   `json:"noBaseline,omitempty"`
}

func (o *GateOptions) writtenBaseline() writtenBaseline {
	return writtenBaseline{o.BaselineName(), o.NoBaseline()}
}

// read is the baseline of a run file. None wins, as in version 0.1, which wrote both.
func (w writtenBaseline) read() BaselineOption {
	switch {
	case w.None:
		return NoBaseline{}
	case w.Name != "":
		return NamedBaseline(w.Name)
	}
	return nil
}
