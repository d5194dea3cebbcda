package promptfoo

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	words "github.com/evalrun/evalrun/internal/text"
)

// This file keeps secrets of the source out of the suite. Readers replace them by environment variables; what no reader knows is masked
// in every file that is written.

type secrets struct {
	variables []secretVariable // in the order of the source
	passwords []string         // of addresses, which no variable replaces
	masked    bool             // a text that looks like a key was replaced
	values    *wire.Secrets    // valued of the above, which are only ever added
	valued    int
	kept      map[string]bool // what looks like a key in variables of tests
	keptIn    map[string]bool // paths of these variables
	stems     names
	known     map[string]string // variables by name and value
}

type secretVariable struct {
	name  string
	value string
	path  string // in the source
}

// variable returns the variable that replaces a value. Different values get different variables, since they may be for different hosts.
func (l *secrets) variable(name, value, path string) string {
	stem, ending := name, ""
	if cut, is := strings.CutSuffix(name, apiKeyEnding); is { // keyEnv wants the ending
		stem, ending = cut, apiKeyEnding
	}
	key := ending + "\x00" + stem
	if l.known == nil {
		l.known = map[string]string{}
	}
	if known := l.known[key+"\x00"+value]; known != "" {
		return known
	}
	name = strings.TrimPrefix(l.stems.free(key, "_"), ending+"\x00") + ending
	l.known[key+"\x00"+value] = name
	l.variables = append(l.variables, secretVariable{name, value, path})
	return name
}

const apiKeyEnding = "_API_KEY"

func (l *secrets) names() (out []string) {
	for _, v := range l.variables {
		out = append(out, v.name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// minMasked is the length from which a secret is masked wherever it appears: a shorter one may be a word.
const minMasked = 8

// bearer matches a header with credentials in code, such as that of a check in JavaScript.
var bearer = pattern{expression: `(?i)(authorization["']?\s*[:,=]\s*["'` + "`" + `]?(?:bearer|basic|token)\s+)[^\s"'` + "`" + `${}]{6,}`}

var privateKey = pattern{expression: `(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`}

// outOf masks what is left of secrets in a file: values found elsewhere, and what looks like a key of a vendor.
func (l *secrets) outOf(text string) string {
	if n := len(l.passwords) + len(l.variables); l.values == nil || n != l.valued {
		found := slices.Clone(l.passwords)
		for _, v := range l.variables {
			found = append(found, v.value)
		}
		found = slices.DeleteFunc(found, func(value string) bool { return len(value) < minMasked })
		l.values, l.valued = wire.NewSecrets(found...), n
	}
	out := replaceKeys(l.values.OutOfText(text), func(key string) string {
		if l.kept[folded(key)] {
			return key
		}
		return "[key]"
	})
	l.masked = l.masked || out != text
	return out
}

// outOfValue masks what is left of secrets in the texts of a value, before they are quoted where they must be.
func (l *secrets) outOfValue(value yamlValue) yamlValue {
	switch v := value.(type) {
	case literal: // a number or a word
	case textValue:
		return textValue(l.outOf(string(v)))
	case *mapping:
		for i := range v.entries {
			v.entries[i].value = l.outOfValue(v.entries[i].value)
		}
	case *sequence:
		for i := range v.items {
			v.items[i].value = l.outOfValue(v.items[i].value)
		}
	}
	return value
}

// keep notes the value of a test's variable. What looks like a key in it may be what is tested, and stays.
func (l *secrets) keep(path, text string) {
	replaceKeys(text, func(key string) string {
		if l.kept == nil {
			l.kept, l.keptIn = map[string]bool{}, map[string]bool{}
		}
		l.kept[folded(key)], l.keptIn[path] = true, true
		return key
	})
}

// mostKept bounds the variables that the report names for what looks like a key.
const mostKept = 20

// folded is a key without the line breaks and the indentation that a file may have in it.
var folded = strings.NewReplacer(`\n`, "", "\n", "", "\r", "", " ", "", "\t", "").Replace

// replaceKeys replaces the keys of vendors. It looks only at lines that may have one, because a report has a line for each of many
// keys.
func replaceKeys(text string, by func(key string) string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if mayHaveKey(line) {
			line = wire.ReplaceKeys(line, by)
		}
		b.WriteString(line)
	}
	out := b.String()
	if strings.Contains(out, "-----BEGIN") {
		out = privateKey.regexp().ReplaceAllStringFunc(out, by)
	}
	if strings.Contains(strings.ToLower(out), "authorization") {
		out = bearer.regexp().ReplaceAllStringFunc(out, func(m string) string {
			name := bearer.regexp().FindStringSubmatch(m)[1]
			return name + by(strings.TrimPrefix(m, name))
		})
	}
	return out
}

// mayHaveKey reports whether a line has a word of the length of the shortest key with more than small letters in it.
func mayHaveKey(line string) bool {
	const shortest = 11
	length, mixed := 0, false
	for i := range len(line) {
		switch c := line[i]; {
		case c >= 'a' && c <= 'z' || c == '.':
			length++
		case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '-' || c == '_':
			length, mixed = length+1, true
		default:
			length, mixed = 0, false
		}
		if length >= shortest && mixed {
			return true
		}
	}
	return false
}

func (l *secrets) section() string {
	var b strings.Builder
	if names := l.names(); len(names) > 0 {
		b.WriteString("\n## Environment variables to set\n\n")
		for _, name := range names {
			i := slices.IndexFunc(l.variables, func(v secretVariable) bool { return v.name == name })
			path := strings.ReplaceAll(diag.CleanLine(l.variables[i].path), "`", "'")
			fmt.Fprintf(&b, "- `%s`: `%s`. The value was not copied; revoke it if it was committed\n", name, path)
		}
	}
	if l.keptIn != nil {
		in := words.SomeNames(slices.Sorted(maps.Keys(l.keptIn)), mostKept)
		fmt.Fprintf(&b, "\nVariables of tests that look like keys were copied; revoke what is one: %s.\n", diag.CleanLine(in))
	}
	if l.masked {
		b.WriteString("\nTexts that look like keys were replaced by `[key]` in the files of the suite.\n")
	}
	return b.String()
}

var (
	// secretNames matches names of values that are secret, in lower case and without punctuation.
	secretNames = pattern{
		expression: `(?:key|token|secrets?|secretvalue|passw(?:or)?d|passphrase|passcode|pwd|cookies?|session|authorization|` +
			`credentials?|bearer|jwt|connectionstring|apikeys?|accesskeyid|sessionid)$|^(?:auth|pat|pin|dsn)$`,
	}
	// plainNames are names like them whose values are no secrets.
	plainNames = pattern{
		expression: `(?:cache|primary|sort|group|partition|foreign|public|answer|output|input|response|result|row|idempotency|` +
			`metric|json|prompt|label|sessionname)key$|(?:eos|bos|pad|stop|end|start|unk|sep|mask)token$`,
	}
	notWord = pattern{expression: `[^a-z0-9]+`}
	// scheme matches the first word of a header with credentials.
	scheme = pattern{expression: `^[A-Za-z][A-Za-z-]*$`}
)

// isSecretName reports whether the value of a key, header or parameter is secret.
func isSecretName(name string) bool {
	plain := notWord.regexp().ReplaceAllString(strings.ToLower(name), "")
	return secretNames.matches(plain) && !plainNames.matches(plain)
}

// isSession reports whether a value of a body names a conversation, as a word of the author or as a secret of a user: its form decides.
func isSession(name string) bool {
	plain := notWord.regexp().ReplaceAllString(strings.ToLower(name), "")
	return strings.HasSuffix(plain, "session") || strings.HasSuffix(plain, "sessionid")
}

// looksSecret judges a value by its form.
func looksSecret(text string) bool {
	text = strings.TrimSpace(text)
	return wire.IsKey(text) || wire.MayBeKey(text)
}

// isPlaceholder reports whether a text has a template or a reference instead of a secret.
func isPlaceholder(text string) bool {
	return strings.TrimSpace(text) == "" || strings.HasPrefix(text, "file://") ||
		strings.Contains(text, "{{") || strings.Contains(text, "${env:")
}

// hide returns the reference to the variable that replaces a secret.
func (s src) hide(name, value string) string {
	v := s.fates.secrets.variable(variableName("APP_"+name), value, s.path)
	s.differs("a secret is never in a suite: set %s, and revoke what was committed", v)
	return "${env:" + v + "}"
}

// inConfig reports whether a value is a setting of a provider, and not data of a prompt or a test.
func (s src) inConfig() bool {
	provider := strings.HasPrefix(s.path, "providers") || strings.HasPrefix(s.path, "targets")
	return configPath.matches(s.path) && (provider || !varsPath.matches(s.path))
}

var varsPath = pattern{expression: `(?:^|[.\] ])vars(?:[.\[]|$)`}

var configPath = pattern{expression: `(?:^|[.\] ])(?:config|headers|extra_headers|auth|request|body|env)(?:[.\[]|$)`}

func (s src) lastKeys() (own, outer string) {
	words := strings.FieldsFunc(pathIndex.regexp().ReplaceAllString(s.path, ""), func(r rune) bool { return r == '.' || r == ' ' })
	if n := len(words); n > 1 {
		return words[n-1], words[n-2]
	} else if n == 1 {
		return words[0], ""
	}
	return "", ""
}

var (
	pathIndex = pattern{expression: `\[\d+\]`}
	// allSecret matches mappings whose values are all secret.
	allSecret = pattern{expression: `(?i)^(?:cookies|secrets|tokens|credentials|passwords|api_?keys)$`}
)

// withoutSecret returns the text of a setting without its secrets, and whether it had any.
func (s src) withoutSecret(text string) (string, bool) {
	if !s.inConfig() {
		return text, false
	}
	own, outer := s.lastKeys()
	named := isSecretName(own) && !isSession(own) || allSecret.matches(own) || allSecret.matches(outer)
	if !isPlaceholder(text) && (named || looksSecret(text)) {
		return s.hide(own, text), true
	}
	clean := withoutSecrets(s, s.hidePairs(text))
	return clean, clean != text
}

// pair matches a name and its value in JSON, in a form, or in a header.
var pair = pattern{expression: `([A-Za-z][\w-]*)(\\*["']\s*:\s*\\*["']|=["']?|:\s*(?i:bearer|basic|token)\s+)([^\s"'&,;{}$\\]+)`}

// hidePairs replaces the values of secret names inside a text.
func (s src) hidePairs(text string) string {
	return pair.regexp().ReplaceAllStringFunc(text, func(m string) string {
		p := pair.regexp().FindStringSubmatch(m)
		if (!isSecretName(p[1]) || isSession(p[1])) && !looksSecret(p[3]) {
			return m
		}
		return p[1] + p[2] + s.hide(p[1], p[3])
	})
}

// unread reports secrets in a place for which a suite does not read the environment.
func (s src) unread(text string) {
	if strings.Contains(text, "${env:") {
		s.todo("a suite reads the environment in addresses and headers only: send the secret in a header")
	}
}

// headerText returns the value of a header. It replaces a literal secret by an environment variable.
func (c *converter) headerText(s src, name, text string) (string, bool) {
	if isSecretName(name) || looksSecret(text) {
		text = s.hideHeader(name, text)
	}
	value, ok := c.template(s, strings.ReplaceAll(text, "${env:", envMark), c.inHeader(src{}))
	value = strings.ReplaceAll(value, envMark, "${env:")
	if ok && strings.Contains(value, "${env:") {
		s.differs("from the environment: set the variable that begins with EVALRUN_")
	}
	return value, ok
}

// envMark replaces the beginning of a variable while a template is translated.
const envMark = "\x00env:"

// hideHeader replaces the secrets of a header: its value after a scheme, or each value of cookies that is no template.
func (s src) hideHeader(name, text string) string {
	if strings.Contains(strings.ToLower(name), "cookie") {
		var parts []string
		for part := range strings.SplitSeq(text, ";") {
			key, value, is := strings.Cut(strings.TrimSpace(part), "=")
			switch {
			case is && !isPlaceholder(value):
				part = key + "=" + s.hide(name+"_"+key, value)
			case !is && !isPlaceholder(part):
				part = s.hide(name, part)
			}
			parts = append(parts, strings.TrimSpace(part))
		}
		return strings.Join(parts, "; ")
	}
	if isPlaceholder(text) {
		return text
	}
	word, rest, two := strings.Cut(strings.TrimSpace(text), " ")
	if two && scheme.matches(word) && !strings.Contains(rest, " ") {
		return word + " " + s.hide(name, rest)
	}
	return s.hide(name, text)
}

// Possible secrets in an address: a user with a password, and the values of parameters.
var (
	userInAddress = pattern{expression: `(\w+://)[^/?#\s"']*@`}
	parameter     = pattern{expression: `([?&])([^=&#\s]+)=([^&#\s"']+)`}
	inAddress     = pattern{expression: `(?i)^(?:sig|code|sid)$`} // secret names of parameters, and usual words elsewhere
)

func withoutSecrets(s src, address string) string {
	if userInAddress.matches(address) {
		s.differs("a secret is never in a suite: send the user and the password in a header, and revoke what was committed")
		for _, m := range userInAddress.regexp().FindAllString(address, -1) {
			_, user, _ := strings.Cut(strings.TrimSuffix(m, "@"), "://")
			s.fates.secrets.forget(user)
		}
		address = userInAddress.regexp().ReplaceAllString(address, "$1")
	}
	return parameter.regexp().ReplaceAllStringFunc(address, func(m string) string {
		p := parameter.regexp().FindStringSubmatch(m)
		name, err := url.QueryUnescape(p[2])
		isSecret := inAddress.matches(name) || isSecretName(name) || looksSecret(p[3])
		if err != nil || !isSecret || strings.ContainsAny(p[3], "{}$") {
			return m
		}
		return p[1] + p[2] + "=" + s.hide(name, p[3])
	})
}

// forget masks a value that no variable replaces.
func (l *secrets) forget(user string) {
	_, password, _ := strings.Cut(user, ":")
	if password != "" {
		l.passwords = append(l.passwords, password)
	}
}

// hideWords replaces the secrets in the words of a command: values of flags, and pairs in words.
func (s src) hideWords(words []string) {
	for i, word := range words {
		flag, isFlag := strings.CutPrefix(word, "-")
		if next := i + 1; isFlag && !strings.Contains(word, "=") && next < len(words) && isSecretName(flag) &&
			!strings.HasPrefix(words[next], "-") && !isPlaceholder(words[next]) {
			words[next] = s.hide(strings.TrimLeft(flag, "-"), words[next])
			continue
		}
		switch {
		case isPlaceholder(word):
		case looksSecret(word):
			words[i] = s.hide("ARGUMENT", word)
		default:
			name, value, is := strings.Cut(word, ":")
			if is && scheme.matches(name) && isSecretName(name) && !strings.HasPrefix(value, "//") {
				word = name + ": " + s.hideHeader(name, strings.TrimSpace(value))
			}
			words[i] = withoutSecrets(s, s.hidePairs(word))
		}
	}
}

var variableReference = pattern{expression: `\$\{env:(\w+)\}`}

// passes lists the variables that texts refer to in the `env` of a program, whose shim fills them in.
func (m *mapping) passes(all ...string) {
	var names []string
	for _, m := range variableReference.regexp().FindAllStringSubmatch(strings.Join(all, "\n"), -1) {
		if files.IsPrivate(m[1], nil) && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if names != nil {
		m.set("env", texts(names...))
	}
}
