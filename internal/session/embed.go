package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/runner"
)

// BoundTime ends the calls of a session that carries out no plan once its budget of time is spent.
func (s *Session) BoundTime() {
	if limit := s.Settings.Limits.BudgetTime; limit > 0 {
		time.AfterFunc(limit, func() {
			reason := fmt.Sprintf("the budget of %s is spent", limit)
			s.Notice(reason)
			s.stop.Now(reason)
		})
	}
}

type embeddedText struct {
	Text   string    `json:"text"`
	Model  string    `json:"model"`
	Values []float64 `json:"values"`
}

// Embed yields the vectors of texts in order. A text that the model does not take is an error before the first is sent.
func (s *Session) Embed(ctx context.Context, model string, texts []textAt) iter.Seq2[embeddedText, error] {
	return func(yield func(embeddedText, error) bool) {
		if err := s.checkTexts(ctx, model, texts); err != nil {
			yield(embeddedText{}, err)
			return
		}
		for len(texts) > 0 {
			n := batchOf(texts)
			call := &eval.EmbedCall{Model: model, APIVersion: s.Settings.Service.APIVersion}
			for _, t := range texts[:n] {
				call.Texts = append(call.Texts, t.Text)
			}
			values, err := s.service.Embed(ctx, call)
			if err != nil {
				yield(embeddedText{}, s.Refused(err))
				return
			}
			for i, v := range values {
				if !yield(embeddedText{call.Texts[i], model, v}, nil) {
					return
				}
			}
			texts = texts[n:]
		}
	}
}

// checkTexts compares the texts with the limits in the model's metadata.
func (s *Session) checkTexts(ctx context.Context, model string, texts []textAt) error {
	m, err := s.embeddingModel(ctx, model)
	if err != nil {
		return err
	}
	if m != nil && !m.Supports(wire.MethodEmbed) {
		return eval.BadInput(
			"the model %s does not support %s; it supports %v", model, wire.MethodEmbed, m.SupportedGenerationMethods,
		)
	}
	for _, t := range texts {
		n := wire.Tokens(len(t.Text))
		switch {
		case !utf8.ValidString(t.Text):
			return eval.BadInput("%s: the text is not UTF-8", t.Where)
		case m != nil && m.InputTokenLimit > 0 && n > m.InputTokenLimit:
			return eval.BadInput(
				"%s: a text of %d bytes, about %d tokens, is too long to be embedded: %s takes at most %d tokens", t.Where,
				len(t.Text), n, model, m.InputTokenLimit,
			)
		}
	}
	return nil
}

// embeddingModel is what the service says of a model, else the specification; nil when neither knows it.
func (s *Session) embeddingModel(ctx context.Context, model string) (*eval.Model, error) {
	m, err := s.service.Model(ctx, s.Settings.Service.APIVersion, model)
	switch e := eval.AsError(err); {
	case e == nil:
		return m, nil
	case e.NotFound():
		listed, missing := s.missing(ctx, model, wire.MethodEmbed, e)
		if listed != nil || eval.CodeOf(missing) == eval.CodeBadInput {
			return listed, missing
		}
		s.Notice("the service reports no metadata of models; limits of " + model + " are those of the specification, if it names the model")
	case e.Kind == eval.KindAuth || e.Kind == eval.KindTransport || e.Kind == eval.KindCanceled:
		return nil, s.Refused(err)
	default:
		s.Notice(
			"no metadata of the model " + model + " (" + e.Error() + "); the limits in the specification are taken, as far as it names the model",
		)
	}
	return wire.NamedModel(model), nil
}

// Model is the metadata of a model. An unknown one is bad input, with the nearest names.
func (s *Session) Model(ctx context.Context, id string) (*eval.Model, error) {
	source, version := s.described()
	m, err := source.Model(ctx, version, id)
	switch e := eval.AsError(err); {
	case e == nil:
		return m, nil
	case e.NotFound():
		return s.missing(ctx, id, "", e)
	}
	return nil, s.Refused(err)
}

// Models lists the models of the service, by name.
func (s *Session) Models(ctx context.Context) ([]eval.Model, error) {
	source, version := s.described()
	models, err := source.Models(ctx, version)
	if err != nil {
		return nil, s.Refused(err)
	}
	slices.SortFunc(models, func(a, b eval.Model) int { return cmp.Compare(a.Name, b.Name) })
	return models, nil
}

// described is the source of metadata: the unnamed service, or the only one of the session, with its API version.
func (s *Session) described() (source runner.ModelSource, apiVersion string) {
	if s.Only == nil || *s.Only == "" {
		return s.service, s.Settings.Service.APIVersion
	}
	if s.Settings.Services[*s.Only].HasVersions() {
		apiVersion = wire.APIVersions[0]
	}
	return s.service.Of(*s.Only), apiVersion
}

// missing looks for a model that the service does not describe in its list. The error is bad input when the list lacks it, and
// incomplete without a list.
func (s *Session) missing(ctx context.Context, id, method string, e *eval.Error) (*eval.Model, error) {
	source, version := s.described()
	who := runner.Served("")
	if s.Only != nil {
		who = runner.Served(*s.Only)
	}
	missing := runner.Missing(ctx, source, runner.ModelUse{APIVersion: version, ID: id, Method: method}, e)
	switch {
	case missing.Listed != nil:
		return missing.Listed, nil
	case missing.Unlisted:
		return nil, eval.Incomplete("%s reports no metadata of models%s", who, missing.Words())
	}
	return nil, eval.BadInput("%s has no model %s%s; %s", who, id, missing.Words(), missing.Hint)
}

// batchOf is how many of the texts go into one call.
func batchOf(texts []textAt) int {
	n, size := 0, 0
	for n < len(texts) && n < wire.MaxEmbedTexts && (n == 0 || size+len(texts[n].Text) <= wire.MaxEmbedBytes) {
		size += len(texts[n].Text)
		n++
	}
	return n
}

// maxTexts bounds a file of texts to embed, in bytes.
const maxTexts = 64 << 20

// textAt is a text to embed and its place, for messages.
type textAt struct{ Where, Text string }

// ReadTexts reads texts to embed: the lines of files, or each whole. Without files it reads in.
func ReadTexts(in io.Reader, sources []string, whole bool) ([]textAt, error) {
	if len(sources) == 0 {
		sources = []string{files.Standard}
	}
	var out []textAt
	var names []string
	for _, file := range sources {
		data, err := readTexts(in, file)
		if err != nil {
			return nil, eval.BadInput("%w", err)
		}
		name := file
		if file == files.Standard {
			name = "standard input"
		}
		names = append(names, name)
		if whole {
			if text := string(data); strings.TrimSpace(text) != "" {
				out = append(out, textAt{Where: name, Text: text})
			}
			continue
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if text := strings.TrimSuffix(string(line), "\r"); strings.TrimSpace(text) != "" {
				out = append(out, textAt{Where: fmt.Sprintf("%s:%d", name, i+1), Text: text})
			}
		}
	}
	if len(out) == 0 {
		return nil, eval.Incomplete("there is no text to embed in %s", strings.Join(names, ", "))
	}
	return out, nil
}

func readTexts(in io.Reader, file string) ([]byte, error) {
	if file != files.Standard {
		f, err := files.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxTexts+1))
	if err == nil && len(data) > maxTexts {
		err = fmt.Errorf("%s has more than %d bytes", file, maxTexts)
	}
	return data, err
}
