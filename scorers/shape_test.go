package scorers_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

type shapeTest struct{ entry, answer, want string }

// What takes more than linear time on a megabyte shows as a test that does not end.
func checkShapes(t *testing.T, tests []shapeTest) {
	t.Helper()
	for _, test := range tests {
		s := score(t, test.entry, answer(test.answer))
		if got := letter(s); got != test.want {
			t.Errorf("%s on %.60q: %s, want %s (%s)", test.entry, test.answer, got, test.want, s.Reason)
		}
	}
}

func mega(s string) string { return strings.Repeat(s, 1<<20/len(s)) }

func TestNumberFindsTheNumberThatIsTheAnswer(t *testing.T) {
	t.Parallel()
	checkShapes(t, []shapeTest{
		{"- number: 42", "", "f"},
		{"- number: 42", " \r\n\t", "f"},
		{"- number: 42", "no number here", "f"},
		{"- number: 42", "42", "p"},
		{"- number: 42", "It is 41, no, 42.\r\n", "p"},
		{"- number: 42", "42 or 43", "f"},
		{"- number: 42", "042", "p"},
		{"- number: 42", "42.00", "p"},
		{"- number: 42", "**42**", "p"},
		{"- number: 42", `$\boxed{42}$`, "p"},
		{"- number: 42", "x = 42;", "p"},
		{"- number: 42", "答案是42。", "p"},
		{"- number: 42", "\u0664\u0662", "p"}, // Arabic-Indic digits
		{"- number: -42", "\u200f\u2212\u0664\u0662\u200f", "p"},
		{"- number: 42", "התשובה היא 42", "p"},
		{"- number: 42", "４２", "p"},
		{"- number: 4", "4\u0301", "p"}, // with a combining accent
		{"- number: -5", "-5", "p"},
		{"- number: -5", "−5 °C", "p"},
		{"- number: -5", "x=-5", "p"},
		{"- number: 20", "10-20", "p"},
		{"- number: 5", "(2)-5", "p"},
		{"- number: -5", "-$5.00", "p"},
		{"- number: -5", "$-5", "p"},
		{"- number: 5", "+5", "p"},
		{"- number: 12", "12%", "p"},
		{"- number: 0.5", ".5", "p"},
		{"- number: 5", "No.5", "p"},
		{"- number: 1234567", "$1,234,567", "p"},
		{"- number: 1234567.5", "1,234,567.50 USD", "p"},
		{"- number: 1234", "USD1,234", "p"},
		{"- number: 1234567", "12,34,567 rupees", "p"},
		{"- number: 1234", "CHF 1'234", "p"},
		{"- number: 1234", "1’234", "p"},
		{"- number: 1234567", "1\u202f234\u00a0567 €", "p"},
		{"- number: 1234567", "1_234_567", "p"},
		{"- number: 1234567", "1.234.567 €", "p"},
		{"- number: 1234.5", "1.234,5 €", "p"},
		{"- number: 5", "3,5", "p"}, // a list by default
		{"- number: {is: 3.5, decimal: comma}", "3,5", "p"},
		{"- number: {is: 3.5, decimal: comma}", "3.5", "p"},
		{"- number: {is: 1234, decimal: comma}", "1.234", "p"},
		{"- number: {is: 1234.56, decimal: comma}", "1.234,56 €.", "p"},
		{"- number: 3", "1,2,3", "p"},
	})
}

func TestNumbersAreReadInAnyNotation(t *testing.T) {
	t.Parallel()
	checkShapes(t, []shapeTest{
		{"- number: 2000000", "In 2024 100 people: 2e6", "p"},
		{"- number: 1500", "1.5e3", "p"},
		{"- number: 1500", "1.5E+3", "p"},
		{"- number: 0.00015", "1.5e-4 m", "p"},
		{"- number: 300000000", "3 × 10^8 m/s", "p"},
		{"- number: 300000000", `3 \times 10^{8}`, "p"},
		{"- number: 0.003", "3·10⁻³", "p"},
		{"- number: 1000000", "about 10^6", "p"},
		{"- number: 25", "25 m2", "p"},
		{"- number: 5", "5 kg of CO2", "p"},
		{"- number: 5", "5, see version 1.2.3", "p"},
		{"- number: 5", "5kg", "p"},
		{"- number: 4", "3/4", "p"},
		{"- number: 9007199254740993", "9007199254740992", "f"},
		{"- number: 9007199254740993", "9,007,199,254,740,993", "p"},
		{"- number: 0.3", "0.30000000000000004", "f"},
		{"- number: {is: 0.3, tolerance: 0.01}", "0.31", "p"},
		{"- number: {is: 0.3, tolerance: 0.01}", "0.32", "f"},
		{"- number: {is: 200, relative: 0.05}", "190", "p"},
		{"- number: {is: -200, relative: 0.05}", "-211", "f"},
		{"- number: {is: 200, relative: 0.05, tolerance: 20}", "181", "p"},
		{"- number: 1", "1e999999999", "f"},
		{"- number: {is: 1, tolerance: 5}", "1e999999999", "f"},
		{"- number: 42", mega("1 ") + "42", "p"},
		{"- number: 42", "42" + mega(" x"), "p"},
		{"- number: 1", mega("1"), "f"},
		{"- number: 0", "0." + mega("0") + "1", "f"},
		{"- number: 5", mega("1,2"), "f"},
		{"- not: {number: 42}", "", "f"},
	})
}

// testdata/limits/choices.txt has the forms; these are the rest.
func TestChoiceFindsTheLetterThatIsTheAnswer(t *testing.T) {
	t.Parallel()
	b, texts := "- choice: B", "- choice: {is: B, of: {A: Paris, B: Lyon sur Rhône}}"
	checkShapes(t, []shapeTest{
		{b, "", "f"},
		{b, " \r\n", "f"},
		{b, "A", "f"},
		{b, "B" + strings.Repeat(" B", 1<<20), "u"}, // more than 2 MiB
		{b, "\r\n(B)\r\n", "p"},
		{b, "Ｂ", "u"}, // full width: another letter
		{b, "B\u0301", "u"},
		{b, "\u200fB\u200f", "p"},
		{b, `A is tempting. $\boxed{\text{B}}$`, "p"},
		{b, "答案：B", "p"},
		{b, "الإجابة: B", "p"},
		{"- choice: {is: a, of: [A, B]}", "The answer is a.", "p"},
		{"- choice: {is: 2, of: [1, 2, 3]}", "Answer: 2", "p"},
		{"- choice: {is: 2, of: [1, 2, 3]}", "The answer is 2.5", "u"},
		{"- choice: {is: Б, of: [А, Б]}", "Ответ: Б", "p"},
		{"- choice: {is: ב, of: [א, ב]}", "ב", "p"},
		{texts, "lyon sur rhône!", "p"},
		{texts, "Paris", "f"},
		{texts, "b) lyon sur Rhône", "p"},
		{texts, "The answer is B, lyon sur Rhône", "p"},
		{texts, "B) Paris", "u"},
		{texts, "Lyon", "u"},
		{b, mega("word ") + "\nAnswer: B", "p"},
		{b, mega("A B "), "u"},
		{b, mega("B"), "u"},
		{b, mega("("), "u"},
		{b, "{\"answer\": " + mega("["), "u"},
		{"- not: {choice: B}", "", "f"},
		{"- not: {choice: B}", "A or B", "u"},
	})
}

func TestListFindsTheItemsOfAnAnswer(t *testing.T) {
	t.Parallel()
	set, order := "- list: [red, green, blue]", "- list: {items: [red, green, blue], order: true}"
	checkShapes(t, []shapeTest{
		{set, "", "f"},
		{set, " \r\n ", "f"},
		{set, "red, green, blue", "p"},
		{set, "blue, red and green.", "p"},
		{set, "red, green, and blue", "p"},
		{set, "The colours are: red, green and blue.", "p"},
		{set, "red; green; blue", "p"},
		{set, "red und green und blue", "f"},
		{set, "red\r\ngreen\r\nblue\r\n", "p"},
		{set, "Here they are:\n\n- red\n- **green**\n* \"blue\"\n\nThat is all.", "p"},
		{set, "1. red\n2. green\n3) blue", "p"},
		{set, "(a) red\n(b) green\n(c) blue", "p"},
		{set, "• red\n• green\n• blue", "p"},
		{set, `["blue", "red", "green"]`, "p"},
		{set, "red, red, green, blue", "p"},
		{set, "red, green", "f"},
		{set, "red, green, blue, black", "f"},
		{set, "Red, Green, Blue", "f"},
		{"- {list: [red, green, blue], ignoreCase: true}", "Red, GREEN, Blue", "p"},
		{order, "red, green, blue", "p"},
		{order, "red, blue, green", "f"},
		{"- list: {items: [red, green, blue], recall: 0.6}", "blue, black, red", "p"},
		{"- list: {items: [red, green, blue], recall: 0.7}", "blue, black, red", "f"},
		{"- list: {items: [red, green, blue], recall: 0.6, order: true}", "blue, black, red", "f"},
		{"- list: {items: [red, green, blue], recall: 0.6, order: true}", "red, black, blue", "p"},
		{"- list: [\"caf\\u00e9\", th\u00e9]", "cafe\u0301\nthe\u0301", "p"},
		{"- list: [أحمر, أخضر]", "أحمر، أخضر", "p"},
		{"- list: [אדום, ירוק]", "1. אדום\n2. ירוק", "p"},
		{"- list: [红, 绿]", "红、绿。", "p"},
		{"- list: [1, 2]", "[1, 2]", "p"},
		{set, mega("red, ") + "green, blue", "p"},
		{set, mega("- red\n") + "- green\n- blue", "p"},
		{set, mega(","), "f"},
		{"- not: {list: [red]}", "", "f"},
	})
	for entry, want := range map[string]float64{set: 0.25, "- list: {items: [red, green, blue], recall: 1}": 1.0 / 3} {
		if got := score(t, entry, answer("red, black")); valueOf(got) < want-1e-9 || valueOf(got) > want+1e-9 {
			t.Errorf("%s: %v, want %v", entry, valueOf(got), want)
		}
	}
}

func TestXMLIsWellFormedAndHasRequiredParts(t *testing.T) {
	t.Parallel()
	some := "- xml: {required: [order/id, order/items/item, order/@no]}"
	checkShapes(t, []shapeTest{
		{"- xml: wellFormed", "", "f"},
		{"- xml: wellFormed", " \r\n", "f"},
		{"- xml: wellFormed", "text", "f"},
		{"- xml: wellFormed", "<a/>", "p"},
		{"- xml: wellFormed", "\r\n<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\r\n<a>é</a>\r\n", "p"},
		{"- xml: wellFormed", "<a>e\u0301 שלום &amp; &#x5d0;</a>", "p"},
		{"- xml: wellFormed", "<שם>א</שם>", "p"},
		{"- xml: wellFormed", "<a/><b/>", "f"},
		{"- xml: wellFormed", "<a/> and more", "f"},
		{"- xml: wellFormed", "Here: <a/>", "f"},
		{"- xml: wellFormed", "<a><b></a></b>", "f"},
		{"- xml: wellFormed", "<a>", "f"},
		{"- xml: wellFormed", "<a b=1/>", "f"},
		{"- xml: wellFormed", "<a b='1' b='2'/>", "f"},
		{"- xml: wellFormed", "<a>&nbsp;</a>", "f"},
		{"- xml: wellFormed", "<!-- c --><a/>", "p"},
		{"- xml: wellFormed", "<a/><?xml version='1.0'?>", "f"},
		{"- xml: wellFormed", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "f"},
		{"- xml: wellFormed", "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>", "f"},
		{"- xml: wellFormed", "```xml\n<a/>\n```", "f"},
		{"- xml: {fence: true}", "Here:\r\n```xml\r\n<a/>\r\n```\r\nDone.", "p"},
		{"- xml: {fence: true}", "<a/>", "p"},
		{some, "<order no='1'><id/><items><item/><item/></items></order>", "p"},
		{some, "<o:order xmlns:o='urn:x' no='1'><o:id/><o:items><o:item/></o:items></o:order>", "p"},
		{some, "<order><id/><items><item/></items></order>", "f"},
		{"- xml: {required: [/a/*/c]}", "<a><b><c/></b></a>", "p"},
		{"- xml: {required: /a/c}", "<a><b><c/></b></a>", "f"},
		{"- xml: wellFormed", mega("<a>"), "f"},
		{"- xml: wellFormed", "<a>" + mega("<b c='d'/>") + "</a>", "p"},
		{"- xml: wellFormed", mega("<"), "f"},
		{"- not: {xml: wellFormed}", "", "f"},
	})
	if got := score(t, some, answer("<order><id/><items><item/></items></order>")); valueOf(got) < 0.66 || valueOf(got) > 0.67 ||
		got.Reason != "the XML has no order/@no" {
		t.Errorf("%v %s, want 2/3, and the XML has no order/@no", valueOf(got), got.Reason)
	}
	for text, want := range map[string]string{
		mega("<a>"):                "not well-formed XML: line 1: more elements are opened than closed",
		mega("<a>") + mega("</a>"): "the answer holds elements nested deeper than 10000, which are not read",
	} {
		expect.Contains(t, "reason", score(t, "- xml: wellFormed", answer(text)).Reason, want)
	}
}

func TestJSONSchemaJudgesAnAnswerOfJSON(t *testing.T) {
	t.Parallel()
	object := "- jsonSchema: {schema: {type: object, required: [a], properties: {a: {type: integer, minimum: 1}, d: {format: date}}, " +
		"additionalProperties: false}}"
	tree := "- jsonSchema: {schema: {$ref: '#/$defs/n', $defs: {n: {type: object, properties: {k: {$ref: '#/$defs/n'}}}}}}"
	bomb := "- jsonSchema: {schema: {properties: {k: {anyOf: [{$ref: '#'}, {$ref: '#'}]}}, required: [z]}}"
	checkShapes(t, []shapeTest{
		{object, "", "f"},
		{object, " \r\n", "f"},
		{object, "{\"a\": 1}", "p"},
		{object, "{\"a\": 1}\r\n", "p"},
		{object, "{\"a\": 1.0}", "p"},
		{object, "{\"a\": 0}", "f"},
		{object, "{\"a\": \"1\"}", "f"},
		{object, "{}", "f"},
		{object, "{\"a\": 1, \"b\": 2}", "f"},
		{object, "{\"a\": 1, \"d\": \"2026-02-28\"}", "p"},
		{object, "{\"a\": 1, \"d\": \"2026-02-30\"}", "f"},
		{object, "{\"a\": 1e999999999}", "u"},
		{object, "{\"a\": 1} {}", "f"},
		{object, "```json\n{\"a\": 1}\n```", "f"},
		{"- jsonSchema: {fence: true, schema: {type: object}}", "Here:\r\n```json\r\n{}\r\n```\r\n", "p"},
		{"- jsonSchema: {fence: true, schema: {type: object}}", "{}", "p"},
		{"- jsonSchema: {schema: {$schema: 'http://json-schema.org/draft-07/schema#', items: {format: email}}}", `["a@b.c"]`, "p"},
		{"- jsonSchema: {schema: {$schema: 'http://json-schema.org/draft-07/schema#', items: {format: email}}}", `["a"]`, "f"},
		{"- jsonSchema: {schema: {$schema: 'https://json-schema.org/draft/2019-09/schema', format: uuid}}", `"a"`, "f"},
		{"- jsonSchema: {schema: {maxLength: 2}}", `"שלו"`, "f"},
		{"- jsonSchema: {schema: {maxLength: 2}}", "\"e\u0301\"", "p"},
		{"- jsonSchema: {schema: {pattern: '^(a+)+$'}}", `"` + strings.Repeat("a", 50000) + `b"`, "f"},
		{tree, strings.Repeat(`{"k":`, 100) + "{}" + strings.Repeat("}", 100), "p"},
		{tree, strings.Repeat(`{"k":`, 100) + "1" + strings.Repeat("}", 100), "f"},
		{tree, strings.Repeat(`{"k":`, 5000) + "1" + strings.Repeat("}", 5000), "u"},
		{bomb, strings.Repeat(`{"k":`, 40) + "1" + strings.Repeat("}", 40), "u"},
		{"- jsonSchema: {schema: {uniqueItems: true, items: {type: integer}}}", "[" + strings.Repeat("1,", 50_000) + "1]", "f"},
		{"- jsonSchema: {schema: {items: {type: string}}}", "[" + mega("1,") + "1]", "f"},
		{"- not: {jsonSchema: {schema: {type: object}}}", "", "f"},
	})
	for entry, want := range map[string]string{
		object: `2 violations: (root): additional properties 'b~/' not allowed; /a: got string, want integer`,
		"- jsonSchema: {schema: {properties: {b~/: {items: {const: 3}}}}}": `2 violations: /b~0~1/0: value must be 3; /b~0~1/1: value must be 3`,
	} {
		if got := score(t, entry, answer(`{"a": "x", "b~/": [1, 2]}`)); got.Reason != want || got.Diff == "" {
			t.Errorf("%s:\n got %s\nwant %s", entry, got.Reason, want)
		}
	}
}

// testdata/limits/refusals.txt has the sentences; this is the rest.
func TestRefusalFindsAnswersThatDecline(t *testing.T) {
	t.Parallel()
	is := "- refusal: true"
	checkShapes(t, []shapeTest{
		{is, "", "f"},
		{"- refusal: false", "", "f"},
		{is, " \r\n", "f"},
		{"- refusal: false", " \r\n", "f"},
		{"- refusal: false", "I'm sorry, but I can't help with that.", "f"},
		{"- refusal: false", "Paris", "p"},
		{is, "De\u0301sole\u0301, mais je ne peux pas re\u0301pondre.", "p"},
		{"- refusal: {is: true, also: [No way]}", "no way, José", "p"},
		{is, mega("text ") + "I can't help with that", "f"}, // not at the beginning
		{is, "I can't help with that. " + mega("text "), "p"},
		{is, mega("é"), "f"},
		{"- not: {refusal: true}", "", "f"},
	})
}

// Problems of arguments are reported at their place.
func TestShapeProblemsAreReportedAtTheirPlace(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- number: twelve":                                        "8:17: expected a number",
		"- number: {tolerance: 1}":                                "8:17: the key `is` is missing",
		"- number: {is: 1, tolerance: -1}":                        "8:36: -1 is out of range",
		"- number: {is: 0, relative: 0.1}":                        "8:35: a share of 0",
		"- number: {is: 1, decimal: dot}":                         "8:34: `dot` is not known",
		"- number: [1, 2]":                                        "8:17: expected a number",
		"- choice: E":                                             "8:17: `E` is not one of the choices A, B, C, D",
		"- choice: {is: A, of: [A, a]}":                           "8:33: duplicate choice `a`, first on line 8",
		"- choice: {is: A, of: [A]}":                              "8:29: `of` needs at least two",
		"- choice: {is: A, of: [A, the first]}":                   "8:33: `the first` is not the letter",
		"- choice: {of: [A, B]}":                                  "8:17: the key `is` is missing",
		"- list: []":                                              "8:15: `list` needs at least one item",
		"- list: [a, a]":                                          "8:19: duplicate item \"a\", first on line 8",
		"- choice: {is: A, of: [A, B, b]}":                        "8:36: duplicate choice `b`, first on line 8",
		"- length: {words: {max: 5}, unit: words, min: 1}":        "8:18: the bounds of words are given twice: also `min` on line 8",
		"- list: [a, \"\"]":                                       "8:19: an empty item",
		"- list: {items: [a], recall: 0}":                         "8:36: `recall: 0` always passes",
		"- list: {items: [a], recall: 2}":                         "8:36: 2 is out of range",
		"- list: {items: [a], oder: true}":                        "8:28: unknown key `oder`",
		"- xml: valid":                                            "8:14: `valid` is not known",
		"- xml: {required: [a//b]}":                               "8:26: `a//b` is not a path",
		"- xml: {}":                                               "8:14: `xml` needs",
		"- refusal: maybe":                                        "8:18: expected true or false",
		"- refusal: {is: true, also: ['']}":                       "8:36: an empty phrase",
		"- jsonSchema: x":                                         "8:21: expected a mapping",
		"- jsonSchema: {schema: x}":                               "8:30: expected a mapping",
		"- jsonSchema: {schema: {type: strnig}}":                  "8:37: not a JSON Schema: /type",
		"- jsonSchema: {schema: {properties: {a: {minimum: x}}}}": "8:57: not a JSON Schema: /properties/a/minimum",
		"- jsonSchema: {schema: {pattern: '(?=x)'}}":              "8:40: not a JSON Schema: /pattern",
		"- jsonSchema: {schema: {$ref: 'file:///etc/passwd'}}": "8:37: file:///etc/passwd: references to files and addresses are not " +
			"followed",
		"- jsonSchema: {schema: {$ref: other.json}}":                  "8:37: evalrun:///other.json: references",
		"- jsonSchema: {schema: {items: {$ref: 'http://x.test/s'}}}":  "8:45: http://x.test/s: references",
		"- jsonSchema: {schema: {$schema: 'http://x.test/s'}}":        "8:40: http://x.test/s: references",
		"- jsonSchema: {schema: {$ref: '#/$defs/none'}}":              "8:37: not a JSON Schema",
		"- jsonSchema: {schema: {$id: 'http://x.test/', $ref: 'up'}}": "8:60: http://x.test/up: references",
		"- jsonSchema: {schema: {minimum: 1e999999}}":                 "8:40: not a JSON Schema: /minimum: got string, want number",
		"- jsonSchema: {schema: {format: emial}}":                     "8:39: the format `emial` is not known", // a warning
	} {
		checkReported(t, entry, want, reported(entry, suite.Options{}, nil))
	}
}
