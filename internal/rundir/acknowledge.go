package rundir

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Acknowledgement is what somebody said of an alarm over nights. It is kept with the names of baselines, which users commit.
type Acknowledgement struct {
	Run    string              `json:"run"`   // whose alarm it is
	RunAt  string              `json:"runAt"` // when that run began (RFC 3339, UTC)
	From   string              `json:"from"`  // when the run of the night began that the alarm named as the start
	Suite  string              `json:"suite"`
	Arm    string              `json:"arm"`
	Metric string              `json:"metric"`
	As     eval.AcknowledgedAs `json:"as"`
	SetAt  string              `json:"setAt"`
	By     string              `json:"by,omitempty"`
	Reason string              `json:"reason,omitempty"`
}

// Acknowledged lists the acknowledgements, the oldest first; none without a file.
func (d Dir) Acknowledged() ([]Acknowledgement, error) {
	all, err := d.names()
	if err != nil {
		return nil, err
	}
	return all.acknowledged, nil
}

// Acknowledge adds acknowledgements, with the time.
func (d Dir) Acknowledge(add ...Acknowledgement) error {
	all, err := d.names()
	if err != nil {
		return err
	}
	for _, a := range add {
		a.SetAt = time.Now().UTC().Format(time.RFC3339)
		all.acknowledged = append(all.acknowledged, a)
	}
	return d.write(all)
}

// UserName is who uses the folder: the name that git writes into commits, or else the name of the account.
func (d Dir) UserName(getenv func(string) string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "-C", d.Abs(""), "config", "--get", "user.name") //nolint:gosec // -C takes the folder as its value
	out, _ := git.Output()                                                                  // without git, the account's name is used
	return cmp.Or(strings.TrimSpace(string(out)), strings.TrimSpace(getenv("USER")), strings.TrimSpace(getenv("USERNAME")))
}
