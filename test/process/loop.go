package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

type textPart struct {
	Text string `json:"text"`
}

type chatContent struct {
	Role  string     `json:"role"`
	Parts []textPart `json:"parts"`
}

type sentContents struct {
	Contents         []chatContent  `json:"contents"`
	GenerationConfig map[string]any `json:"generationConfig"`
}

type sentMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type sentChat struct {
	Model       string        `json:"model"`
	Messages    []sentMessage `json:"messages"`
	Temperature int           `json:"temperature"`
	MaxTokens   int           `json:"max_tokens"`
}

// response is a reply by generateContent, or, with choices, by chat completions.
type response struct {
	Choices []struct {
		Message      sentMessage `json:"message"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Candidates []struct {
		Content       chatContent `json:"content"`
		FinishReason  string      `json:"finishReason"`
		SafetyRatings []struct {
			Category    string `json:"category"`
			Probability string `json:"probability"`
		} `json:"safetyRatings"`
	} `json:"candidates"`
	UsageMetadata struct {
		PromptTokenCount, CandidatesTokenCount, TotalTokenCount int
	} `json:"usageMetadata"`
}

// handWritten is what a person would write by hand: it sends requests, decodes the answers and checks them as the suites
// do. With a file it is the limit: it also decodes all of a reply and writes a line for each trial.
type handWritten struct {
	client  *http.Client
	url     string
	chat    bool // by chat completions
	own     bool // each case expects a value of its own
	lines   int  // of text before the question
	journal *lineFile
}

func loop(args []string) (err error) {
	var l handWritten
	set := flag.NewFlagSet("loop", flag.ContinueOnError)
	set.StringVar(&l.url, "url", "", "the server")
	set.BoolVar(&l.chat, "chat", false, "ask by chat completions")
	set.BoolVar(&l.own, "own", false, "each case expects a value of its own")
	set.IntVar(&l.lines, "lines", 0, "how many lines of text come before a question")
	trials := set.Int("trials", 1, "how many requests")
	workers := set.Int("j", 1, "how many at once")
	file := set.String("journal", "", "a file for a line for each trial")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *file != "" {
		if l.journal, err = newLineFile(*file); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.journal.close()) }()
	}
	l.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *workers}}
	passed, err := l.run(int64(*trials), *workers)
	if err != nil {
		return err
	}
	var used runtime.MemStats
	runtime.ReadMemStats(&used)
	fmt.Println(used.Mallocs)
	if passed != int64(*trials) {
		return fmt.Errorf("%d of %d passed", passed, *trials)
	}
	return nil
}

// run sends requests, so many at once, and counts the answers that pass.
func (l *handWritten) run(trials int64, workers int) (int64, error) {
	var next, passed atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, workers)
	for range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < trials; i = next.Add(1) - 1 {
				right, err := l.ask(i)
				if err != nil {
					failed <- err
					return
				}
				if right {
					passed.Add(1)
				}
			}
		})
	}
	group.Wait()
	close(failed)
	return passed.Load(), <-failed
}

// request is the path and the body of a call.
func (l *handWritten) request(i int64) (string, any) {
	text := passage(i, l.lines) + fmt.Sprintf(question, i)
	if l.chat {
		return "/chat/completions", sentChat{"svc-pro", []sentMessage{{"user", text}}, 0, 64}
	}
	return "/v1/models/svc-pro:generateContent", sentContents{
		Contents:         []chatContent{{"user", []textPart{{text}}}},
		GenerationConfig: map[string]any{"temperature": 0, "maxOutputTokens": 64},
	}
}

// ask sends one request, and reports whether its answer passes.
func (l *handWritten) ask(i int64) (bool, error) {
	path, asked := l.request(i)
	body, err := json.Marshal(asked)
	if err != nil {
		return false, err
	}
	resp, err := l.client.Post(l.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	var out response
	if l.journal == nil {
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			return false, err
		}
		return all(l.checks(i, out)), nil
	}
	whole, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(whole, &out); err != nil {
		return false, err
	}
	scores := l.checks(i, out)
	return all(scores), l.journal.append(i, asked, whole, scores)
}

// checks are the scorers of the suites.
func (l *handWritten) checks(i int64, out response) [3]score {
	wanted := "Paris"
	if l.own {
		wanted = fmt.Sprintf(capital, i)
	}
	var text, reason string
	if l.chat {
		text, reason = out.Choices[0].Message.Content, out.Choices[0].FinishReason
	} else {
		text, reason = out.Candidates[0].Content.Parts[0].Text, out.Candidates[0].FinishReason
	}
	return [3]score{
		{"contains", strings.Contains(text, wanted)},
		{"finishReason", strings.EqualFold(reason, "stop")},
		{"length", len(strings.Fields(text)) <= 10},
	}
}

func all(scores [3]score) bool { return scores[0].Passed && scores[1].Passed && scores[2].Passed }
