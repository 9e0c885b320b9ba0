package ui

import (
	"strconv"

	"github.com/a-h/templ"
)

func whoName(w Who) string { return w.Actor.Name }

// messagesNote is the count of a thread on a card, for those who cannot see the icon.
func messagesNote(n int) string { return strconv.Itoa(n) + " " + plural(n, "message", "messages") }

// colClass marks the column that a narrow screen shows.
func colClass(c Column) string {
	if c.On {
		return "col-b on"
	}
	return "col-b"
}

func knownLines(in []RecordLine) []RecordLine {
	out := make([]RecordLine, 0, len(in))
	for _, l := range in {
		if l.Fact.Known() {
			out = append(out, l)
		}
	}
	return out
}

// viewKey gives the key V to the view that is not shown.
func viewKey(other bool) templ.Attributes {
	if !other {
		return nil
	}
	return templ.Attributes{"data-key": "V"}
}

// doorText leaves a door away that leads nowhere.
func doorText(href, text string) string {
	if href == "" {
		return ""
	}
	return text
}
