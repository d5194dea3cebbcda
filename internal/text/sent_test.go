package text

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Whatever a trial sends is in the text that readers compare, one thing a line; secrets are not.
func TestSentHasAllThatIsSent(t *testing.T) {
	t.Parallel()
	model := &eval.Request{
		Service: "eu", SafetySettings: []eval.SafetySetting{{Category: "HARASSMENT", Threshold: "NONE"}},
		Tools:      []eval.Declaration{{Name: "find", Description: "Finds a file.", Parameters: json.RawMessage(`{"type":"object"}`)}},
		ToolChoice: &eval.Choice{Mode: eval.Auto}, Extra: eval.Extra{"labels": json.RawMessage(`{"a":1}`)}, System: "Be brief.",
		Contents: []eval.Content{{Role: "user", Parts: []eval.Part{
			eval.TextPart{Text: "Hello"}, eval.ImagePart{Image: &eval.Image{Path: "a.png", MIMEType: "image/png", Bytes: 3, SHA256: "abc"}},
		}}},
	}
	for name, test := range map[string]struct {
		request *eval.Request
		want    string
	}{
		"a model": {model, `model: pro
service: eu
safety HARASSMENT: NONE
labels: {"a":1}
tool find: Finds a file.
{
  "type": "object"
}
toolChoice: auto
system: Be brief.
user: Hello
user: [image a.png, image/png, 3 bytes, sha256 abc]`},
		"an endpoint": {app(&eval.HTTP{
			Method: "POST", URL: "http://a.example", Body: `{"q":1}`, Headers: []eval.Header{{Name: "X-Key", Value: "hidden", Secret: true}},
		}), `model: pro
POST http://a.example
X-Key: ***

{
  "q": 1
}`},
		"a program": {app(&eval.ProgramRun{
			Command: []string{"sh", "a b.sh"}, Files: map[string]string{"a b.sh": "0123456789abcdef"}, Workspace: "feed",
			Input: json.RawMessage(`{}`),
		}), `model: pro
command: sh 'a b.sh'
file a b.sh: sha256 0123456789ab
workspace: sha256 feed
input: {}`},
		"nothing": {nil, ""},
	} {
		expect.Same(t, name, Sent(&eval.Result{Trial: eval.Trial{Model: "pro"}, Request: test.request}), test.want)
	}
}

func app(p eval.Payload) *eval.Request { return &eval.Request{App: &eval.Rendered{Payload: p}} }
