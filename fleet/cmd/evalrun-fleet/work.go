package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/fleet"
)

// workOptions holds the flags of `evalrun-fleet work`.
type workOptions struct {
	evalrun.Options
	url, creds string
	places     int
	wait       time.Duration
}

func workCommand() *cobra.Command {
	var o workOptions
	cmd := &cobra.Command{
		Use: "work --nats URL", Short: "Make calls for a coordinator, until its run is complete", Args: cobra.NoArgs,
		Long: "Keys and addresses are those of this machine: EVALRUN_API_KEY, --base-url, --service. Suites of the coordinator are\n" +
			"untrusted here, except for what --allow or --trust lifts. The worker waits while the coordinator is away, up to --wait.",
		Example: "  evalrun-fleet work --nats nats://127.0.0.1:4222 --creds nightly/fleet.creds --concurrency 16",
		RunE:    func(cmd *cobra.Command, _ []string) error { return work(cmd, &o) },
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.StringVar(&o.url, "nats", "", "the `URL` that the coordinator prints")
	fs.StringVar(&o.creds, "creds", "", "credentials in `FILE`, RUN/fleet.creds of the coordinator (also EVALRUN_FLEET_CREDS)")
	fs.IntVarP(&o.places, "concurrency", "j", 8, "make `N` calls at once")
	fs.Var((*flags.Duration)(&o.wait), "wait", "wait for a coordinator for this long, then end with exit code 4 (default 10m)")
	fs.Service(&o.Options)
	fs.Untrusted(&o.Options)
	fs.Trust(&o.Options)
	fs.Ledger(&o.Options)
	return cmd
}

func work(cmd *cobra.Command, o *workOptions) error {
	cfg, err := o.config()
	if err != nil {
		return err
	}
	return fleet.Work(cmd.Context(), cfg)
}

func (o *workOptions) config() (cfg fleet.WorkerConfig, err error) {
	if o.places < 1 || o.places > fleet.MaxPlaces {
		return cfg, eval.BadInput("--concurrency takes a number from 1 to %d", fleet.MaxPlaces)
	}
	creds := &fleet.Creds{}
	path := o.creds
	if path == "" {
		path = os.Getenv("EVALRUN_FLEET_CREDS")
	}
	if path != "" {
		if creds, err = fleet.ReadCreds(path); err != nil {
			return cfg, err
		}
	}
	if o.url == "" {
		o.url = creds.URL
	}
	if o.url == "" {
		return cfg, eval.BadInput("name the address that `evalrun-fleet serve` prints by --nats URL")
	}
	o.Untrusted, o.Getenv, o.Version = !o.Trust, os.Getenv, version
	return fleet.WorkerConfig{
		Creds: creds, URL: o.url, Places: o.places, Version: version, Wait: o.wait, Leave: catch(),
		Notice:  func(text string) { fmt.Fprintln(os.Stderr, diag.CleanLine(text)) },
		Options: o.Options,
	}, nil
}
