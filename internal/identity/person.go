package identity

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Person is somebody who may sign in to the account.
type Person struct {
	ID        id.ID
	Name      string // as shown, what the person wrote
	SignIn    string // normalised; unique in the account
	Role      Role
	State     State
	CreatedAt time.Time
	UpdatedAt time.Time
	Version   int64 // grows with each change
}

// State says whether a person may come in.
type State string

// The states. A person is never deleted: events name them.
const (
	Active   State = "active"
	Disabled State = "disabled"
)

// Valid reports whether s is a state.
func (s State) Valid() bool { return s == Active || s == Disabled }

const (
	maxName   = 80 // characters of a shown name
	maxSignIn = 64 // characters of a sign-in name
)

// NormalizeSignIn returns the one form of a sign-in name: NFKC, case folded,
// without surrounding space. "Mira", "mira " and the full-width form are the
// same name. It refuses (Invalid, field signIn) an empty one, one over 64
// characters, and anything but letters, digits and . _ - + @.
func NormalizeSignIn(s string) (string, error) {
	if !utf8.ValidString(s) || len(s) > 16*maxSignIn {
		return "", fault.New(fault.Invalid, "a sign-in name has at most %d characters", maxSignIn).On("signIn")
	}
	// Folding can undo a composition and the reverse: twice is a fixed point.
	s = strings.TrimSpace(s)
	for range 2 {
		s = norm.NFKC.String(cases.Fold().String(s))
	}
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		return "", fault.New(fault.Invalid, "a sign-in name is needed").On("signIn")
	case n > maxSignIn:
		return "", fault.New(fault.Invalid, "a sign-in name has at most %d characters", maxSignIn).On("signIn")
	}
	for i, r := range s {
		word := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && i > 0
		if !word && (i == 0 || !strings.ContainsRune("._-+@", r)) {
			return "", fault.New(fault.Invalid, "a sign-in name has letters, digits and . _ - + @, and begins with a letter or digit").On("signIn")
		}
	}
	return s, nil
}

// cleanName returns a shown name without surrounding space, or refuses it.
// Control and format characters are refused: they could make one name look
// like another in a decision.
func cleanName(s, field string) (string, error) {
	s = strings.TrimSpace(s)
	if !utf8.ValidString(s) {
		return "", fault.New(fault.Invalid, "a name is valid UTF-8").On(field)
	}
	if n := utf8.RuneCountInString(s); n == 0 || n > maxName {
		return "", fault.New(fault.Invalid, "a name has 1 to %d characters", maxName).On(field)
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c' {
			return "", fault.New(fault.Invalid, "a name has no control characters").On(field)
		}
	}
	return s, nil
}
