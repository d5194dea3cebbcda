package promptfoo

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

// inRequest is the dialect of templates in requests to applications.
var inRequest = dialect{functions: map[string]string{"prompt": "prompt", "messages": "messages", "sessionId": "trial"}}

func (c *converter) http(t *target, id string) {
	config := t.at.get("config")
	block := &mapping{}
	address, ok := c.url(t, config, id)
	if raw := config.get("request"); !raw.IsZero() {
		address, ok = c.rawRequest(block, raw, config.get("useHttps"))
	}
	if !ok {
		address = noAddress
		t.comments = append(t.comments, "TODO: name the address of the application in `url`")
	}
	block.entries = append([]keyValue{{key: "url", value: textValue(address)}}, block.entries...)
	c.requestParts(t, block, config)
	c.response(t, block, config)
	t.block.set("http", block)
	config.rest("session", "sessionParser", "sessionSource", "stateful", "transformRequest", "validateStatus", "tokenEstimation",
		"signatureAuth", "multipart", "tools", "tool_choice", "transformToolsFormat")
	config.ok("as the target " + t.name)
	for _, key := range []string{"validateStatus", "sessionParser"} {
		if s := config.get(key); !s.IsZero() {
			t.comments = append(t.comments, "TODO: `"+key+"` of the provider has no counterpart")
		}
	}
	for _, key := range []string{"body", "headers", "queryParams", "request", "transformRequest", "session", "signatureAuth", "multipart"} {
		if note := config.get(key).lost(); note != "" {
			t.comments = append(t.comments, "TODO: `"+key+"` of the provider: "+note)
			c.unjudged(t, "`"+key+"`: "+note+"; the application gets another request")
		}
	}
}

// lost is why a value, or a part of it, has no counterpart; "" if all has one.
func (s src) lost() string {
	if s.why() != nil {
		return s.note()
	}
	for _, e := range s.entries() {
		if note := e.lost(); note != "" {
			return note
		}
	}
	if s.IsSequence() {
		for _, item := range s.items() {
			if note := item.lost(); note != "" {
				return note
			}
		}
	}
	return ""
}

const noAddress = "https://your-application.invalid"

// hostVariable matches an address whose scheme or host has a variable.
var hostVariable = pattern{expression: `^(?:https?://)?[^/?]*?(\{\{\.(\w+)\}\})`}

// fillHosts fills in the variables of hosts, which are the same for all trials of a target in a suite.
func (c *converter) fillHosts() {
	for _, t := range c.targets {
		http, _ := t.block.get("http").(*mapping)
		if http == nil {
			continue
		}
		address := http.text("url")
		for m := hostVariable.regexp().FindStringSubmatch(address); m != nil; m = hostVariable.regexp().FindStringSubmatch(address) {
			value, ok := c.constant(m[2])
			if !ok {
				why := "the tests have other hosts in `" + m[2] + "`; write a target for each, and name it in `arms` of its tests"
				t.lose(why)
				address = noAddress
				continue
			}
			address = strings.Replace(address, m[1], value, 1)
		}
		if !absolute.matches(address) {
			t.lose("a suite names the whole address, such as https://host/path")
			address = noAddress
		}
		http.replace("url", textValue(address))
	}
}

func (c *converter) constant(name string) (value string, ok bool) {
	all := map[string]bool{}
	add := func(v yamlValue) {
		switch v := v.(type) {
		case textValue:
			value = string(v)
		case literal:
			value = string(v)
		case nil, *mapping, *sequence:
			value = ""
		}
		all[value] = true
	}
	for _, t := range c.cases {
		vars, _ := t.block.get("vars").(*mapping)
		matrix, _ := t.block.get("matrix").(*mapping)
		switch {
		case matrix != nil && matrix.get(name) != nil:
			return "", false
		case vars != nil && vars.get(name) != nil:
			add(vars.get(name))
		default:
			add(c.defaults.vars.get(name))
		}
	}
	for _, has := range c.tables {
		if has[name] {
			return "", false
		}
		add(c.defaults.vars.get(name))
	}
	return value, len(all) == 1 && value != "" && !strings.ContainsAny(value, "{}$ \n")
}

func (c *converter) url(t *target, config src, id string) (string, bool) {
	if s := config.get("url"); !s.IsZero() {
		text, ok := c.template(s, c.withEnv(s, s.text()), c.inHeader(t.at))
		if ok && !absolute.matches(text) && !hostVariable.matches(text) {
			s.todo("a suite names the whole address, such as https://host/path")
			return "", false
		}
		s.ok("as `http.url`")
		return c.query(config, withoutSecrets(s, text)), ok
	}
	if !strings.Contains(id, "://") {
		return "", false
	}
	text, ok := c.template(t.at, c.withEnv(t.at, id), c.inHeader(t.at))
	return c.query(config, withoutSecrets(t.at, text)), ok
}

var absolute = pattern{expression: `^(https?://|\$\{env:)`}

func (c *converter) query(config src, address string) string {
	for _, e := range config.get("queryParams").entries() {
		value, ok := c.text(e.src, c.inHeader(src{}))
		if !ok {
			continue
		}
		if !strings.Contains(value, "{{") && !strings.Contains(value, "${") {
			if isSecretName(e.key) || looksSecret(value) {
				value = e.hide(e.key, value)
			} else {
				value = url.QueryEscape(value)
			}
		}
		sign := "?"
		if strings.Contains(address, "?") {
			sign = "&"
		}
		address += sign + url.QueryEscape(e.key) + "=" + value
	}
	config.get("queryParams").ok("in `http.url`")
	return address
}

func (c *converter) requestParts(t *target, block *mapping, config src) {
	method, body := config.get("method"), config.get("body")
	switch m := strings.ToUpper(method.text()); {
	case m != "" && m != "POST":
		block.set("method", textValue(m))
	case m == "" && body.IsZero() && config.get("request").IsZero():
		block.set("method", textValue("GET"))
	}
	method.ok("as `http.method`")
	headers := c.headers(t, config)
	if !body.IsZero() {
		c.body(t, block, body)
		if _, isText := block.get("body").(textValue); isText && headers.get("content-type") == nil {
			const why = "promptfoo sends it where the configuration names none"
			headers.set("content-type", textValue("application/x-www-form-urlencoded"), why)
		}
	}
	if !headers.empty() {
		block.entries = slices.Insert(block.entries, 1, keyValue{key: "headers", value: headers})
	}
	if s := config.get("maxRetries"); !s.IsZero() {
		if n, ok := number(s); ok && n >= 0 {
			t.block.set("attempts", integer(int(n)+1))
		}
		s.ok("as `attempts`")
	}
	c.certificates(block, config.get("tls"))
}

func (c *converter) headers(t *target, config src) *mapping {
	headers := &mapping{}
	if auth := config.get("auth"); !auth.IsZero() {
		c.auth(t, headers, auth)
	}
	for _, e := range config.get("headers").entries() {
		if value, ok := c.header(e.src, e.key); ok && !strings.EqualFold(e.key, "content-length") {
			headers.set(strings.ToLower(e.key), textValue(value))
		}
	}
	config.get("headers").ok("as `http.headers`")
	return headers
}

func (c *converter) body(t *target, block *mapping, s src) {
	in := s
	if strings.HasPrefix(s.text(), "file://") {
		file, ok := c.load(s, s.text())
		if !ok {
			return
		}
		defer c.fates.account(file)
		in = file
	}
	value, ok := c.rendered(bodyOf(in), inRequest)
	if !ok && s.IsScalar() {
		s.todo("a template in it has no counterpart")
	}
	if text, is := value.(textValue); is {
		value = textValue(jsonInText(string(text)))
	} else {
		t.parses = true
	}
	block.set("body", value)
	if s.IsScalar() { // its keys have no line in the report
		s.unread(render(one("body", value)))
	}
	s.ok("as `http.body`")
	in.ok("as `http.body`")
}

// bodyOf parses a body that is JSON as text, so that its values keep their types.
func bodyOf(s src) src {
	if !s.IsScalar() {
		return s
	}
	if !looksJSON(s.text()) || !json.Valid([]byte(s.text())) {
		return s
	}
	var ignored diagList
	if n, ok := yaml.Parse(s.file, plainJSON([]byte(s.text())), &ignored); ok {
		return src{n, s.path, s.file, newFates(s.fates.secrets)}
	}
	return s
}

func (c *converter) header(s src, name string) (string, bool) {
	value, ok := c.headerText(s, name, s.text())
	s.ok("as a header")
	return value, ok
}

func (c *converter) auth(t *target, headers *mapping, s src) {
	switch s.get("type").text() {
	case "bearer":
		if value, ok := c.secret(s.get("token"), "TOKEN"); ok {
			headers.set("authorization", textValue("Bearer "+value))
		}
	case "api_key":
		if value, ok := c.secret(s.get("value"), "API_KEY"); ok && s.get("placement").text() == "header" {
			headers.set(strings.ToLower(s.get("keyName").text()), textValue(value))
			s.ok("as a header")
			return
		}
		s.todo("a key in the query of the address would be in logs; send it in a header")
	default:
		s.todo("`auth` of this type has no counterpart; send a token in a header")
	}
	if st := s.fates.byPath[s.path]; st.status == statusTODO {
		t.comments = append(t.comments, "TODO: `auth`: "+st.note)
		return
	}
	s.ok("as a header")
}

func (c *converter) secret(s src, name string) (string, bool) {
	if strings.Contains(s.text(), "{{") {
		return c.text(s, c.inHeader(src{}))
	}
	if s.IsZero() {
		return "", false
	}
	return s.hide(name, s.text()), true
}

func (c *converter) certificates(block *mapping, s src) {
	if s.IsZero() {
		return
	}
	out := &mapping{}
	for _, k := range [][2]string{{"certPath", "cert"}, {"keyPath", "key"}, {"caPath", "ca"}} {
		file := s.get(k[0])
		if file.IsZero() {
			continue
		}
		if k[1] == "key" {
			out.set(k[1], textValue(path.Join("files", path.Base(file.text()))))
			file.todo("a secret is never in a suite: put the private key at %s", path.Join("files", path.Base(file.text())))
			continue
		}
		if name, ok := c.copyFile(file, file.text()); ok {
			out.set(k[1], textValue(name))
		}
	}
	if out.empty() {
		s.todo("name PEM files in `tls: {cert, key, ca}` of the target")
		return
	}
	block.set("tls", out)
	s.differs("as `http.tls`")
}

func (c *converter) rawRequest(block *mapping, s src, https src) (address string, ok bool) {
	text := s.text()
	if strings.HasPrefix(text, "file://") {
		text = c.fileText(s, text)
	}
	head, body, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	first := strings.Fields(lines[0])
	if len(first) < 2 {
		if s.why() == nil {
			s.todo("write the request as `url`, `headers` and `body`")
		}
		return "", false
	}
	headers, host := c.rawHeaders(s, lines[1:])
	scheme := "http://"
	if https.text() == "true" {
		scheme = "https://"
	}
	https.ok("in `http.url`")
	address, ok = c.template(s, scheme+host+first[1], c.inHeader(src{}))
	block.set("method", textValue(strings.ToUpper(first[0])))
	if !headers.empty() {
		block.set("headers", headers)
	}
	if body = strings.TrimSpace(body); body != "" {
		body, _ = s.withoutSecret(body)
		if text, fine := c.template(s, body, inRequest); fine {
			block.set("body", textValue(jsonInText(text)))
			s.unread(text)
		}
	}
	s.ok("as `http.url`, `http.headers` and `http.body`")
	return withoutSecrets(s, address), ok
}

func (c *converter) rawHeaders(s src, lines []string) (out *mapping, host string) {
	out = &mapping{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch {
		case name == "host":
			host = value
		case slices.Contains([]string{"content-length", "connection", "accept-encoding", ""}, name):
		default:
			if text, ok := c.headerText(s, name, value); ok {
				out.set(name, textValue(text))
			}
		}
	}
	return out, host
}

// webhook makes a target that gets {prompt, config} and answers {output}.
func (c *converter) webhook(t *target, address string) {
	body := new(mapping).set("prompt", textValue("{{prompt}}"))
	config := t.at.get("config")
	if config.IsMapping() {
		body.set("config", escapedValue(config))
		config.ok("in `http.body`")
	}
	url := textValue(withoutSecrets(t.at, address))
	t.block.set("http", new(mapping).set("url", url).set("body", body).set("answer", textValue(".output")))
}

func (c *converter) response(t *target, block *mapping, config src) {
	s := config.get("transformResponse")
	if s.IsZero() {
		s = config.get("responseParser")
	}
	config.get("responseParser").ok("unless `transformResponse` takes its place")
	config.get("useHttps").ok("of a raw request")
	path, ok := responsePath(s.text())
	switch {
	case s.IsZero():
		t.json = "true"
	case ok:
		if path != "" {
			block.set("answer", textValue(path))
		}
		t.json = "true"
		s.ok("as `http.answer: " + cmp.Or(path, ".") + "`")
	default:
		c.responseCode(t, s)
	}
}

// responseCode keeps a transform that is code. The answer of the target is then the whole response, and
// scorers apply the code.
func (c *converter) responseCode(t *target, s src) {
	file, ok := c.codeFile(s, "response")
	if !ok {
		t.comments = append(t.comments, "TODO: `transformResponse`: write jq in `answer` that gives the text")
		c.unjudged(t, "`transformResponse`: "+s.note())
		return
	}
	t.changes = append(t.changes, file)
	if strings.HasPrefix(s.text(), "file://") {
		t.response = file
	}
	const note = "the answer is the whole response: scorers see what the code in %s makes of it, judges see the response; " +
		"write jq in `answer` instead"
	s.fates.set(s.path, statusDiffers, strings.Replace(note, "%s", file, 1))
	t.comments = append(t.comments, strings.Replace(note, "%s", file, 1))
}
