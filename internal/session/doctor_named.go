package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

func (d *Doctor) named(ctx context.Context, j *Job, one *namedService) {
	if !d.opens(one) {
		d.warning("service", fmt.Sprintf("`%s` was not checked", one.Name), "settle the problems above first", "")
		return
	}
	session, err := connectTo(j, one.Name, d.Version, func(text string) {
		d.warning("service", strings.TrimPrefix(text, "warning: "), "", "")
	})
	if err != nil {
		d.problem("service", eval.CodeOf(err), err.Error(), "", "")
		return
	}
	defer session.Close()
	if one.NoMetadata {
		d.ok("service", "`%s` is %s, and was not checked: the suite has `metadata: false`", one.Name, one.URL)
		return
	}
	d.lists(ctx, session, one)
}

// opens reports whether there is what opens a service. It reports only the length of a key.
func (d *Doctor) opens(one *namedService) bool {
	if d.Options.Emulator != "" {
		return true
	}
	fine := true
	for variable, pos := range one.Unset() {
		fine = false
		d.problem(
			"service", eval.CodeBadInput, fmt.Sprintf("`%s` needs the environment variable %s (%s), which is not set", one.Name,
				variable, pos),
			"export "+variable+"=...", "services#keys-of-a-service",
		)
	}
	switch key := one.Key(); {
	case one.KeyEnv == "":
	case key == "":
		fine = false
		d.problem(
			"key", eval.CodeBadInput, fmt.Sprintf("%s is not set, and it holds the key of the service `%s`", one.KeyEnv,
				one.Name),
			"export "+one.KeyEnv+"=... (never a flag or a file: it would show)", "services#keys-of-a-service",
		)
	default:
		d.ok("key", "%s is set, %s, for the service `%s`", one.KeyEnv, diag.Count(utf8.RuneCountInString(key), "character"),
			one.Name)
	}
	return fine
}

// lists gets the models of a service, and reports models of the suites that are not among them.
func (d *Doctor) lists(ctx context.Context, session *Session, one *namedService) {
	started := time.Now()
	models, err := session.Models(ctx)
	switch e := eval.AsError(err); {
	case e == nil:
	case e.NotFound():
		d.warning(
			"service", fmt.Sprintf("`%s` (%s) reports no metadata of models: %s", one.Name, one.URL, e.Message),
			"runs work without it, if the address is right; `metadata: false` at the service does not ask for it",
			"services#keys-of-a-service",
		)
		return
	default:
		d.problem(
			"service", eval.CodeIncomplete, err.Error(),
			"look at the address, the key, and whether a proxy or a firewall is in between",
			"install#check-the-set-up",
		)
		return
	}
	text := fmt.Sprintf("`%s` (%s) answers in %s", one.Name, one.URL, time.Since(started).Round(time.Millisecond))
	if session.Emulated() {
		text = fmt.Sprintf("`%s` is evalrun's emulator: no model is behind it", one.Name)
	}
	d.ok("service", "%s; it lists %s", text, diag.Count(len(models), "model"))
	d.lookUp(ctx, session, modelsOf(session, one.Name), models, "`evalrun models --suite FILE` lists them")
}

// lookUp reports models that the service does not have, and whether it has all. Some have models that they do not list.
func (d *Doctor) lookUp(ctx context.Context, session *Session, ids []string, listed []eval.Model, advice string) (all bool) {
	all = true
	for _, id := range ids {
		if slices.ContainsFunc(listed, func(m eval.Model) bool { return m.ID() == id }) {
			continue
		}
		if _, err := session.Model(ctx, id); err != nil {
			all = false
			d.problem("models", eval.CodeOf(err), err.Error(), advice, "suite#rules-of-known-models")
		}
	}
	return all
}

// modelsOf returns the models of a service that the suites test; "" is the unnamed service.
func modelsOf(session *Session, service string) []string {
	var out []string
	for _, s := range session.Suites {
		for _, t := range s.Targets {
			m := t.Model()
			if m == nil || slices.Contains(out, m.ID) {
				continue
			}
			if of := m.Service; of == nil && service == "" || of != nil && of.Name == service {
				out = append(out, m.ID)
			}
		}
	}
	return out
}
