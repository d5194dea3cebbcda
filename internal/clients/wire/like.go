package wire

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// pattern is a regular expression that is compiled when it is first needed: most processes need few of all that there are.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// vendors matches keys by their vendors' prefixes. The rest must be long or mixed enough to exclude words.
var vendors = pattern(`^(?:` + forms + `)$`)

const forms = `(?:sk|rk|pk)[-_][A-Za-z0-9_-]*[0-9A-Z][A-Za-z0-9_-]{7,}|(?:sk|rk|pk)[-_][A-Za-z0-9_-]{16,}|` +
	`gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|` +
	`AIza[\w-]{30,}|ya29\.[\w.-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}(?:\.[\w-]*){0,2}|` +
	`(?:hf|gsk|r8|npm|fw)_[A-Za-z0-9]{16,}|(?:xai|pplx|nvapi|tvly)-[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}`

// inFiles matches keys with the prefix of a vendor inside a text.
var inFiles = pattern(`\b(?:` + forms + `)`)

// ReplaceKeys replaces keys with the prefix of a vendor, and nothing that only looks random.
func ReplaceKeys(text string, by func(key string) string) string {
	return inFiles().ReplaceAllStringFunc(text, by)
}

// scheme matches the value of a header with credentials.
var scheme = pattern(`(?i)^(?:bearer|basic|token)\s+\S{8,}$`)

// IsKey reports whether a text has the prefix of a vendor's keys, or an authorization scheme.
func IsKey(text string) bool { return vendors().MatchString(text) || scheme().MatchString(text) }

// identifiers look random but are not secret: UUIDs and account ids.
var identifiers = pattern(`^(?:(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:org|proj|ws|wrkspc|acct|user)[-_]\w+)$`)

// MayBeKey guesses whether a text is random, as keys are and names are not.
func MayBeKey(text string) bool {
	return wholeWord().MatchString(text) && isRandom(text, 20) && !identifiers().MatchString(text)
}

// isRandom reports whether letters, capitals and digits alternate as in no name. least is a length.
func isRandom(text string, least int) bool {
	var letters, digits, turns, all int
	last := 0
	for _, r := range text {
		kind := 0
		switch {
		case unicode.IsDigit(r):
			kind = 1
			digits++
		case unicode.IsUpper(r):
			kind = 2
			letters++
		case unicode.IsLower(r):
			kind = 3
			letters++
		default:
			continue
		}
		if all++; last != 0 && kind != last {
			turns++
		}
		last = kind
	}
	return all >= least && letters > 0 && digits > 0 && turns*5 >= all
}

var (
	wholeWord = pattern(`^[\w.+/=~-]+$`)
	// words matches candidates for keys in prose. It includes slashes, which base64 keys contain; the parts
	// of paths are names.
	words = pattern(`[\w.+/=~-]+`)
	// keyed matches values whose names say that they are secret.
	keyed = pattern(
		`(?i)((?:token|key|secret|password|authorization)["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?|\b(?:bearer|basic)\s+)` +
			`([^\s"',;]{8,})`)
	plainWord = pattern(`^[a-z_-]+[.:)]*$`)
)

// OutOfProse masks what looks like a key, such as in the errors of a program, and keeps names and paths.
func OutOfProse(text string) string {
	text = keyed().ReplaceAllStringFunc(text, func(found string) string {
		m := keyed().FindStringSubmatch(found)
		if plainWord().MatchString(m[2]) { // for example invalid_grant
			return found
		}
		return m[1] + hidden
	})
	return words().ReplaceAllStringFunc(text, func(word string) string {
		if !strings.Contains(word, "/") || isPath(word) {
			return hideIn(word, "/")
		}
		return hideIn(word, "")
	})
}

const hidden = "[key]"

// isPath reports whether a word with slashes is a file name, or the path of an address.
func isPath(word string) bool {
	return strings.HasPrefix(word, "/") || strings.HasPrefix(word, "./") ||
		strings.HasPrefix(word, "../") || strings.HasPrefix(word, "~/")
}

// hideIn masks the parts of a word that look like keys. by separates the parts; "" makes the word one part.
func hideIn(word, by string) string {
	parts := []string{word}
	if by != "" {
		parts = strings.Split(word, by)
	}
	for i, part := range parts {
		name, value, found := strings.Cut(part, "=") // NAME=VALUE, unlike padding, has something after the =
		if !found || strings.Trim(value, "=") == "" {
			name, value = "", part
		} else {
			name += "="
		}
		if core := strings.TrimRight(value, "."); vendors().MatchString(core) || isRandom(core, 16) {
			parts[i] = name + hidden + value[len(core):]
		}
	}
	return strings.Join(parts, by)
}
