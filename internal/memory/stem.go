package memory

import "strings"

// stem cuts an English word to its stem by the rules that M. F. Porter
// published in 1980 ("An algorithm for suffix stripping"). The word is made of
// a to z only; words of one or two letters stay.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	w := plural(word)
	w = past(w)
	if stem, ok := strings.CutSuffix(w, "y"); ok && hasVowel(stem) {
		w = stem + "i"
	}
	w = replace(w, derived(), 0)
	w = replace(w, adjectives(), 0)
	w = strip(w)
	if base, ok := strings.CutSuffix(w, "e"); ok {
		if m := measure(base); m > 1 || m == 1 && !shortEnd(base) {
			w = base
		}
	}
	if strings.HasSuffix(w, "ll") && measure(w) > 1 {
		w = w[:len(w)-1]
	}
	return w
}

// suffix is an ending and what takes its place.
type suffix struct{ from, to string }

// derived are the endings of step 2, longest first where one ends in another.
func derived() []suffix {
	return []suffix{
		{"ational", "ate"}, {"ization", "ize"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"},
		{"tional", "tion"}, {"biliti", "ble"}, {"entli", "ent"}, {"ousli", "ous"}, {"ation", "ate"}, {"alism", "al"},
		{"aliti", "al"}, {"iviti", "ive"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"abli", "able"},
		{"alli", "al"}, {"ator", "ate"}, {"eli", "e"},
	}
}

// adjectives are the endings of step 3.
func adjectives() []suffix {
	return []suffix{{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ness", ""}, {"ful", ""}}
}

// replace puts the first ending that fits in place, if what stands before it
// has more than atLeast vowel-consonant groups.
func replace(w string, endings []suffix, atLeast int) string {
	for _, s := range endings {
		if base, ok := strings.CutSuffix(w, s.from); ok {
			if measure(base) > atLeast {
				return base + s.to
			}
			return w
		}
	}
	return w
}

// strip drops the endings of step 4.
func strip(w string) string {
	for _, s := range [...]string{
		"ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
		"al", "er", "ic", "ou",
	} {
		base, ok := strings.CutSuffix(w, s)
		if !ok {
			continue
		}
		if measure(base) > 1 && (s != "ion" || strings.HasSuffix(base, "s") || strings.HasSuffix(base, "t")) {
			return base
		}
		return w
	}
	return w
}

func plural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		return w[:len(w)-1]
	}
	return w
}

func past(w string) string {
	if base, ok := strings.CutSuffix(w, "eed"); ok {
		if measure(base) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	base, ok := strings.CutSuffix(w, "ed")
	if !ok || !hasVowel(base) {
		if base, ok = strings.CutSuffix(w, "ing"); !ok || !hasVowel(base) {
			return w
		}
	}
	switch {
	case strings.HasSuffix(base, "at"), strings.HasSuffix(base, "bl"), strings.HasSuffix(base, "iz"):
		return base + "e"
	case doubled(base) && !strings.ContainsAny(base[len(base)-1:], "lsz"):
		return base[:len(base)-1]
	case measure(base) == 1 && shortEnd(base):
		return base + "e"
	}
	return base
}

// consonant reports whether letter i is one; y is one after a vowel only.
func consonant(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

// measure counts the groups of vowels that a consonant follows.
func measure(w string) (n int) {
	vowel := false
	for i := range len(w) {
		c := consonant(w, i)
		if c && vowel {
			n++
		}
		vowel = !c
	}
	return n
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

func doubled(w string) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && consonant(w, n-1)
}

// shortEnd reports whether w ends in consonant, vowel, consonant, the last not
// w, x or y.
func shortEnd(w string) bool {
	n := len(w)
	return n > 2 && consonant(w, n-3) && !consonant(w, n-2) && consonant(w, n-1) && !strings.ContainsAny(w[n-1:], "wxy")
}
