package scorers

// Bounds that TestLimitsAreWhatTheFileSays puts into the documentation.
const (
	MaxEdit       = maxEdit
	MaxReferences = maxReferences
	MaxCompared   = maxCompared
	MaxFields     = maxFields
	MaxProgram    = maxProgram
	MaxRegexWork  = maxRegexWork
	MaxNesting    = maxNesting
	MaxItems      = maxItems
	MinSteps      = minSteps
	MaxSteps      = maxSteps
	MaxCallSteps  = maxCallSteps
)

// Cosine is for tests of its figures.
func Cosine(a, b []float64) (float64, bool) { return cosine(a, b) }
