package main

import (
	"cmp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// vendorDescription is a vendor in the output of --json.
type vendorDescription struct {
	Name     string   `json:"name"`
	Protocol string   `json:"protocol"`
	BaseURL  string   `json:"baseUrl,omitempty"` // "" when the suite has to name it
	KeyEnv   []string `json:"keyEnv"`            // the usual variables of the key, none for servers without one
	KeyFound string   `json:"keyFound,omitempty"`
	Example  string   `json:"example"`
	Page     string   `json:"page,omitempty"`
}

func (a *app) vendorsCommand() *cobra.Command {
	json := false
	cmd := &cobra.Command{
		Use: "vendors", Short: "List the vendors of models, and whether a key is set", Args: cobra.NoArgs,
		Long: "Lists the vendors that a suite can name, as in `model: \"openai:gpt-4o-mini\"`, with the variable that holds\n" +
			"the key. The key is sent to the vendor's own hosts only.",
		RunE: func(*cobra.Command, []string) error {
			if json {
				return a.screen().JSON(a.vendors())
			}
			return a.writeVendors()
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.JSON(&json)
	return cmd
}

func (a *app) vendors() (out []vendorDescription) {
	for _, v := range wire.Vendors() {
		out = append(out, vendorDescription{
			v.Name, string(v.Protocol), v.BaseURL, append([]string{}, v.KeyEnv...), a.keyOf(&v), v.Name + ":" + v.Model, v.Page,
		})
	}
	return out
}

// keyOf is the first usual variable of a vendor that is set, "" for none.
func (a *app) keyOf(v *wire.Vendor) string {
	set := func(name string) bool { return a.getenv(name) != "" }
	if i := slices.IndexFunc(v.KeyEnv, set); i >= 0 {
		return v.KeyEnv[i]
	}
	return ""
}

func (a *app) writeVendors() error {
	tw := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	p := term.Printer{W: tw}
	p.Printf("MODEL\tKEY\n")
	for _, v := range a.vendors() {
		key := "set " + strings.Join(v.KeyEnv, " or ")
		switch {
		case v.KeyFound == "GITHUB_TOKEN", v.KeyFound == "HF_TOKEN": // which hold more than a key of this vendor
			key = "found in " + v.KeyFound + ": --allow-env " + v.KeyFound
		case v.KeyFound != "":
			key = "key found in " + v.KeyFound
		case len(v.KeyEnv) == 0:
			key = "no key"
			if v.Name == "vertex" {
				key = "`auth: {command: [gcloud, auth, print-access-token]}`"
			}
		}
		if v.BaseURL == "" {
			key += "; needs `baseUrl`"
		}
		p.Printf("%s\t%s\n", v.Example, key)
	}
	return cmp.Or(p.Err, tw.Flush())
}
