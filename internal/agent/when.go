package agent

import (
	"strconv"
	"strings"
	"time"
)

// parseWhen reads a moment as people write it, strictly: what it cannot read in
// one way only it does not read. A wall-clock time that does not exist because
// the clocks go forward is taken an hour later; of one that exists twice the
// first is taken (both are time.Date's).
//
//	in N minutes|hours|days     today|tomorrow [at] TIME
//	monday … sunday [at] TIME   YYYY-MM-DD [at] TIME
//
// TIME is 9, 9:30, 14:30, 9am, 9:30pm.
func parseWhen(s string, now time.Time, zone *time.Location) (time.Time, bool) {
	words := strings.Fields(strings.ToLower(s))
	if len(words) == 3 && words[0] == "in" {
		n, err := strconv.Atoi(words[1])
		unit, ok := unitOf(strings.TrimSuffix(words[2], "s"))
		if err != nil || !ok || n < 1 || n > 100_000 {
			return time.Time{}, false
		}
		if unit == 0 {
			return now.In(zone).AddDate(0, 0, n), true
		}
		return now.Add(time.Duration(n) * unit), true
	}
	if len(words) == 3 && words[1] == "at" {
		words = []string{words[0], words[2]}
	}
	if len(words) != 2 {
		return time.Time{}, false
	}
	hour, minute, ok := parseClock(words[1])
	if !ok {
		return time.Time{}, false
	}
	local := now.In(zone)
	y, m, d := local.Date()
	at := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, hour, minute, 0, 0, zone) }
	switch words[0] {
	case "today":
		return at(y, m, d), true
	case "tomorrow":
		return at(y, m, d+1), true
	}
	if day, ok := weekdayOf(words[0]); ok {
		ahead := (int(day) - int(local.Weekday()) + 7) % 7
		t := at(y, m, d+ahead)
		if !t.After(now) {
			t = at(y, m, d+ahead+7)
		}
		return t, true
	}
	date, err := time.ParseInLocation("2006-01-02", words[0], zone)
	if err != nil {
		return time.Time{}, false
	}
	return at(date.Date()), true
}

// unitOf returns the length of a unit of "in N ..."; a day is 0, because its
// length is the calendar's.
func unitOf(word string) (time.Duration, bool) {
	switch word {
	case "minute", "min":
		return time.Minute, true
	case "hour":
		return time.Hour, true
	case "day":
		return 0, true
	}
	return 0, false
}

// weekdayOf reads a day's name, whole or its first three letters.
func weekdayOf(word string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := strings.ToLower(d.String()); word == name || word == name[:3] {
			return d, true
		}
	}
	return 0, false
}

// parseClock reads a time of day.
func parseClock(s string) (hour, minute int, ok bool) {
	half := 0
	switch {
	case strings.HasSuffix(s, "am"):
		half, s = 1, strings.TrimSuffix(s, "am")
	case strings.HasSuffix(s, "pm"):
		half, s = 2, strings.TrimSuffix(s, "pm")
	}
	h, m, colon := strings.Cut(s, ":")
	hour, err := strconv.Atoi(h)
	if err != nil || colon && len(m) != 2 {
		return 0, 0, false
	}
	if colon {
		if minute, err = strconv.Atoi(m); err != nil {
			return 0, 0, false
		}
	}
	if half > 0 {
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		hour %= 12
		if half == 2 {
			hour += 12
		}
	}
	return hour, minute, hour >= 0 && hour < 24 && minute >= 0 && minute < 60
}
