package secret

import (
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/internal/lazy"
)

// vendors are how keys and tokens of vendors begin, with enough behind it to exclude words.
const vendors lazy.Pattern = `^(?:` +
	`(?:sk|rk|pk)[-_][A-Za-z0-9_-]*[0-9A-Z][A-Za-z0-9_-]{7,}|(?:sk|rk|pk)[-_][A-Za-z0-9_-]{16,}|` +
	`gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|` +
	`AIza[\w-]{30,}|ya29\.[\w.-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}(?:\.[\w-]*){0,2}|` +
	`(?:hf|gsk|r8|npm|fw)_[A-Za-z0-9]{16,}|(?:xai|pplx|nvapi|tvly)-[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,})$`

// scheme begins the value of a header that holds credentials.
const scheme lazy.Pattern = `(?i)^(?:bearer|basic|token)\s+\S{8,}$`

// IsKey reports whether a text is a key or a token by its form: it begins like a key of a vendor, or with the scheme of
// credentials.
func IsKey(text string) bool { return vendors.Matches(text) || scheme.Matches(text) }

// identifiers are random too, but not secret: UUIDs, and the ids of accounts.
const identifiers lazy.Pattern = `^(?:(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:org|proj|ws|wrkspc|acct|user)[-_]\w+)$`

// MayBeKey reports whether a text looks drawn at random, as keys do and names do not. It is a guess.
func MayBeKey(text string) bool {
	return wholeWord.Matches(text) && isRandom(text, 20) && !identifiers.Matches(text)
}

// isRandom reports whether letters, capitals and digits take turns more often than they do in names. Shorter texts
// than least do not say enough.
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

const (
	wholeWord lazy.Pattern = `^[\w.+/=~-]+$`
	// words are what a key may be in prose. A slash is a part of keys in base64, and parts the names in paths.
	words lazy.Pattern = `[\w.+/=~-]+`
	// named are values that their names say are secret.
	named lazy.Pattern = `(?i)((?:token|key|secret|password|authorization)["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?|\b(?:bearer|basic)\s+)` +
		`([^\s"',;]{8,})`
	plainWord lazy.Pattern = `^[a-z_-]+[.:)]*$`
)

// OutOfProse takes everything that looks like a key out of a text, such as the errors of a program. Names and paths
// stay.
func OutOfProse(text string) string {
	text = named.Regexp().ReplaceAllStringFunc(text, func(found string) string {
		m := named.Regexp().FindStringSubmatch(found)
		if plainWord.Matches(m[2]) { // such as invalid_grant
			return found
		}
		return m[1] + hidden
	})
	return words.Regexp().ReplaceAllStringFunc(text, func(word string) string {
		if !strings.Contains(word, "/") || isPath(word) {
			return hideIn(word, "/")
		}
		return hideIn(word, "")
	})
}

// hidden is written instead of a key.
const hidden = "[key]"

// isPath reports whether a word with slashes is the name of a file, or the rest of an address.
func isPath(word string) bool {
	return strings.HasPrefix(word, "/") || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "~/")
}

// hideIn takes the parts of a word that look like keys out of it; all of it is one part where nothing divides it.
func hideIn(word, by string) string {
	parts := []string{word}
	if by != "" {
		parts = strings.Split(word, by)
	}
	for i, part := range parts {
		name, value, found := strings.Cut(part, "=") // NAME=VALUE; padding has nothing behind it
		if !found || strings.Trim(value, "=") == "" {
			name, value = "", part
		} else {
			name += "="
		}
		if core := strings.TrimRight(value, "."); vendors.Matches(core) || isRandom(core, 16) {
			parts[i] = name + hidden + value[len(core):]
		}
	}
	return strings.Join(parts, by)
}
