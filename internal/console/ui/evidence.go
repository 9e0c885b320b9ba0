package ui

import (
	"strconv"
	"strings"
)

// Ref names the event that supports a sentence. The zero Ref supports nothing.
type Ref struct {
	// Seq is the event's number as it is printed, "48,301" or "2-14"; no '#'.
	Seq string
	// Href opens the event in the journal; empty prints the number without a link.
	Href string
}

// Known reports whether there is an event behind the sentence.
func (r Ref) Known() bool { return r.Seq != "" }

// Fact is a sentence that the platform states. Without a Ref it is not printed.
type Fact struct {
	Text string
	Ref  Ref
}

// Known reports whether the fact may be printed.
func (f Fact) Known() bool { return f.Text != "" && f.Ref.Known() }

// Link is a door: text that opens a page.
type Link struct {
	// Key is a short typed id printed in mono before the text ("BIL-142"); may be empty.
	Key  string
	Text string
	// Href is a path on this origin.
	Href string
}

// Choice is one value of a set from which a person picks.
type Choice struct {
	Value string
	Label string
	On    bool
}

// KV is one line of a facts pane.
type KV struct {
	Key   string
	Value string
	// Mono prints the value as bytes that can be copied exactly.
	Mono bool
	// Href makes the value a door; may be empty.
	Href string
}

// count prints n with thousands separators, exact to 10,000 and "more than" after it
// only where a caller asks for it by capped.
func count(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// capped prints a count of rows that was not worth counting to the end.
func capped(n int) string {
	if n > 10_000 {
		return "more than 10,000"
	}
	return count(n)
}

// plural picks the word for n things.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// lines counts lines of text.
func lines(text string) int { return strings.Count(text, "\n") + 1 }

// short shows both ends of a digest. The full text is always in the form that binds the
// decision and in the element's title, so nothing that runs is cut.
func short(digest string) string {
	if len(digest) <= 12 {
		return digest
	}
	return digest[:4] + "…" + digest[len(digest)-4:]
}
