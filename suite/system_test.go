package suite_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// pdf is a file that says what it is, and wave another.
const (
	pdf  = "%PDF-1.4\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n"
	wave = "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00"
)

// suiteOf loads a suite with one target, the given prompts and cases, and files next to it.
func suiteOf(t *testing.T, text string, files map[string]string) *suite.Suite {
	t.Helper()
	fsys := fstest.MapFS{"s.yaml": {Data: []byte("version: 1\nname: s\ntargets: [{name: t, model: m}]\n" + text)}}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	s, diags := fromFolder(fsys, suite.Options{})
	if diags.Len() > 0 {
		t.Fatalf("got %v, want no problem", diags.Sorted())
	}
	return s
}

// renderedOf are the prompts of all cases on all arms.
func renderedOf(t *testing.T, s *suite.Suite) (out []eval.Request) {
	t.Helper()
	for c := range s.Cases() {
		for _, arm := range c.Arms {
			prompt, err := s.Render(c, arm)
			expect.OK(t, err)
			out = append(out, prompt)
		}
	}
	return out
}

// A system text is a template, in the suite or in a file of its own, which is a part of the suite. What a variable holds is data.
func TestSystemTextsAreTemplates(t *testing.T) {
	t.Parallel()
	s := suiteOf(t, `
prompts:
  - {name: inline, system: "Be {{.tone}}.", text: hi}
  - {name: in-file, system: {file: prompts/support.md}, text: hi}
  - {name: none, text: hi}
cases:
  - {name: a, vars: {tone: "{{.evil}}", whole: "all of it"}, scorers: [{contains: x}]}
  - {name: b, vars: {tone: "", whole: "  \n"}, scorers: [{contains: x}]}
`, map[string]string{"prompts/support.md": "\ufeff{{.whole}}"})
	var got []string
	for _, prompt := range renderedOf(t, s) {
		got = append(got, prompt.System)
		expect.Same(t, "the text", prompt.Contents[0].Parts[0].(eval.TextPart).Text, "hi")
	}
	expect.Same(t, "the system texts", got, []string{"Be {{.evil}}.", "all of it", "", "Be .", "", ""})
	var names []string
	for name := range s.Sources() {
		names = append(names, name)
	}
	expect.Same(t, "the files of the suite", names, []string{"s.yaml", "prompts/support.md"})
}

// A system text counts in what a prompt may hold.
func TestSystemTextsAreNotEndless(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, system: {file: long.md}, text: hi}]\n" +
		"cases: [{name: c, scorers: [{contains: x}]}]\n"
	fsys := fstest.MapFS{"s.yaml": {Data: []byte(text)}, "long.md": {Data: []byte(strings.Repeat("long ", 1<<20))}}
	_, diags := fromFolder(fsys, suite.Options{})
	expect.Fails(t, "a prompt that is too long", diags.Err(), "at most 4194304 are allowed")
}

// Files that are no images are sent with the type that their bytes show, or that the suite gives where they do not.
func TestFilesOfPartsAreSentWithTheirType(t *testing.T) {
	t.Parallel()
	s := suiteOf(t, `
prompts:
  - name: p
    parts:
      - {data: paper.pdf}
      - {data: "{{.sound}}", mimeType: audio/x-wav}
      - {data: "{{.sound}}"}
      - {data: notes.md, mimeType: text/markdown}
      - {data: noise.pcm, mimeType: audio/L16}
cases: [{name: c, vars: {sound: a/../beep.wav}, scorers: [{contains: x}]}]
`, map[string]string{"paper.pdf": pdf, "beep.wav": wave, "notes.md": "# Notes\n", "noise.pcm": "\x01\x02\x03\x04"})
	var got []string
	for _, p := range renderedOf(t, s)[0].Contents[0].Parts {
		file := p.(eval.DataPart).Data
		got = append(got, file.Path+" "+file.MIMEType)
		if file.Bytes != len(file.Data) || file.Bytes == 0 || len(file.SHA256) != 64 {
			t.Errorf("%+v, want the bytes of a file and their hash", file)
		}
	}
	expect.Same(t, "the files", got, []string{
		"paper.pdf application/pdf", "beep.wav audio/x-wav", "beep.wav audio/wav", "notes.md text/markdown", "noise.pcm audio/L16",
	})
}

// A file that a variable chooses makes another case when its bytes change, and one that the prompt always shows does not.
func TestFilesMakeTheCase(t *testing.T) {
	t.Parallel()
	ids := func(chosen, fixed string) (out []string) {
		s := suiteOf(t, `
prompts: [{name: p, parts: [{data: "{{.file}}"}, {data: fixed.pdf}]}]
cases: [{name: c, vars: {file: chosen.pdf}, scorers: [{contains: x}]}]
`, map[string]string{"chosen.pdf": pdf + chosen, "fixed.pdf": pdf + fixed})
		for c := range s.Cases() {
			out = append(out, c.ID)
		}
		return out
	}
	expect.Same(t, "another fixed file", ids("a", "b"), ids("a", "a"))
	if a, b := ids("a", "a"), ids("b", "a"); a[0] == b[0] {
		t.Errorf("%s for both, want another case for another file", a)
	}
}

// Literal parts are sent as they are. What variables hold is a text in them, whatever it looks like.
func TestLiteralPartsAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	s := suiteOf(t, `
prompts:
  - name: p
    parts:
      - raw:
          fileData: {fileUri: "gs://b/{{.name}}", mimeType: audio/mpeg}
          videoMetadata: {fps: 0.50, on: true, "{{.name}}": null}
          n: "{{.n}}"
      - text: what is this?
cases: [{name: c, vars: {name: 'a"}, "b": {"', n: 5}, scorers: [{contains: x}]}]
`, nil)
	parts := renderedOf(t, s)[0].Contents[0].Parts
	expect.Same(t, "the part", string(parts[0].(eval.RawPart).Raw),
		`{"fileData":{"fileUri":"gs://b/a\"}, \"b\": {\"","mimeType":"audio/mpeg"},`+
			`"videoMetadata":{"fps":0.50,"on":true,"{{.name}}":null},"n":"5"}`)
	expect.Same(t, "the text", parts[1].(eval.TextPart).Text, "what is this?")
}

// The fields that evalrun learned later are sent as those of `extra` were.
func TestConfigFieldsAreSentAsThoseOfExtra(t *testing.T) {
	t.Parallel()
	const fields = "candidateCount: 2, seed: 7, presencePenalty: 0.50, frequencyPenalty: -1e-1, responseMimeType: application/json, " +
		`responseSchema: {type: OBJECT, properties: {b: {type: STRING}, a: {type: INTEGER}}}, thinkingConfig: {thinkingBudget: 0, level: "x"}`
	config := func(text string) string {
		s := suiteOf(t, `
judges: [{name: j, model: m, generationConfig: `+text+`}]
prompts: [{name: p, text: hi}]
cases: [{name: c, scorers: [{judge: {rubric: good}}]}]
`, map[string]string{"schema.json": "{\n\t\"type\": \"OBJECT\"}", "schema.yaml": "type: OBJECT\n"})
		data, err := s.Judges[0].Model.GenerationConfig.MarshalJSON()
		expect.OK(t, err)
		return string(data)
	}
	want := config("{temperature: 0, extra: {zebra: 1, " + fields + "}}")
	expect.Same(t, "given directly", config("{temperature: 0, "+fields+", extra: {zebra: 1}}"), want)
	expect.Same(t, "as it was", want, `{"temperature":0,"candidateCount":2,"frequencyPenalty":-1e-1,"presencePenalty":0.50,`+
		`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"b":{"type":"STRING"},"a":{"type":"INTEGER"}}},`+
		`"seed":7,"thinkingConfig":{"thinkingBudget":0,"level":"x"},"zebra":1}`)
	for _, file := range []string{"schema.json", "schema.yaml"} {
		expect.Same(t, file, config("{responseSchema: {file: "+file+"}}"), `{"responseSchema":{"type":"OBJECT"}}`)
	}
	expect.Same(t, "numbers as YAML has them", config("{presencePenalty: +.5}"), `{"presencePenalty":0.5}`)
}

// Fields at the top level of requests are kept as they are written.
func TestExtraFieldsAreKeptAsWritten(t *testing.T) {
	t.Parallel()
	s := suiteOf(t, `
judges: [{name: j, model: m, extra: {labels: {team: a}}}]
prompts: [{name: p, text: hi}]
cases: [{name: c, scorers: [{judge: {rubric: good}}]}]
`, nil)
	expect.Same(t, "the judge's", string(s.Judges[0].Model.Extra["labels"]), `{"team":"a"}`)
}
