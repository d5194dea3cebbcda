package wire

// finder looks for many words at once, as Wu and Manber do: it looks at every n-th byte, by how far the three bytes before it let the
// next word begin. A word has at least leastWord bytes.
type finder struct {
	words []string
	short int // the length of the shortest one
	skip  [1 << 12]uint8
}

// leastWord is the length of what tells words apart.
const leastWord = 3

func newFinder(words []string) finder {
	f := finder{words: words}
	for i, word := range words {
		if i == 0 || len(word) < f.short {
			f.short = len(word)
		}
	}
	f.short = min(f.short, 255)
	for i := range f.skip {
		f.skip[i] = uint8(max(f.short-leastWord+1, 0)) //nolint:gosec // at most 255
	}
	for _, word := range words {
		for end := leastWord; end <= f.short; end++ {
			at := &f.skip[mixed(word[end-3], word[end-2], word[end-1])]
			*at = min(*at, uint8(f.short-end)) //nolint:gosec // the same
		}
	}
	return f
}

// mixed is a number of leastWord bytes.
func mixed(a, b, c byte) int { return (int(a) ^ int(b)<<3 ^ int(c)<<5) & (1<<12 - 1) }

// hasAny reports whether a text has one of the words.
func hasAny[T string | []byte](f *finder, text T) bool {
	for end := f.short; end <= len(text) && len(f.words) > 0; {
		skip := int(f.skip[mixed(text[end-3], text[end-2], text[end-1])])
		if skip > 0 {
			end += skip
			continue
		}
		rest := text[end-f.short:]
		for _, word := range f.words {
			if len(word) <= len(rest) && string(rest[:len(word)]) == word {
				return true
			}
		}
		end++
	}
	return false
}
