package manifest

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/witan-run/witan/internal/kit/fault"
)

// maxTitleValue is how many characters of one argument a title shows. The
// argument itself is shown whole beside it.
const maxTitleValue = 200

// placeholder is one {argument|form} of a title.
type placeholder struct{ name, form string }

// scanTitle calls text and hole for the parts of a title, in order. It returns
// false for a brace without its pair.
func scanTitle(title string, text func(string), hole func(placeholder)) bool {
	for title != "" {
		head, tail, found := strings.Cut(title, "{")
		if strings.Contains(head, "}") {
			return false
		}
		text(head)
		if !found {
			return true
		}
		inner, rest, closed := strings.Cut(tail, "}")
		if !closed || strings.Contains(inner, "{") {
			return false
		}
		name, form, _ := strings.Cut(inner, "|")
		hole(placeholder{name, form})
		title = rest
	}
	return true
}

func (m *Manifest) validateTitle(c *Contract) error {
	if len(m.Title) > maxTitle {
		return fault.New(fault.Invalid, "a title has at most %d bytes", maxTitle).On("title")
	}
	var err error
	ok := scanTitle(m.Title, func(string) {}, func(p placeholder) {
		switch {
		case !c.has(p.name):
			err = fault.New(fault.Invalid, "{%s} is no argument of the input schema", p.name).On("title")
		case p.form != "" && p.form != "lines" && p.form != "bytes":
			err = fault.New(fault.Invalid, "{%s|%s}: the forms are lines and bytes", p.name, p.form).On("title")
		}
	})
	if !ok {
		return fault.New(fault.Invalid, "a brace has no pair").On("title")
	}
	return err
}

// RenderTitle returns the sentence a person reads about a call. Characters that
// could hide or reorder text are shown as U+FFFD. A skill without a title is
// shown by its name.
func (m Manifest) RenderTitle(arguments []byte) string {
	doc, err := decodeAny(arguments)
	args, ok := doc.(map[string]any)
	if m.Title == "" || err != nil || !ok {
		return m.Name
	}
	var b strings.Builder
	scanTitle(m.Title, func(s string) { b.WriteString(s) }, func(p placeholder) {
		v, ok := args[p.name]
		if !ok {
			b.WriteString("(not given)")
			return
		}
		t := text(v)
		switch p.form {
		case "lines":
			b.WriteString(count(lines(t), "line"))
		case "bytes":
			b.WriteString(count(len(t), "byte"))
		default:
			b.WriteString(visible(t))
		}
	})
	return b.String()
}

// count renders a number with its unit: "1 line", "4 lines".
func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}

func lines(t string) int {
	if t == "" {
		return 0
	}
	n := strings.Count(t, "\n")
	if !strings.HasSuffix(t, "\n") {
		n++
	}
	return n
}

// visible returns t on one line, without characters that deceive the eye.
func visible(t string) string {
	var b strings.Builder
	n := 0
	for _, r := range t {
		if n++; n > maxTitleValue {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d':
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
