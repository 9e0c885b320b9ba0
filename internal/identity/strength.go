package identity

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// MinPassword is the shortest password, in characters. There are no rules about
// kinds of characters: length and not being on everybody's list is what counts
// (NIST SP 800-63B §3.1.1.2).
const MinPassword = 10

// weakWords are what people build passwords of that everybody tries first. The
// list is short on purpose: limits on sign-in make long lists useless to an
// attacker.
func weakWords() []string {
	return []string{
		"password", "passwort", "passphrase", "passw", "pass", "motdepasse", "contrasena", "letmein", "welcome",
		"willkommen", "changeme", "secret", "default", "test", "testing", "guest", "user", "admin", "administrator",
		"root", "owner", "witan", "login", "signin", "master", "access", "trustno", "hello", "hallo", "iloveyou",
		"love", "sunshine", "princess", "monkey", "dragon", "football", "baseball", "soccer", "superman", "batman",
		"shadow", "summer", "winter", "spring", "autumn", "monday", "computer", "internet", "server", "system",
		"qwerty", "qwertz", "azerty", "asdf", "zxcv", "yxcv", "temp", "new", "my", "the", "is", "correcthorsebatterystaple",
	}
}

// walks are rows of keys and of the alphabet; a password that follows one is weak.
func walks() []string {
	return []string{"01234567890", "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "qwertzuiop", "azertyuiop",
		"asdfghjkl", "zxcvbnm", "yxcvbnm", "1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p", "1qaz2wsx3edc4rfv5tgb"}
}

var unleet = strings.NewReplacer("@", "a", "4", "a", "3", "e", "1", "i", "!", "i", "0", "o", "$", "s", "5", "s", "7", "t")

// CheckPassword refuses (Invalid, field password) a password that is too short,
// too long, or among the first that anybody would try. The error never holds
// the password. about are texts that make it guessable: the person's names.
func CheckPassword(password secret.String, about ...string) error {
	text := normalPassword(password)
	bad := func(format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On("password").
			WithFix("use %d characters or more; four random words do well", MinPassword)
	}
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return bad("a password is text")
	case utf8.RuneCountInString(text) < MinPassword:
		return bad("the password is shorter than %d characters", MinPassword)
	case len(text) > maxPassword:
		return bad("the password is longer than %d bytes", maxPassword)
	}
	low := strings.ToLower(text)
	switch {
	case period(low) <= 3:
		return bad("the password repeats itself")
	case walk(low):
		return bad("the password follows the keys or the alphabet")
	}
	words := weakWords()
	for _, a := range about {
		for part := range strings.FieldsFuncSeq(strings.ToLower(a), func(r rune) bool { return strings.ContainsRune(" ._-+@", r) }) {
			if utf8.RuneCountInString(part) >= 3 {
				words = append(words, part)
			}
		}
	}
	for _, form := range []string{low, unleet.Replace(low)} {
		if made(form, words) {
			return bad("the password is one of the first that anybody would try")
		}
	}
	return nil
}

// period returns the length of the shortest text that s is a repetition of.
func period(s string) int {
	r := []rune(s)
	for n := 1; n < len(r); n++ {
		same := true
		for i := n; i < len(r) && same; i++ {
			same = r[i] == r[i-n]
		}
		if same {
			return n
		}
	}
	return len(r)
}

// walk reports whether s is a piece of a walk, forward or backward, or two of
// at least five each.
func walk(s string) bool {
	var rows []string
	for _, w := range walks() {
		b := []byte(w)
		slices.Reverse(b)
		rows = append(rows, w, string(b))
	}
	in := func(s string) bool {
		return slices.ContainsFunc(rows, func(w string) bool { return strings.Contains(w, s) })
	}
	if in(s) {
		return true
	}
	for i := 5; i+5 <= len(s); i++ {
		if in(s[:i]) && in(s[i:]) {
			return true
		}
	}
	return false
}

// made reports whether s is one or more words with little around them: at most
// three letters and ten other characters; or a short number.
func made(s string, words []string) bool {
	var letters, others, digits int
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= utf8.RuneSelf {
			return r
		}
		others++
		if r >= '0' && r <= '9' {
			digits++
		}
		return -1
	}, s)
	if s == "" {
		return digits < 16
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	found := false
	for _, w := range words {
		if strings.Contains(s, w) {
			found = true
			s = strings.ReplaceAll(s, w, "\x00")
		}
	}
	letters = utf8.RuneCountInString(strings.ReplaceAll(s, "\x00", ""))
	return found && letters <= 3 && others <= 10
}
