package emulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// question is the content of a request to the application.
type question struct {
	text   string
	chat   string     // "": keep nothing
	given  []exchange // the conversation so far, if the request includes it
	brings bool
	key    string // the Idempotency-Key
}

type exchange struct {
	key             string
	question, reply string
	steps           []appStep
}

// readQuestion reads a body: JSON if it begins with {, and otherwise the question itself. problem is "" for
// a valid body.
func readQuestion(body []byte) (q question, problem string) {
	body = bytes.TrimSpace(body)
	if !bytes.HasPrefix(body, []byte("{")) {
		q.text = string(body)
	} else if problem = q.decode(body); problem != "" {
		return q, problem
	}
	if q.text == "" {
		return q, `the body has no question: send {"question": TEXT}, {"messages": [{"role": "user", "content": TEXT}]} or a text`
	}
	return q, ""
}

func (q *question) decode(body []byte) (problem string) {
	var in struct {
		Question string    `json:"question"`
		Chat     enum      `json:"session"` // may also be a number
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return "the body is not the JSON that is expected: " + err.Error()
	}
	q.text = in.Question
	if in.Chat != "null" {
		q.chat = string(in.Chat)
	}
	if len(in.Messages) > 0 {
		q.brings = true
		q.take(in.Messages)
	}
	return ""
}

// take converts messages to exchanges. The last user message is the question, if the request has no other.
func (q *question) take(messages []message) {
	question := ""
	for _, m := range messages {
		switch m.Role {
		case "user", "":
			question = m.text()
		case "assistant", "model":
			q.given = append(q.given, exchange{question: question, reply: m.text()})
			question = ""
		}
	}
	if q.text == "" {
		q.text = question
	}
}

// message is a message in the form of any protocol: content is a text, or a list of parts with texts.
type message struct {
	Role    string          `json:"role"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
	Parts   []messagePart   `json:"parts"`
}

type messagePart struct {
	Text string `json:"text"`
}

func (m *message) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil && text != "" {
		return text
	}
	parts := m.Parts
	if len(parts) == 0 && json.Unmarshal(m.Content, &parts) != nil {
		return m.Text
	}
	var b strings.Builder
	b.WriteString(m.Text)
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Bounds of what the application keeps in memory.
const (
	maxChats     = 1000
	maxExchanges = 50 // in one chat
)

// keptChats keeps the most recently used conversations.
type keptChats struct {
	mu    sync.Mutex
	open  map[string]*keptChat
	clock int
}

type keptChat struct {
	used      int // by keptChats.clock
	exchanges []exchange
}

// ask answers a question and keeps it in its chat. A repeated question with the same key gets the same
// answer, and is kept once.
func (s *keptChats) ask(q question) (before []exchange, e exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := &keptChat{exchanges: q.given}
	if !q.brings && q.chat != "" {
		in = s.chat(q.chat)
	}
	if i := slices.IndexFunc(in.exchanges, func(e exchange) bool { return q.key != "" && e.key == q.key }); i >= 0 {
		return in.exchanges[:i], in.exchanges[i]
	}
	before = in.exchanges
	e = answerTo(q.text, before)
	e.key = q.key
	in.exchanges = append(slices.Clone(before), e)
	if n := len(in.exchanges); n > maxExchanges {
		in.exchanges = in.exchanges[n-maxExchanges:]
	}
	return before, e
}

// chat returns the chat with a name, and creates a new one. If there are too many, it drops the least
// recently used one.
func (s *keptChats) chat(name string) *keptChat {
	s.clock++
	one, ok := s.open[name]
	if !ok {
		one = &keptChat{}
		if len(s.open) >= maxChats {
			s.forget()
		}
		s.open[name] = one
	}
	one.used = s.clock
	return one
}

func (s *keptChats) forget() {
	oldest := ""
	for name, one := range s.open {
		if oldest == "" || one.used < s.open[oldest].used {
			oldest = name
		}
	}
	delete(s.open, oldest)
}

var (
	capitalQuestion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bcapital of (\p{L}+)`)
	})
	orderQuestion  = regexp.MustCompile(`(?i)\border (?:number |no\.? ?|# ?)?([a-z]?[0-9]+)\b`)
	beforeQuestion = regexp.MustCompile(`(?i)\bwhat did i ask\b.*\bbefore\b`)
)

var capitals = map[string]string{
	"andorra": "Andorra la Vella", "australia": "Canberra", "brazil": "Brasília", "canada": "Ottawa", "egypt": "Cairo", "france": "Paris",
	"germany": "Berlin", "iceland": "Reykjavík", "india": "New Delhi", "italy": "Rome", "japan": "Tokyo", "kenya": "Nairobi",
	"peru": "Lima", "spain": "Madrid",
}

var orders = map[string]string{
	"A17":  "Order A17 has shipped and arrives on Friday.",
	"A18":  "Order A18 is being packed.",
	"4711": "Order 4711 was delivered yesterday.",
}

// answerTo is deterministic: the same question after the same conversation has the same answer.
func answerTo(text string, before []exchange) exchange {
	e := exchange{question: text, reply: text, steps: []appStep{}}
	if m := capitalQuestion().FindStringSubmatch(text); m != nil && capitals[strings.ToLower(m[1])] != "" {
		e.reply = capitals[strings.ToLower(m[1])]
	} else if m := orderQuestion.FindStringSubmatch(text); m != nil {
		id := strings.ToUpper(m[1])
		e.steps = append(e.steps, appStep{"get_order", map[string]string{"id": id}})
		if e.reply = orders[id]; e.reply == "" {
			e.reply = "I cannot find order " + id + "."
		}
	} else if beforeQuestion.MatchString(text) {
		e.reply = "This is your first question."
		if n := len(before); n > 0 {
			e.reply = fmt.Sprintf("Your last question: %s", before[n-1].question)
		}
	}
	return e
}
