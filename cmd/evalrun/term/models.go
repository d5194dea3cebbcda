package term

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// WriteModels writes a table of models, or a few lines for each in a narrow terminal. width is 0 without a terminal.
func WriteModels(w io.Writer, models []eval.Model, width int) error {
	var table bytes.Buffer
	tw := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	p := Printer{W: tw}
	p.Printf("MODEL\tVERSION\tDISPLAY NAME\tINPUT\tOUTPUT\tTEMPERATURE\tTOP P\tTOP K\tMETHODS\tDESCRIPTION\n")
	for i := range models {
		m := &models[i]
		p.Printf(
			"%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", diag.CleanLine(m.ID()), diag.CleanLine(m.Version),
			diag.CleanLine(m.DisplayName), m.InputTokenLimit, m.OutputTokenLimit, optional(m.Temperature), optional(m.TopP),
			optional(m.TopK), diag.CleanLine(strings.Join(m.SupportedGenerationMethods, ", ")),
			diag.CleanLine(m.Description),
		)
	}
	if err := errors.Join(p.Err, tw.Flush()); err != nil {
		return err
	}
	if width > 0 {
		for line := range strings.Lines(table.String()) {
			if displaywidth.String(strings.TrimRight(line, "\n")) > width {
				return writeEach(w, models, width)
			}
		}
	}
	_, err := table.WriteTo(w)
	return err
}

func writeEach(w io.Writer, models []eval.Model, width int) error {
	for i := range models {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := WriteModel(w, &models[i], width); err != nil {
			return err
		}
	}
	return nil
}

// WriteModel writes all metadata of a model.
func WriteModel(w io.Writer, m *eval.Model, width int) error {
	p := Printer{W: w}
	p.Printf("%s\n", diag.CleanLine(m.ID()))
	line := func(name, value string) {
		if value != "" && value != "-" {
			for i, part := range diag.Wrap(diag.CleanLine(value), width-16) {
				if i > 0 {
					name = ""
				}
				p.Printf("  %-13s %s\n", name, part)
			}
		}
	}
	line("display name", m.DisplayName)
	line("version", m.Version)
	line("description", m.Description)
	line("input", diag.Count(m.InputTokenLimit, "token"))
	line("output", diag.Count(m.OutputTokenLimit, "token"))
	line("methods", strings.Join(m.SupportedGenerationMethods, ", "))
	line("temperature", optional(m.Temperature))
	line("topP", optional(m.TopP))
	line("topK", optional(m.TopK))
	return p.Err
}

func optional[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}
