package scorers

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/jsondiff"
	"github.com/evalrun/evalrun/internal/yaml"
)

func numberKind() Kind {
	return Kind{
		Name: "number", Summary: "the last number in the answer is this one",
		Version: 2,
		Doc: "Takes a number, or `{is, tolerance, relative, decimal}`. The last number in the answer is compared: exactly, within " +
			"`tolerance` (absolute) or within `relative` (a share of `is`: 0.01 is one percent). With both, the wider counts.\n\n" +
			"- Read: signs, decimals, exponents (1.5e3, 1.5 × 10^3, 10^6) and digits of every script. Thousands may be separated " +
			"by commas, apostrophes, underscores and no-break spaces.\n" +
			"- Left out: currencies, units and percent signs, so that `12%` is 12 and `5 million` is 5.\n" +
			"- Not read: words (twelve), fractions (of 3/4 the last number is 4), digits right behind a Latin, Greek or Cyrillic " +
			"letter (CO2), versions (1.2.3).\n" +
			"- `decimal: comma` (default `point`) reads `1.234` as thousands and `3,5` as a decimal.\n\n" +
			"An answer without a number fails, and `not:` does not turn that into a pass.",
		Example: "- number: {is: 42.5, tolerance: 0.1}", takes: yaml.Either(anyNumber(), numberKeys().Shape()), compile: compileNumber,
	}
}

func anyNumber() yaml.Shape { return yaml.Number(-math.MaxFloat64, math.MaxFloat64) }

var numberKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"is"},
		Keys: []yaml.Key{
			{Name: "is", Is: anyNumber(), Doc: "The number."},
			{Name: "tolerance", Is: yaml.Number(0, math.MaxFloat64), Doc: "How far off it may be."},
			{Name: "relative", Is: yaml.Number(0, math.MaxInt32), Doc: "How far off it may be, as a share of `is`."},
			{Name: "decimal", Is: yaml.Word("point", "comma"), Doc: "How decimals are written; point when not given."},
		},
	}
})

func compileNumber(a args) AnswerScorer {
	is := a.Args
	tolerance := 0.0
	comma := false
	if a.Args.IsMapping() {
		m := a.Args.Map(numberKeys().Names()...)
		is = m.Need("is")
		comma = m.Get("decimal").Word("point", "comma") == "comma"
		tolerance = toleranceOf(m, is)
	}
	is.Float(-math.MaxFloat64, math.MaxFloat64)
	if is.IsZero() || !is.IsScalar() {
		return nil
	}
	want := is.Written()
	within := ""
	if tolerance > 0 {
		within = " within " + strconv.FormatFloat(tolerance, 'g', -1, 64)
	}
	same := jsondiff.Within(tolerance)
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding {
		value, written, ok := lastNumber(got, comma)
		switch {
		case value == oddNumber, value == fineNumber && tolerance > 0:
			return Unscored("the last number has more than %d digits, which are not read%s: %s", maxDigits, within, quote(got))
		case value == hugeNumber, value == fineNumber:
			return Uncheckable("the last number has more than %d digits, expected %s%s: %s", maxDigits, want, within, quote(got))
		case !ok:
			return Uncheckable("there is no number in the answer, expected %s: %s", want, quote(got))
		case same(json.Number(want), value):
			return Pass("the last number is %s (from %s)%s", cutText(string(value)), quote(written), within)
		}
		return Fail("the last number is %s (from %s), expected %s%s", cutText(string(value)), quote(written), want, within)
	})
}

// toleranceOf is the allowed deviation: absolute, or a share of the expected number.
func toleranceOf(m yaml.Map, is yaml.Node) float64 {
	tolerance := m.Get("tolerance").Float(0, math.MaxFloat64)
	share := m.Get("relative").Float(0, math.MaxInt32)
	of := math.Abs(is.Float(-math.MaxFloat64, math.MaxFloat64))
	if m.Has("relative") && is.IsNumber() && of == 0 {
		m.Get("relative").Errorf("`tolerance` is absolute", "a share of 0 is 0: nothing but 0 would pass")
	}
	return max(tolerance, share*of)
}

// numberTail is the length of the end of an answer that is searched first.
const numberTail = 16 << 10

// lastNumber is the last number in a text: as JSON, and as written. Numbers that are too long to parse become
// hugeNumber, fineNumber or oddNumber.
func lastNumber(text string, comma bool) (value json.Number, written string, ok bool) {
	if cut := len(text) - numberTail; cut > 0 {
		for !utf8.RuneStart(text[cut]) {
			cut++
		}
		if value, written, at := lastNumberIn(text[cut:], comma); at > numberTail/2 {
			return value, written, true
		}
	}
	value, written, at := lastNumberIn(text, comma)
	return value, written, at >= 0
}

// A power of ten alone, or digits with an exponent, if any.
var numeral = compiled(`10\^[{(]?([+-]?[0-9]+)|` +
	`(\.?[0-9][0-9.,']*)(?:[eE]([+-]?[0-9]+)|` +
	`\s*(?:[×x*·⋅]|\\times|\\cdot)\s*10(?:\^[{(]?([+-]?[0-9]+)|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?`)

func lastNumberIn(text string, comma bool) (value json.Number, written string, at int) {
	text = longDigits().ReplaceAllStringFunc(plainDigits(eval.Visible(text), comma), shorterDigits)
	at = -1
	for _, m := range numeral().FindAllStringSubmatchIndex(text, -1) {
		digits, start := "1", m[0]
		if m[4] >= 0 {
			digits = text[m[4]:m[5]]
			if before, _ := utf8.DecodeLastRuneInString(text[:start]); digits[0] == '.' && unicode.IsLetter(before) {
				digits, start = digits[1:], start+1 // No.5
			}
		}
		if long := longMark(text[:start]); long != "" {
			if value, written, at = long, digits, start; exponentIn(text, m) != "" {
				value = oddNumber
			}
			continue
		}
		sign, begins, glued := signBefore(text, start)
		plain, fine := plainNumber(digits, comma)
		if glued || !fine {
			continue
		}
		value = json.Number(sign + plain)
		if exponent := exponentIn(text, m); exponent != "" {
			value += json.Number("e" + superscripts.Replace(exponent))
		}
		end := m[1] - (len(text[m[0]:m[1]]) - len(strings.TrimRight(text[m[0]:m[1]], ".,'")))
		written, at = text[begins:end], start
	}
	return value, written, at
}

// exponentIn is the exponent in a match of numeral, from whichever group matched.
func exponentIn(text string, m []int) string {
	exponent := ""
	for _, group := range []int{2, 6, 8, 10} {
		if m[group] >= 0 {
			exponent = text[m[group]:m[group+1]]
		}
	}
	return exponent
}

var longDigits = compiled(`[0-9.,']+`)

// maxDigits is the longest run of digits and separators that is parsed.
const maxDigits = 400

// Marks in front of the end of a number that is too long to parse. No text contains these code points after its
// hidden characters are removed.
const (
	hugeNumber json.Number = "\uffff" // larger than any number that a suite can expect
	fineNumber json.Number = "\ufffe" // with more decimals than a suite expects
	oddNumber  json.Number = "\ufdd0" // either, with an exponent
)

// longMark is the mark that a text ends with, "" without one.
func longMark(text string) json.Number {
	for _, mark := range []json.Number{hugeNumber, fineNumber} {
		if strings.HasSuffix(text, string(mark)) {
			return mark
		}
	}
	return ""
}

// shorterDigits shortens a very long run of digits. Of a list it keeps the last numbers. Of one long number it
// removes insignificant zeros or, if that is not enough, keeps the end behind a mark.
func shorterDigits(s string) string {
	if len(s) <= maxDigits {
		return s
	}
	end := s[len(s)-maxDigits:]
	if i := strings.IndexAny(end, ",'"); i >= 0 {
		return end[i:]
	}
	whole, decimals, _ := strings.Cut(s, ".")
	whole, decimals = "0"+strings.TrimLeft(whole, "0"), strings.TrimRight(decimals, "0")
	switch {
	case len(whole)+len(decimals) < maxDigits:
		return whole + "." + decimals
	case len(whole) > maxDigits*4/5: // larger than any float64
		return string(hugeNumber) + end
	}
	return string(fineNumber) + end
}

var superscripts = strings.NewReplacer(
	"⁰",
	"0",
	"¹",
	"1",
	"²",
	"2",
	"³",
	"3",
	"⁴",
	"4",
	"⁵",
	"5",
	"⁶",
	"6",
	"⁷",
	"7",
	"⁸",
	"8",
	"⁹",
	"9",
	"⁺",
	"+",
	"⁻",
	"-",
)

// plainDigits converts digits, signs and separators of every script to ASCII.
func plainDigits(text string, comma bool) string {
	decimal, thousands := '.', ','
	if comma {
		decimal, thousands = thousands, decimal
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_', r == '\u00a0', r == '\u202f', r == '\u2007', r == '\u2009', r == '’':
			return '\''
		case r < utf8.RuneSelf:
			return r
		case r == '\u2212', r == '\ufe63', r == '\uff0d':
			return '-'
		case r == '\u066b':
			return decimal
		case r == '\u066c':
			return thousands
		case unicode.Is(unicode.Nd, r):
			return '0' + digitValue(r)
		}
		return r
	}, text)
}

// digitValue is the value of a decimal digit: Unicode has them in runs of ten.
func digitValue(r rune) rune {
	for _, span := range unicode.Nd.R16 {
		if lo := rune(span.Lo); r >= lo && r <= rune(span.Hi) {
			return (r - lo) % 10
		}
	}
	for _, span := range unicode.Nd.R32 {
		if n := int64(r) - int64(span.Lo); n >= 0 && int64(r) <= int64(span.Hi) {
			return rune(n % 10)
		}
	}
	return 0
}

func currencies() []string {
	return []string{
		"USD",
		"EUR",
		"GBP",
		"JPY",
		"CHF",
		"CNY",
		"INR",
		"CAD",
		"AUD",
		"NZD",
		"SEK",
		"NOK",
		"DKK",
		"PLN",
		"CZK",
		"BRL",
		"MXN",
		"KRW",
		"RUB",
		"TRY",
		"ZAR",
		"Rs",
		"kr",
	}
}

// signBefore reads what is directly before digits: a sign, perhaps with a currency next to it. glued says that the
// digits belong to a word.
func signBefore(text string, start int) (sign string, begins int, glued bool) {
	begins, glued = currencyBefore(text, start)
	if glued {
		return "", start, true
	}
	r, n := utf8.DecodeLastRuneInString(text[:begins])
	if r != '-' && r != '+' {
		return "", begins, false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:begins-n])
	if unicode.IsLetter(before) || unicode.IsDigit(before) || before == ')' { // 10-20
		return "", begins, false
	}
	if r == '-' {
		sign = "-"
	}
	return sign, begins - n, false
}

// currencyBefore is the start of a currency sign or code that ends at start, or start itself. glued reports any
// other letter there.
func currencyBefore(text string, start int) (begins int, glued bool) {
	r, n := utf8.DecodeLastRuneInString(text[:start])
	if unicode.Is(unicode.Sc, r) {
		return start - n, false
	}
	near := text[max(0, start-8):start]
	letters := near[len(strings.TrimRightFunc(near, unicode.IsLetter)):]
	if slices.Contains(currencies(), letters) {
		return start - len(letters), false
	}
	return start, wordLetter(r)
}

var swapSeparator = strings.NewReplacer(".", ",", ",", ".")

var (
	plainDecimal = compiled(`^[0-9]*(\.[0-9]+)?$`)
	groupedComma = compiled(`^[0-9]{1,3}(,[0-9]{2,3})*,[0-9]{3}(\.[0-9]+)?$`) // in India also groups of two
	groupedMark  = compiled(`^[0-9]{1,3}('[0-9]{3})+(\.[0-9]+)?$`)
	groupedPoint = compiled(`^[0-9]{1,3}(\.[0-9]{3})+,[0-9]+$|^[0-9]{1,3}(\.[0-9]{3}){2,}$`) // cannot be mistaken for a decimal point
	pointAnyhow  = compiled(`^[0-9]+\.([0-9]{1,2}|[0-9]{4,})$`)
)

// plainNumber parses digits with separators. Of several numbers joined by commas the last one counts.
func plainNumber(s string, comma bool) (string, bool) {
	s = strings.TrimRight(s, ".,'")
	if comma && !pointAnyhow().MatchString(s) {
		s = swapSeparator.Replace(s)
	}
	switch {
	case plainDecimal().MatchString(s):
	case groupedComma().MatchString(s):
		s = strings.ReplaceAll(s, ",", "")
	case groupedMark().MatchString(s):
		s = strings.ReplaceAll(s, "'", "")
	case groupedPoint().MatchString(s):
		s = strings.ReplaceAll(strings.ReplaceAll(s, ".", ""), ",", ".")
	default:
		s = s[strings.LastIndexAny(s, ",'")+1:]
		if !plainDecimal().MatchString(s) {
			return "", false
		}
	}
	if s = strings.TrimLeft(s, "0"); s == "" || s[0] == '.' {
		s = "0" + s
	}
	return s, true
}
