package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/internal/session"
)

type embedOptions struct {
	evalrun.Options
	model string
	whole bool
}

func (a *app) embedCommand() *cobra.Command {
	var o embedOptions
	cmd := &cobra.Command{
		Use: "embed [FILE...]", Short: "Print the vectors of texts as JSON lines",
		Long: "Embeds each line of the files, or of standard input, and prints one JSON object a line:\n" +
			"the text and its vector, in the order of the texts. It leaves out empty lines.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.embed(ctx, args, o) })
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Service(&o.Options)
	fs.Limits(&o.Options)
	fs.EmbeddingModel(&o.model)
	fs.BoolVar(&o.whole, "whole", false, "take each file as one text")
	flags.Config(cmd, &o.Options)
	return cmd
}

func (a *app) embed(ctx context.Context, files []string, o embedOptions) error {
	texts, err := session.ReadTexts(a.in, files, o.whole)
	if err != nil {
		return err
	}
	j, err := a.job(&o.Options)
	if err != nil {
		return err
	}
	session, err := a.caller().Connect(j)
	if err != nil {
		return err
	}
	defer session.Close()
	for e, err := range session.Embed(ctx, strings.TrimPrefix(o.model, "models/"), texts) {
		if err == nil {
			err = a.screen().JSON(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
