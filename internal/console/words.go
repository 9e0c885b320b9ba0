package console

import (
	"strconv"
	"strings"
	"time"
)

// sentence makes a fault's message one: capital, full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	r := []rune(s)
	r[0] = []rune(strings.ToUpper(string(r[0])))[0]
	if last := r[len(r)-1]; last != '.' && last != '?' && last != '!' {
		r = append(r, '.')
	}
	return string(r)
}

// grouped prints a number with separators: 48,187.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural prints a count with its word.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// age is how long ago something was, short: "now", "4m", "1h", "3d".
func age(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// span is a duration in words: "23 h 12 m", "41 min", "12 s".
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		h := int(d / time.Hour)
		if m := int(d%time.Hour) / int(time.Minute); m > 0 {
			return strconv.Itoa(h) + " h " + strconv.Itoa(m) + " m"
		}
		return strconv.Itoa(h) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}

// at prints a moment in the console's zone: a time today, else a date with it.
func (c *Console) at(t, now time.Time) string {
	t, now = t.In(c.Zone), now.In(c.Zone)
	if y, m, d := t.Date(); y == now.Year() && m == now.Month() && d == now.Day() {
		return t.Format("15:04")
	}
	if t.Year() == now.Year() {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}

// full prints a whole moment with its zone: what a short time says on hover.
func (c *Console) full(t time.Time) string {
	return t.In(c.Zone).Format("2 Jan 2006 15:04:05 MST")
}

// clip shortens a title made of what somebody wrote, between words where it can;
// never used on an argument.
func clip(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	cut := most
	for cut > most*2/3 && r[cut] != ' ' {
		cut--
	}
	return strings.TrimRight(string(r[:cut]), " ,.;:") + "…"
}

// short shows both ends of a digest or id.
func short(s string) string {
	if len(s) <= 12 {
		return s
	}
	return s[:4] + "…" + s[len(s)-4:]
}

// ending adds "s" to a number of seconds that took less than a minute.
func took(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s"
	}
	if d < time.Minute {
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return span(d)
}
