package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func (b *box) verdicts(run string) map[string]string {
	b.t.Helper()
	b.exits(0, "report", run, "-o", "jsonl")
	out := map[string]string{}
	for line := range strings.Lines(b.out) {
		var r struct{ Case, Outcome string }
		expect.OK(b.t, json.Unmarshal([]byte(line), &r))
		out[r.Case] = r.Outcome
	}
	return out
}

// imported imports a configuration, sends its service openai to the server, and gives the outcomes of its cases.
func (b *box) imported(config string) map[string]string {
	b.t.Helper()
	b.write("promptfooconfig.yaml", config)
	b.env = append(b.env, "OPENAI_API_KEY=key-of-the-box")
	b.exits(0, "import", "promptfoo")
	cmd := b.command("run", "evalrun/suite.yaml", "--service", "openai.baseUrl="+b.url+"/v1", "--out", "run")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.t.Fatalf("%v\n%.4000s", err, out)
	}
	return b.verdicts("run")
}

// angled embeds the text of a number as a vector at the angle with that cosine to the vector of any other text.
func angled(w http.ResponseWriter, r *http.Request) {
	var sent struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data := []map[string]any{}
	for i, text := range sent.Input {
		cos, err := strconv.ParseFloat(text, 64)
		if err != nil {
			cos = 1
		}
		data = append(data, map[string]any{"index": i, "embedding": []float64{cos, math.Sqrt(1 - cos*cos)}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

// similarity is what promptfoo computes of the vector of a cosine and that of a reference.
func similarity(cos float64) float64 {
	b := math.Sqrt(1 - cos*cos)
	return cos / math.Sqrt(cos*cos+b*b)
}

// promptfoo passes `similar` where the similarity is at least the threshold, and `not-similar` where it is at most the threshold, both but
// for the least difference between numbers. Of several texts one has to be near, and with `not-` none may. Verdicts agree, but for `not-`
// at the threshold itself.
func TestImportedSimilarityIsJudgedAsInPromptfoo(t *testing.T) {
	t.Parallel()
	const epsilon = 0x1p-52
	var tests strings.Builder
	want := map[string]string{}
	n := 0
	for _, threshold := range []float64{-0.5, 0, 0.25, 0.5, 0.75, 0.8, 0.9, 1} {
		for _, off := range []float64{-2, -0.5, -0.1, -1e-3, -1e-6, -1e-9, 0, 1e-9, 1e-6, 1e-3, 0.1, 0.5} {
			cos := threshold + off
			if cos < -1 || cos > 1 {
				continue
			}
			sim := similarity(cos)
			for kind, pass := range map[string]bool{
				"similar": sim >= threshold-epsilon, "not-similar": sim <= threshold+epsilon && off != 0, // documented
			} {
				n++
				name := fmt.Sprintf("%s %g at %g", kind, cos, threshold)
				want[name] = map[bool]string{true: "pass", false: "fail"}[pass]
				fmt.Fprintf(&tests, "  - {description: %q, vars: {x: '%s'}, assert: [{type: %s, value: %s, threshold: %s}]}\n",
					name, strconv.FormatFloat(cos, 'f', -1, 64), kind, []string{"reference", "[reference, another]"}[n%2],
					strconv.FormatFloat(threshold, 'f', -1, 64))
			}
		}
	}
	// without a threshold it is 0.75
	fmt.Fprint(&tests, "  - {description: near, vars: {x: '0.76'}, assert: [{type: similar, value: reference}]}\n"+
		"  - {description: far, vars: {x: '0.74'}, assert: [{type: similar, value: reference}]}\n")
	want["near"], want["far"] = "pass", "fail"
	b := newBox(t, http.HandlerFunc(angled), nil)
	got := b.imported("prompts: ['{{x}}']\nproviders: [echo]\ntests:\n" + tests.String())
	expect.Same(t, "verdicts", got, want)
}

// promptfoo passes `cost` where the cost is at most the threshold, and `not-cost` where it is above. The cost is that of the tokens that
// the service counts, by the prices of the configuration, or else those of the model. Verdicts agree but where the cost is the threshold
// to the last digit: promptfoo adds up fractions of a dollar for each token, and evalrun those of a million.
func TestImportedCostsAreJudgedAsInPromptfoo(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	want := map[string]string{}
	prices := map[string][2]float64{"listed": {0.15e-6, 0.6e-6}, "own": {1e-6, 2e-6}, "one": {1e-6, 10e-6}}
	models := map[string]string{"listed": "gpt-4o-mini", "own": "some-model", "one": "gpt-4o"}
	for name, price := range prices {
		for _, tokens := range [][2]int{{1, 0}, {0, 1}, {1, 1}, {1000, 500}, {123, 457}, {128_000, 16_384}} {
			cost := price[0]*float64(tokens[0]) + price[1]*float64(tokens[1])
			for _, factor := range []float64{0, 0.5, 0.999999, 1.000001, 2} {
				most := cost * factor
				for kind, pass := range map[string]bool{"cost": cost <= most, "not-cost": cost > most} {
					c := fmt.Sprintf("%s %s %v at %g", name, kind, tokens, most)
					want[c] = map[bool]string{true: "pass", false: "fail"}[pass]
					fmt.Fprintf(&tests, "  - {description: %q, vars: {x: '%d %d'}, providers: [%s], assert: [{type: %s, threshold: %s}]}\n",
						c, tokens[0], tokens[1], name, kind, strconv.FormatFloat(most, 'f', -1, 64))
				}
			}
		}
	}
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		var sent struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || len(sent.Messages) == 0 {
			http.Error(w, "no message", http.StatusBadRequest)
			return
		}
		var in, out int
		if _, err := fmt.Sscan(sent.Messages[0].Content, &in, &out); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, in, out, in+out)
	}), nil)
	got := b.imported(fmt.Sprintf(`prompts: ['{{x}}']
providers:
  - {id: "openai:%s", label: listed}
  - {id: "openai:%s", label: own, config: {inputCost: 0.000001, outputCost: 0.000002}}
  - {id: "openai:%s", label: one, config: {inputCost: 0.000001}}
tests:
%s`, models["listed"], models["own"], models["one"], tests.String()))
	expect.Same(t, "verdicts", got, want)
}
