package scorers

import (
	"encoding/json"
	"strings"

	"github.com/evalrun/evalrun/internal/lazy"
)

// answerMember returns the value of the only member of a JSON object whose name says that it is the answer,
// such as {"reason": ..., "answer": "B"}. Other texts are returned unchanged.
func answerMember(text string) string {
	text = strings.TrimSpace(text)
	if m := fenced.Regexp().FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	if !strings.HasPrefix(text, "{") {
		return text
	}
	var members map[string]any
	if json.Unmarshal([]byte(text), &members) != nil {
		return text
	}
	found, answers := text, 0
	for name, value := range members {
		if value, ok := value.(string); ok && namesAnswer(name) {
			found = value
			answers++
		}
	}
	if answers != 1 {
		return text
	}
	return found
}

// fenced matches an answer that is a single code block.
const fenced lazy.Regex = "(?s)^```\\w*\n(.*)\n```$"

// namesAnswer accepts names such as answer, final_answer and Choice.
func namesAnswer(name string) bool {
	marks, _ := marksOf(strings.ReplaceAll(name, "_", " "), nil)
	sentences := sentencesOf(marks)
	return len(sentences) == 1 && answerName.Matches(sentences[0].classes())
}
