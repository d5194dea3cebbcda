//go:build ignore

// An agent under test: reads {"prompt": ...} on standard input, writes {"text": ..., "toolCalls": [...]}.
package main

import (
	"encoding/json"
	"os"
	"regexp"
)

var orders = map[string]string{"A17": "shipped", "B42": "delayed"}

func main() {
	var in struct{ Prompt string }
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		panic(err)
	}
	out := map[string]any{"text": "Which order do you mean?"}
	if id := regexp.MustCompile(`[A-Z][0-9]+`).FindString(in.Prompt); id != "" {
		out["text"] = "I know no order " + id + "."
		if status, known := orders[id]; known {
			out["text"] = "Order " + id + " is " + status + "."
		}
		out["toolCalls"] = []any{map[string]any{"name": "get_order", "args": map[string]string{"id": id}}}
	}
	json.NewEncoder(os.Stdout).Encode(out)
}
