package session

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/oauth"
)

func (d *Doctor) addressed(j *Job) bool {
	if j.Settings.Service.BaseURL == "" {
		d.problem(
			"service", eval.CodeBadInput, "no service is named",
			"export EVALRUN_BASE_URL=https://..., or try things out with --emulator", "suite#the-service-block",
		)
		return false
	}
	return true
}

// credentials reports whether there is a key or a login. It prints only the length of the key.
func (d *Doctor) credentials(j *Job) bool {
	switch key := j.Settings.Key(); {
	case d.Options.Emulator != "":
		d.ok("key", "the emulator needs none")
	case j.Settings.Service.Auth == eval.AuthOAuth:
		return d.login(j)
	case key == "":
		d.problem(
			"key", eval.CodeBadInput, "EVALRUN_API_KEY is not set",
			"export EVALRUN_API_KEY=... (never a flag or a file: it would show), or log in and use --auth oauth",
			"running#environment",
		)
		return false
	default:
		d.ok("key", "EVALRUN_API_KEY is set, %s", diag.Count(utf8.RuneCountInString(key), "character"))
	}
	return true
}

// login checks the login in the user's configuration folder.
func (d *Doctor) login(j *Job) bool {
	store, err := oauth.UserStore()
	var login *oauth.Token
	if err == nil {
		login, err = store.Load()
	}
	if err != nil {
		d.problem("login", eval.CodeIncomplete, err.Error(), "", "oauth#logging-in")
		return false
	}
	left := time.Until(login.Expiry).Round(time.Second)
	state := "its access token does not expire"
	switch {
	case login.Expiry.IsZero():
	case left > 0:
		state = fmt.Sprintf("its access token is good for %s", left)
	case login.RefreshToken != "":
		state = "its access token has expired and is refreshed when it is needed"
	default:
		d.problem(
			"login", eval.CodeIncomplete, "its access token has expired, and there is no refresh token",
			"evalrun auth login --client-secrets FILE", "oauth#logging-in",
		)
		return false
	}
	project := cmp.Or(j.Settings.Service.Project, login.Client.Project)
	if project == "" {
		d.problem(
			"login", eval.CodeBadInput, "no cloud project is named",
			"name the one in which the API is enabled by --project, EVALRUN_PROJECT or service.project", "oauth#using-it",
		)
		return false
	}
	d.ok("login", "logged in, for the project %s; %s", project, state)
	return true
}

// proxies lists the proxies in the environment, without their credentials.
func (d *Doctor) proxies() {
	var found []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		value := cmp.Or(d.Options.Env(name), d.Options.Env(strings.ToLower(name)))
		switch {
		case value == "":
		case name == "NO_PROXY":
			found = append(found, name+" is set")
		default:
			address, ok := proxyOf(value)
			if !ok {
				d.warning(
					"proxy",
					name+" is not an address",
					"write it as http://HOST:PORT, with what is special in a password percent-encoded",
					"",
				)
				continue
			}
			found = append(found, name+" is "+address)
		}
	}
	if len(found) > 0 {
		d.ok("proxy", "%s", strings.Join(found, ", "))
	}
}

func proxyOf(value string) (address string, ok bool) {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	address = u.Scheme + "://" + u.Host
	if u.User != nil {
		address += " with a name or a password"
	}
	return address, true
}

// service checks the unnamed service by listing its models.
func (d *Doctor) service(ctx context.Context, j *Job) {
	session, err := Connect(j, d.Version, func(text string) {
		d.warning("service", strings.TrimPrefix(text, "warning: "), "", "")
	})
	if err != nil {
		d.problem("service", eval.CodeOf(err), err.Error(), "", "")
		return
	}
	defer session.Close()
	started := time.Now()
	models, err := session.Models(ctx)
	if e := eval.AsError(err); e != nil && e.NotFound() {
		d.warning(
			"service", fmt.Sprintf("%s reports no metadata of models: %s", session.Settings.Service.BaseURL, e.Message),
			"runs work without it, if the address is right", "",
		)
	} else if err != nil {
		d.problem(
			"service", eval.CodeIncomplete, err.Error(), "look at the address, the key, and whether a proxy or a firewall is in between",
			"install#check-the-set-up",
		)
	} else {
		text := fmt.Sprintf("%s answers in %s", session.Settings.Service.BaseURL, time.Since(started).Round(time.Millisecond))
		if session.Emulated() {
			text += "; it is evalrun's emulator: no model is behind it"
		}
		d.ok("service", "%s", text)
		d.models(ctx, session, models)
	}
	if skew, known := session.Skew(); known {
		d.clock(skew)
	}
}

func (d *Doctor) clock(skew time.Duration) {
	if skew.Abs() > mostSkew {
		d.warning(
			"clock", fmt.Sprintf("the clock of this machine is %s %s that of the service", skew.Abs(), aheadOr(skew)),
			"set it by a time server: logins and certificates depend on it", "",
		)
		return
	}
	d.ok("clock", "it agrees with the service's to within %s", max(skew.Abs(), time.Second))
}

// mostSkew is the difference between the clocks from which a warning is useful.
const mostSkew = 30 * time.Second

func aheadOr(skew time.Duration) string {
	if skew > 0 {
		return "behind"
	}
	return "ahead of"
}

func (d *Doctor) models(ctx context.Context, session *Session, listed []eval.Model) {
	named := modelsOf(session, "")
	switch {
	case !d.lookUp(ctx, session, named, listed, "`evalrun models` lists them"):
	case len(named) > 0:
		d.ok("models", "the service lists %d; there is %s", len(listed), strings.Join(named, ", "))
	case len(listed) == 0:
		d.warning("models", "the service lists none", "ask the operator of the service whether this key may use any", "services")
	default:
		d.ok("models", "the service lists %d; name a suite to look up the models that it uses", len(listed))
	}
}
