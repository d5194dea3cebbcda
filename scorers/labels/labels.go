// Package labels keeps what people say of answers: pass or fail, and a comment. Each suite has one file,
// SUITE.labels.jsonl in the folder where evalrun works, with one label per line. People commit and review
// this file, so lines are only added. A person's last line about an answer counts.
//
// The usual order: Append a Label; Read the File, then File.Of an answer and Decide.
package labels

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
)

// Values of Label.Label. None is for a comment alone. Without a comment, it takes back the person's earlier label.
const (
	Pass = "pass"
	Fail = "fail"
	None = ""
)

// Suffix ends the names of files with labels.
const Suffix = ".labels.jsonl"

// Limits of the texts that a person may write, in bytes.
const (
	MaxComment = 4000
	maxWho     = 100
)

// Label is one person's label of an answer: a line of the file.
type Label struct {
	Suite      string `json:"suite"`
	Case       string `json:"case"` // its name, for people who review the file
	CaseID     string `json:"caseId"`
	Arm        string `json:"arm"`
	Repeat     int    `json:"repeat"` // repeat that the person saw, counted from 1; equal answers share their labels
	AnswerHash string `json:"answerHash"`
	Label      string `json:"label"` // Pass, Fail or None
	Comment    string `json:"comment,omitempty"`
	Who        string `json:"who"`
	At         string `json:"at"` // RFC 3339, UTC

	line int       // line number in the file
	time time.Time // parsed from At
}

// AnswerKey identifies an answer: repeats with the same text, for the same case on the same arm, share an AnswerKey.
type AnswerKey struct{ CaseID, Arm, AnswerHash string }

// Key returns the key of the labelled answer.
func (l *Label) Key() AnswerKey { return AnswerKey{l.CaseID, l.Arm, l.AnswerHash} }

// KeyOf returns the key of a trial's answer. It reports false when there is no answer, or its hash is unknown.
func KeyOf(r *eval.Result) (AnswerKey, bool) {
	hash := HashOf(r.Response, r.Calls)
	return AnswerKey{r.CaseID, r.Arm, hash}, hash != ""
}

// FileName returns the name of the file with the labels of a suite. It returns an error for an invalid
// name, which a run file from somebody else may contain.
func FileName(suite string) (string, error) {
	if !suiteName.MatchString(suite) || len(suite) > maxSuite {
		return "", fmt.Errorf("%q is not the name of a suite: letters, digits, dot, dash and underscore, %d at most", suite, maxSuite)
	}
	return suite + Suffix, nil
}

// maxSuite leaves room for the suffix in the name of a file.
const maxSuite = 200

var (
	suiteName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	hashText  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-f]{64}$`)
	})
)

// CheckWho returns an error if a person cannot have this name.
func CheckWho(who string) error {
	switch {
	case strings.TrimSpace(who) == "":
		return fmt.Errorf("the name of the person is empty")
	case len(who) > maxWho:
		return fmt.Errorf("the name of the person has more than %d bytes", maxWho)
	case !utf8.ValidString(who) || strings.ContainsFunc(who, unicode.IsControl):
		return fmt.Errorf("the name of the person holds a line break or another control character")
	}
	return nil
}

// Check returns an error for an invalid label.
func (l *Label) Check() error {
	if _, err := FileName(l.Suite); err != nil {
		return err
	}
	if err := CheckWho(l.Who); err != nil {
		return err
	}
	at, badTime := time.Parse(time.RFC3339, l.At)
	l.time = at
	switch {
	case l.CaseID == "":
		return fmt.Errorf("`caseId` is missing")
	case l.Arm == "":
		return fmt.Errorf("`arm` is missing")
	case l.Repeat < 1:
		return fmt.Errorf("`repeat` counts from 1")
	case !hashText().MatchString(l.AnswerHash):
		return fmt.Errorf("`answerHash` is not a SHA-256 hash of 64 hexadecimal digits")
	case !slices.Contains([]string{Pass, Fail, None}, l.Label):
		return fmt.Errorf("the label %q is neither pass nor fail, nor empty", l.Label)
	case len(l.Comment) > MaxComment || !utf8.ValidString(l.Comment):
		return fmt.Errorf("the comment has more than %d bytes, or is not UTF-8", MaxComment)
	case badTime != nil:
		return fmt.Errorf("`at` is not a time such as 2027-01-31T12:00:00Z")
	}
	return nil
}

// HashOf returns the hash of an answer. For a text it is the SHA-256 digest, which runs without content
// also have. With several candidates or turns, or with tool calls, it is the digest of all of them. It is
// "" without an answer, and if tool calls were not recorded.
func HashOf(response *eval.Response, turns []eval.AnsweredCall) string {
	if response == nil {
		return ""
	}
	if len(turns) < 2 && response.PromptBlock() == "" && len(response.Candidates) == 1 && isText(&response.Candidates[0]) {
		return textHash(&response.Candidates[0])
	}
	var all []byte
	for i := range max(1, len(turns)) {
		one := response
		if len(turns) > 0 {
			one = &turns[i].Response
		}
		var known bool
		if all, known = appendAnswer(all, one); !known {
			return ""
		}
	}
	return digest(all)
}

// appendAnswer appends everything that people see of an answer. It returns false if a part was not
// recorded.
func appendAnswer(all []byte, r *eval.Response) ([]byte, bool) {
	all = append(all, "answer "+r.PromptBlock()+"\n"...)
	for i := range r.Candidates {
		c := &r.Candidates[i]
		all = append(all, "text "+textHash(c)+" "+c.Block()+"\n"...)
		for _, p := range c.Pieces {
			if c.Withheld != nil {
				return nil, false
			}
			shown := shownPiece(p)
			if shown == nil {
				continue
			}
			piece, err := json.Marshal(shown)
			if err != nil { // a run file has valid JSON
				return nil, false
			}
			all = append(append(all, piece...), '\n')
		}
	}
	return all, true
}

// isText reports whether people see only a text of the candidate.
func isText(c *eval.Candidate) bool {
	return c.Block() == "" && !c.ShowsMore()
}

func textHash(c *eval.Candidate) string {
	if c.Withheld != nil {
		return c.Withheld.SHA256
	}
	return digest([]byte(string([]rune(c.Text)))) // run files have U+FFFD for invalid UTF-8
}

// shownPiece is what people see of a piece, nil for nothing next to the text. The service's id of a call differs from
// answer to answer.
func shownPiece(p eval.Piece) eval.Piece {
	switch p := p.(type) {
	case eval.CallPiece:
		return eval.CallPiece{Call: &eval.FunctionCall{Name: p.Call.Name, Args: p.Call.Args}}
	case eval.OtherPiece:
		return p
	case eval.TextPiece, eval.ReasoningPiece:
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
