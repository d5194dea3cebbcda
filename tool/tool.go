// Package tool holds the nouns of function calling: what a model may call, what it called, and what came back. It
// knows no protocol.
package tool

import "encoding/json"

// Declaration is a function that a model may call.
type Declaration struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is a JSON Schema of the arguments, as the suite gives it; nil: there are none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// ChoiceMode says whether the model has to call a function.
type ChoiceMode string

// Modes of a Choice.
const (
	Auto     ChoiceMode = "auto"     // the model decides
	None     ChoiceMode = "none"     // no call
	Required ChoiceMode = "required" // at least one call
)

// Choice says whether the model has to call a function. The zero Choice leaves it to the service's default.
type Choice struct {
	Mode ChoiceMode `json:"mode,omitempty"`
	// Name is the one function that is called; "" leaves the function to the model.
	Name string `json:"name,omitempty"`
}

// Call is a function that a model, or an application, called.
type Call struct {
	// ID is the service's name for the call, which its result repeats; "" where the service gives none.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is a JSON object; nil: the call has no arguments. Anything else that the model wrote is a JSON string.
	Args json.RawMessage `json:"args,omitempty"`
}

// Result is what a call came to, as the suite answers it.
type Result struct {
	ID   string `json:"id,omitempty"` // of the call
	Name string `json:"name"`
	Text string `json:"text"`
	// Failed says that the call could not be carried out: Text says why, and the model gets it as an error.
	Failed bool `json:"failed,omitempty"`
}

// Response is the result as the model gets it. A text that is a JSON object stays one; any other is in an object, as
// `result`. The text of a failed call is its `error`.
func (r *Result) Response() json.RawMessage {
	var object map[string]json.RawMessage
	if !r.Failed && json.Unmarshal([]byte(r.Text), &object) == nil && object != nil {
		return json.RawMessage(r.Text)
	}
	key := "result"
	if r.Failed {
		key = "error"
	}
	data, err := json.Marshal(map[string]string{key: r.Text})
	if err != nil { // texts always encode
		panic(err)
	}
	return data
}
