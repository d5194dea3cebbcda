package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/service"
)

// embedOptions are the flags of `evalrun embed`.
type embedOptions struct {
	harness.Flags
	model string
	whole bool
}

func (a *app) embedCommand() *cobra.Command {
	var o embedOptions
	cmd := &cobra.Command{
		Use: "embed [FILE...]", Short: "Print the vectors of texts as JSON lines",
		Long: "Embeds each line of the files, or of standard input, and prints one JSON object a line:\n" +
			"the text and its vector, in the order of the texts. Empty lines are left out.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.embed(ctx, args, o) })
		},
	}
	serviceFlags(cmd.Flags(), &o.Flags)
	limitFlags(cmd.Flags(), &o.Flags)
	cmd.Flags().StringVar(&o.model, "model", service.DefaultEmbeddingModel, "model that makes the vectors")
	cmd.Flags().BoolVar(&o.whole, "whole", false, "take each file as one text")
	return cmd
}

// embedded is a line of output.
type embedded struct {
	Text   string      `json:"text"`
	Model  string      `json:"model"`
	Values eval.Vector `json:"values"`
}

func (a *app) embed(ctx context.Context, files []string, o embedOptions) error {
	texts, err := a.texts(files, o.whole)
	if err != nil {
		return err
	}
	session, err := a.connect(o.Flags)
	if err != nil {
		return err
	}
	defer session.Close()
	model := strings.TrimPrefix(o.model, "models/")
	return session.Embed(ctx, model, texts, func(text string, v eval.Vector) error {
		return a.printJSON(embedded{text, model, v})
	})
}

// maxTexts bounds what `evalrun embed` reads.
const maxTexts = 64 << 20

// texts reads what is to be embedded, with where each text stands.
func (a *app) texts(files []string, whole bool) ([]harness.Text, error) {
	if len(files) == 0 {
		files = []string{"-"}
	}
	var out []harness.Text
	var names []string
	for _, file := range files {
		data, err := a.read(file)
		if err != nil {
			return nil, exit.BadInput("%w", err)
		}
		name := file
		if file == "-" {
			name = "standard input"
		}
		names = append(names, name)
		if whole {
			if text := string(data); strings.TrimSpace(text) != "" {
				out = append(out, harness.Text{Where: name, Text: text})
			}
			continue
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if text := strings.TrimSuffix(string(line), "\r"); strings.TrimSpace(text) != "" {
				out = append(out, harness.Text{Where: fmt.Sprintf("%s:%d", name, i+1), Text: text})
			}
		}
	}
	if len(out) == 0 {
		return nil, exit.Incomplete("there is no text to embed in %s", strings.Join(names, ", "))
	}
	return out, nil
}

// read reads a file, or standard input for "-".
func (a *app) read(file string) ([]byte, error) {
	in := a.in
	if file != "-" {
		f, err := regular.Open(file)
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
