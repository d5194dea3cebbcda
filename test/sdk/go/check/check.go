// Package check counts the checks of a client library, says which failed, and has what the checks of all libraries
// send and expect.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

const (
	// Text is echoed by the emulator.
	Text = "one two three four five six seven eight nine"
	// Orders is the question that test/sdk/script.yaml answers with a thought and calls of Tool for A17 and B2.
	Orders = "where are my orders?"
	// Tool is the name of the function that is called.
	Tool = "get_order"
	// Answer comes after the results of these calls.
	Answer = "The first one is shipped."
	// Flaky is answered with status 429.
	Flaky = "flaky"
	// Broken is a question whose stream is cut.
	Broken = "broken"
	// Pixel is a PNG of one pixel, in base64.
	Pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

var passed, failed int

// URL is the emulator's base URL, the program's argument.
func URL() string {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: PROGRAM BASE_URL")
		os.Exit(2)
	}
	return os.Args[1]
}

// Run makes one check. One that panics has failed.
func Run(name string, run func() error) {
	if err := guarded(run); err != nil {
		failed++
		fmt.Fprintf(os.Stderr, "FAIL %s: %v\n", name, err)
		return
	}
	passed++
}

func guarded(run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return run()
}

// Done prints how many checks of the library passed, and ends the program: with exit code 1 when one failed.
func Done(library string) {
	fmt.Printf("%d checks of %s passed\n", passed, library)
	if failed > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

// Equal is an error that has both values when they differ.
func Equal(got, want any) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("got %#v, want %#v", got, want)
}

// True is an error with the text when what was wanted does not hold.
func True(ok bool, wanted string) error {
	if ok {
		return nil
	}
	return errors.New("not so: " + wanted)
}

// BreaksOff is an error unless the library says that a stream ended within a piece: one of HTTP, or one of JSON.
func BreaksOff(err error) error {
	if err != nil && (strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "unexpected end of JSON")) {
		return nil
	}
	return fmt.Errorf("got %v, want an unexpected end", err)
}

// Typed is an answer whose fields all have the library's types, or an error.
func Typed[T any](answer T, err error) (T, error) {
	if err != nil {
		return answer, err
	}
	return answer, Fields(answer)
}

// Schema is that of the arguments of Tool.
func Schema() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}, "required": []string{"id"}}
}

// Result is what Tool returns for the order with this id.
func Result(id string) map[string]any {
	if id == "A17" {
		return map[string]any{"status": "shipped"}
	}
	return map[string]any{"status": "lost"}
}

// ResultOf is the same as JSON, for arguments that are JSON.
func ResultOf(arguments string) string {
	data, err := json.Marshal(Result(ID(arguments)))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// ID is the order's id in arguments that are JSON.
func ID(arguments string) string {
	var parsed struct{ ID string }
	if err := json.Unmarshal([]byte(arguments), &parsed); err != nil {
		return err.Error()
	}
	return parsed.ID
}

// IDs are those of the calls that the emulator answers Orders with.
func IDs() []string { return []string{"A17", "B2"} }
