package scorers

import (
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func TestOtherLettersAreFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ of, text, want string }{
		{"1 2 3 4", "Answer: 2", "2"},
		{"1 2 3 4", "The answer is 2.", "2"},
		{"1 2 3 4", "Option 2 is correct.", "2"},
		{"1 2 3 4", "The answer is 2.5", ""},
		{"1 2 3 4", "The answer is 2 apples.", ""},
		{"1 2 3 4", "The answer is $2", ""},
		{"1 2 3 4", "The answer is $2$.", "2"},
		{"1 2 3 4", "The answer is -2", ""},
		{"1 2 3 4", "The answer is not 2", ""},
		{"1 2 3 4", "The answer is 2 % of 4", ""},
		{"1 2 3 4", "1. Add 2 and 2.\n2. That gives 4.\nAnswer: 4", "4"},
		{"1 2 3 4", "1,000", ""},
		{"1 2 3 4", "It takes 2 hours.", ""},
		{"А Б В", "Ответ: Б", "Б"},
		{"А Б В", "Ответ: B", ""}, // Latin
		{"א ב", "ב", "ב"},
		{"a b", "The answer is a dog.", ""},
		{"a b", "The answer is a.", "a"},
		{"a b", "B is correct.", "b"},
		{"A B C D E F G H I", "I", "I"},
		{"A B C D E F G H I", "I think it is B.", "B"},
		{"A B C D E F G H I", "I choose H because I like it.", "H"},
		{"A B C D E F G H I", "The answer is I.", "I"},
		{"A B C D E F G H I", "I am not sure.", ""},
		{"Yes No", "No", "No"},
		{"Yes No", "The answer is yes.", "Yes"},
		{"A B C D", "答案是B。", "B"},
		{"A B C D", "答案：B", "B"},
		{"A B C D", "答案不是B。", ""},
		{"A B C D", "正解はBです。", "B"},
		{"A B C D", "正解はBではありません。", ""},
		{"A B C D", "정답은 B입니다.", "B"},
		{"A B C D", "정답은 B가 아닙니다.", ""},
		{"A B C D", "الإجابة: B", "B"},
		{"A B C D", "La risposta è B.", "B"},
		{"A B C D", "O gabarito: vitamina B", ""},
		{"A B C D", "\u200fB\u200f", "B"},
		{"A B C D", "B\u0301", ""},
		{"A B C D", "Ｂ", ""},
		{"A B C D", "", ""},
	} {
		if got, _ := Named(test.text, strings.Fields(test.of)); strings.Join(got, " ") != test.want {
			t.Errorf("%q of %s: read %q, want %q", test.text, test.of, got, test.want)
		}
	}
}

// What takes more than linear time shows as a test that does not end.
func TestLongTextsTakeLinearTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("word ", 20_000) + "\nAnswer: B": "B",
		strings.Repeat("word, but not ", 7_000) + "B":   "",
		strings.Repeat("A word, so ", 900):              "",
		strings.Repeat("\n", 100_000) + "B":             "B",
		strings.Repeat("(", 100_000) + "B":              "",
		strings.Repeat(",", 100_000) + "B":              "",
		strings.Repeat("the answer is ", 7_000) + "B":   "",
		strings.Repeat("B", 100_000):                    "",
		strings.Repeat("答案是", 10_000) + "B":             "",
		strings.Repeat("B, ", 1_000):                    "B",
		strings.Repeat("~~", 50_000) + "B":              "B",
		strings.Repeat("<", 100_000) + "B":              "",
		`{"answer": ` + strings.Repeat("[", 9_000):      "",
	} {
		if got, _ := Named(text, []string{"A", "B", "C", "D"}); strings.Join(got, " ") != want {
			t.Errorf("%.30q: read %q, want %q", text, got, want)
		}
	}
	if got, how := Named(strings.Repeat("A. B. ", 1_000), []string{"A", "B"}); len(got) != 2 || how == "" {
		t.Errorf("2,000 letters: %q %q, want both letters, and how", got, how)
	}
}

// Every phrase has one class, and every class is one that the grammar knows.
func TestWordsHaveOneClass(t *testing.T) {
	t.Parallel()
	for first, phrases := range classedPhrases() {
		seen := map[string]byte{}
		for _, p := range phrases {
			text := strings.Join(p.words, " ")
			if class, twice := seen[text]; twice {
				t.Errorf("%q: got the classes %c and %c, want one", text, class, p.class)
			}
			seen[text] = p.class
			if marks, _ := marksOf(text, nil); !strings.Contains(text, "'") && len(marks) != len(p.words) {
				t.Errorf("%q: got %[3]d words, want %[2]d", text, len(p.words), len(marks))
			}
		}
		if len(phrases) == 0 || first == "" {
			t.Errorf("%q: got no class, want one", first)
		}
	}
}

// FuzzNamed holds that what is named is a letter of the choices, and is in the text.
func FuzzNamed(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
		f.Add("The answer is " + s)
	}
	f.Add("The answer is B, not A.")
	of := []string{"A", "B", "C", "D"}
	f.Fuzz(func(t *testing.T, text string) {
		labels, how := Named(text, of)
		if (how == "") != (len(labels) == 0) {
			t.Errorf("%q: got %q by %q, want both or neither", text, labels, how)
		}
		for _, l := range labels {
			if slices.Contains(of, l) && !strings.Contains(strings.ToUpper(text), l) {
				t.Errorf("%q: got %s, want only what is in it", text, l)
			}
		}
	})
}
