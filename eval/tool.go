// Has the types of function calling: declarations, calls and results. They are independent of
// any protocol.

package eval

import "encoding/json"

// Declaration is a function that a model may call.
type Declaration struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments, as written in the suite; nil means no arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// ChoiceMode says whether the model must call a function.
type ChoiceMode string

// Modes of a Choice.
const (
	Auto     ChoiceMode = "auto"     // the model decides
	None     ChoiceMode = "none"     // no call
	Required ChoiceMode = "required" // at least one call
)

// Choice says whether the model must call a function. The zero Choice leaves it to the service's default.
type Choice struct {
	Mode ChoiceMode `json:"mode,omitempty"`
	// Name is the one function that the model must call; "" leaves the function to the model.
	Name string `json:"name,omitempty"`
}

// FunctionCall is a call of a function by a model or an application.
type FunctionCall struct {
	// ID is the service's id of the call, which its result repeats; "" if the service gives none.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is a JSON object; nil means no arguments. A JSON string has arguments that the model did not
	// write as an object.
	Args json.RawMessage `json:"args,omitempty"`
}

// CallResult is the result of a call, as the suite defines it.
type CallResult struct {
	ID   string `json:"id,omitempty"` // of the call
	Name string `json:"name"`
	Text string `json:"text"`
	// Failed means that the call failed. The model gets Text as an error.
	Failed bool `json:"failed,omitempty"`
}

// Response returns the result in the form that the model gets. A text that is a JSON object stays as it is.
// Other texts become the member `result` of an object, or `error` for a failed call.
func (r *CallResult) Response() json.RawMessage {
	var object map[string]json.RawMessage
	if !r.Failed && json.Unmarshal([]byte(r.Text), &object) == nil && object != nil {
		return json.RawMessage(r.Text)
	}
	key := "result"
	if r.Failed {
		key = "error"
	}
	data, err := json.Marshal(map[string]string{key: r.Text})
	if err != nil { // a map of strings always encodes
		panic(err)
	}
	return data
}
