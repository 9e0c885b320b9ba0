package builtin

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Text that a person does not see is where instructions for agents are hidden.
// It is taken out, and the result says that there was some. What a page hides
// by a linked style sheet or by scripts cannot be told here; the result's label
// is outside in any case.

// styles are the simple selectors (tag, .class, #id) that a page's own style
// sheets hide.
type styles map[string]bool

var (
	styleComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	styleRule    = regexp.MustCompile(`([^{}]*)\{([^{}]*)\}`)
	simple       = regexp.MustCompile(`^(?:[a-zA-Z][\w-]*)?(?:[.#][\w-]+)?$`)
	hides        = regexp.MustCompile(`(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0*(?:\.0*)?(?:;|!|$|%)|font-size:0*(?:\.\d)?(?:px|pt|em|rem|%)?(?:;|!|$)|` +
		`(?:text-indent|left|top|margin-left):-\d{3,}|clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%|transform:scale\(0|color:transparent)`)
)

// hidesBy reports whether declarations make their element unseen.
func hidesBy(declarations string) bool {
	d := strings.ToLower(styleComment.ReplaceAllString(declarations, ""))
	return hides.MatchString(strings.Join(strings.Fields(d), ""))
}

// styleSheets collects what the <style> elements of a page hide. Rules inside
// @-blocks apply to some media only and are left alone.
func styleSheets(doc *html.Node) styles {
	out := styles{}
	for n := range doc.Descendants() {
		if n.DataAtom != atom.Style || n.Type != html.ElementNode {
			continue
		}
		sheet := withoutBlocks(styleComment.ReplaceAllString(textOf(n, 0), ""))
		for _, m := range styleRule.FindAllStringSubmatch(sheet, -1) {
			if !hidesBy(m[2]) {
				continue
			}
			for sel := range strings.SplitSeq(m[1], ",") {
				if sel = strings.TrimSpace(sel); sel != "" && simple.MatchString(sel) {
					out[sel] = true
				}
			}
		}
	}
	return out
}

// withoutBlocks drops "@media ... { ... }" and its like.
func withoutBlocks(sheet string) string {
	var b strings.Builder
	for {
		head, rest, found := strings.Cut(sheet, "@")
		b.WriteString(head)
		if !found {
			return b.String()
		}
		depth, end := 0, len(rest)
		for i := range len(rest) {
			if rest[i] == '{' {
				depth++
			}
			if rest[i] == '}' {
				depth--
			}
			if depth <= 0 && (rest[i] == '}' || rest[i] == ';') {
				end = i + 1
				break
			}
		}
		sheet = rest[end:]
	}
}

// isHidden reports whether a person would not see an element.
func isHidden(n *html.Node, s styles) bool {
	if _, ok := attr(n, "hidden"); ok {
		return true
	}
	if v, _ := attr(n, "aria-hidden"); strings.EqualFold(strings.TrimSpace(v), "true") {
		return true
	}
	if v, ok := attr(n, "style"); ok && hidesBy(v) {
		return true
	}
	if v, _ := attr(n, "type"); n.DataAtom == atom.Input && strings.EqualFold(v, "hidden") {
		return true
	}
	if len(s) == 0 {
		return false
	}
	tag := n.Data
	if s[tag] {
		return true
	}
	if v, ok := attr(n, "id"); ok && (s["#"+v] || s[tag+"#"+v]) {
		return true
	}
	class, _ := attr(n, "class")
	for c := range strings.FieldsSeq(class) {
		if s["."+c] || s[tag+"."+c] {
			return true
		}
	}
	return false
}

// hiddenNote counts what was taken out.
type hiddenNote struct {
	elements, characters, unseen int
}

func (h *hiddenNote) element(text string) {
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		h.elements++
		h.characters += len([]rune(text))
	}
}

// strip removes characters that are not seen and can carry or reorder text:
// tags, direction controls, zero-width characters, variation selectors of the
// supplement, and controls but tab and newline.
func (h *hiddenNote) strip(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == 0x200c || r == 0x200d: // joiners are part of scripts and emoji
			return r
		case r == '\r' || r == 0xad:
			return -1
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r >= 0xe0100 && r <= 0xe01ef, r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
			h.unseen++
			return -1
		}
		return r
	}, text)
}

// String says in one sentence what was taken out; "" if nothing was.
func (h *hiddenNote) String() string {
	var parts []string
	if h.elements > 0 {
		parts = append(parts, fmt.Sprintf("%d hidden elements with %d characters", h.elements, h.characters))
	}
	if h.unseen > 0 {
		parts = append(parts, fmt.Sprintf("%d unseen characters", h.unseen))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " were taken out"
}
