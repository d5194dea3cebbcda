package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
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

type sentChat struct {
	Contents         []chatContent  `json:"contents"`
	GenerationConfig map[string]any `json:"generationConfig"`
}

type response struct {
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

// loop is what a person would write by hand: it sends n requests, decodes the answers and checks them as the
// suites do.
func loop(args []string) error {
	set := flag.NewFlagSet("loop", flag.ContinueOnError)
	url := set.String("url", "", "the server")
	trials := set.Int("trials", 1, "how many requests")
	workers := set.Int("j", 1, "how many at once")
	if err := set.Parse(args); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *workers}}
	var next, passed atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, *workers)
	for range *workers {
		group.Go(func() {
			for i := next.Add(1); i <= int64(*trials); i = next.Add(1) {
				right, err := ask(client, *url, i)
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
	if err := <-failed; err != nil {
		return err
	}
	fmt.Println(passed.Load(), "passed")
	if passed.Load() != int64(*trials) {
		return errors.New("some did not pass")
	}
	return nil
}

// ask sends one request, and reports whether its answer passes.
func ask(client *http.Client, url string, i int64) (bool, error) {
	body, err := json.Marshal(sentChat{
		Contents: []chatContent{{"user", []textPart{{fmt.Sprintf(
			"What is the capital of country %d? Answer in one sentence.", i)}}}},
		GenerationConfig: map[string]any{"temperature": 0, "maxOutputTokens": 64},
	})
	if err != nil {
		return false, err
	}
	resp, err := client.Post(url+"/v1/models/svc-pro:generateContent", "application/json", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	var out response
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return false, err
	}
	c := out.Candidates[0]
	text := c.Content.Parts[0].Text
	return strings.Contains(text, "Paris") && c.FinishReason == "STOP" && len(strings.Fields(text)) <= 10, nil
}
