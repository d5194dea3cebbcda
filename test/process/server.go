package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// A question has the number of its case, and the answer has it too. The prompts of suites have variables instead of verbs.
const (
	question = "What is the capital of country %d? Answer in one sentence."
	capital  = "Paris %d."
)

// Replies, in each protocol, are of 8 words.
const (
	generated = `{"candidates":[{"content":{"role":"model","parts":[{"text":"%s"}]},` +
		`"finishReason":"STOP","index":0,"safetyRatings":[` +
		`{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"},` +
		`{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"NEGLIGIBLE"}]}],` +
		`"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":7,"totalTokenCount":19}}`
	completed = `{"id":"c","object":"chat.completion","model":"svc-pro","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19}}`
	responded = `{"id":"r","object":"response","status":"completed","model":"svc-pro",` +
		`"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"%s"}]}],` +
		`"usage":{"input_tokens":12,"output_tokens":7,"total_tokens":19}}`
	messaged = `{"id":"m","type":"message","role":"assistant","model":"svc-pro","content":[{"type":"text","text":"%s"}],` +
		`"stop_reason":"end_turn","usage":{"input_tokens":12,"output_tokens":7}}`
	chatted = `{"answer":"%s","finish":"STOP"}`
	counted = `{"totalTokens":12}`
	model   = `{"name":"models/svc-pro","id":"svc-pro","object":"model","inputTokenLimit":30720,"outputTokenLimit":2048,` +
		`"supportedGenerationMethods":["generateContent","countTokens"]}`
)

// serve answers every request after a delay, and prints its address.
func serve(args []string) error {
	set := flag.NewFlagSet("serve", flag.ContinueOnError)
	delay := set.Duration("delay", 0, "before each answer")
	if err := set.Parse(args); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return http.Serve(listener, answer(*delay, &flight{})) //nolint:gosec // it is a benchmark's, on this machine
}

// replyTo answers the question in a body, in the protocol that a path belongs to.
func replyTo(path string, body []byte) string {
	_, n, _ := bytes.Cut(body, []byte("of country "))
	n, _, _ = bytes.Cut(n, []byte("?"))
	text := "The capital of country " + string(n) + " is Paris " + string(n) + "."
	form := generated
	switch {
	case strings.HasSuffix(path, ":countTokens"):
		return counted
	case strings.HasSuffix(path, "/chat/completions"):
		form = completed
	case strings.HasSuffix(path, "/responses"):
		form = responded
	case strings.HasSuffix(path, "/messages"):
		form = messaged
	case strings.HasSuffix(path, "/chat"):
		form = chatted
	}
	return strings.Replace(form, "%s", text, 1)
}

// answer replies to every call after a delay. It keeps account of the calls in flight, which openPath tells.
func answer(delay time.Duration, calls *flight) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == openPath:
			highest, mean := calls.account()
			fmt.Fprintln(w, highest, mean)
			return
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, model)
			return
		}
		calls.change(1, time.Now())
		body, _ := io.ReadAll(r.Body)
		time.Sleep(delay)
		calls.change(-1, time.Now())
		if bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "text/event-stream")
			pace, _ := time.ParseDuration(r.Header.Get(paceHeader)) // none is no pause
			for _, one := range events(r.URL.Path) {
				_, _ = io.WriteString(w, one+"\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(pace)
			}
			return
		}
		_, _ = io.WriteString(w, replyTo(r.URL.Path, body))
	}
}
