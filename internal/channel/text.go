package channel

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// CheckName refuses what cannot be the name of a channel or an agent.
func CheckName(field, name string) error {
	if !nameForm.MatchString(name) {
		return fault.New(fault.Invalid, "%q is not a name", clip(name)).On(field).
			WithFix("use a lower-case letter, then at most 39 lower-case letters, digits and dashes")
	}
	return nil
}

// clip shortens what an error message quotes.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// CheckText applies the rules of the door to one field: valid UTF-8, no U+0000,
// at most limit bytes. The error names the field and the limit.
func CheckText(field, s string, limit int) error {
	switch i := strings.IndexByte(s, 0); {
	case len(s) > limit:
		return fault.New(fault.Limited, "%d bytes, at most %d are taken", len(s), limit).On(field)
	case !utf8.ValidString(s):
		return fault.New(fault.Invalid, "it is not valid UTF-8 at byte %d", invalidAt(s)).On(field)
	case i >= 0:
		return fault.New(fault.Invalid, "it holds U+0000 at byte %d", i).On(field)
	}
	return nil
}

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}
