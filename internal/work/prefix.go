package work

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/witan-run/witan/internal/kit/fault"
)

const maxPrefix = 6

// reservedPrefixes are those of other short keys: approvals, decisions, effects.
func reservedPrefixes() []string { return []string{"AP", "D", "E"} }

// CheckPrefix refuses what is no prefix of keys: two to six capital letters and
// digits, a letter first.
func CheckPrefix(p string) error {
	ok := len(p) >= 2 && len(p) <= maxPrefix && p[0] >= 'A' && p[0] <= 'Z' && !slices.Contains(reservedPrefixes(), p)
	for _, r := range p {
		ok = ok && (r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}
	if !ok {
		return fault.New(fault.Invalid, "%q is no prefix of keys", clip(p)).On("prefix").WithFix("write two to six capital letters and digits, a letter first")
	}
	return nil
}

// prefixOf derives a free prefix from a name: its first three letters (BIL of
// Billing), else its first two and another of its letters, else a number behind.
// The same name and the same taken prefixes give the same answer.
func prefixOf(name string, taken func(string) (bool, error)) (string, error) {
	letters := keyLetters(name)
	try := []string{letters[:min(3, len(letters))]}
	for i := 3; i < len(letters); i++ {
		try = append(try, letters[:2]+letters[i:i+1])
	}
	stem := letters[:min(3, len(letters))]
	for n := 2; n < 1000; n++ {
		try = append(try, fmt.Sprintf("%s%d", stem, n))
	}
	for _, p := range try {
		if CheckPrefix(p) != nil {
			continue
		}
		if used, err := taken(p); err != nil || !used {
			return p, err
		}
	}
	return "", fault.New(fault.Conflict, "all prefixes of that name are taken").On("prefix").WithFix("give one")
}

// keyLetters are the letters of a name that can stand in a key, at least two.
func keyLetters(name string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(name) {
		switch {
		case r >= 'A' && r <= 'Z', unicode.IsDigit(r) && r < 0x80 && b.Len() > 0:
			b.WriteRune(r)
		default:
			b.WriteString(asciiOf[r])
		}
	}
	if b.Len() < 2 {
		return "WS" + b.String()
	}
	return b.String()
}

// asciiOf spells the accented capital letters of Latin alphabets; what is not
// here has no place in a key.
var asciiOf = func() map[rune]string { //nolint:gochecknoglobals // a table that nothing changes
	m := map[rune]string{'Æ': "AE", 'Œ': "OE", 'ẞ': "SS", 'Ø': "O", 'Ł': "L", 'Đ': "D", 'Þ': "TH"}
	for to, from := range map[string]string{"A": "ÀÁÂÃÄÅĀĂĄ", "C": "ÇĆČ", "D": "Ď", "E": "ÈÉÊËĒĖĘĚ", "G": "Ğ", "I": "ÌÍÎÏĪĮİ",
		"N": "ÑŃŇ", "O": "ÒÓÔÕÖŌŐ", "R": "ŘŔ", "S": "ŚŠŞȘ", "T": "ŤȚŢ", "U": "ÙÚÛÜŪŮŰ", "Y": "ÝŸ", "Z": "ŹŻŽ"} {
		for _, r := range from {
			m[r] = to
		}
	}
	return m
}()
