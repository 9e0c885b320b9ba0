package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Window is when a rule holds: on some days, between two times of day, in one
// zone, and optionally between two dates. A window whose end is not after its
// start runs over midnight and belongs to the day on which it starts.
type Window struct {
	Days  []string `json:"days,omitempty"`  // mon, tue, ...; none means every day
	From  string   `json:"from,omitempty"`  // HH:MM; with Until, or neither
	Until string   `json:"until,omitempty"` // HH:MM, not included; may be 24:00
	Zone  string   `json:"zone"`            // IANA name, "UTC"
	Since string   `json:"since,omitempty"` // YYYY-MM-DD, first day, in Zone
	Last  string   `json:"last,omitempty"`  // YYYY-MM-DD, last day, in Zone
}

type window struct {
	days        [7]bool
	from, until int // minutes of the day
	zone        *time.Location
	since, last string
}

var dayNames = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// compile checks w. It reads the zone from the tz database that the program
// was built with, or else the host's.
func (w Window) compile() (*window, error) {
	out := &window{until: 24 * 60, since: w.Since, last: w.Last}
	for i, d := range w.Days {
		k := slices.Index(dayNames[:], d)
		if k < 0 {
			return nil, fault.New(fault.Invalid, "%q is no day", d).On(fmt.Sprintf("days[%d]", i)).WithFix("use one of %v", dayNames)
		}
		out.days[k] = true
	}
	if len(w.Days) == 0 {
		out.days = [7]bool{true, true, true, true, true, true, true}
	}
	if (w.From == "") != (w.Until == "") {
		return nil, fault.New(fault.Invalid, "a window has both from and until, or neither").On("from")
	}
	if w.From != "" {
		var err error
		if out.from, err = minutes(w.From); err != nil || out.from == 24*60 {
			return nil, fault.New(fault.Invalid, "%q is no time of day", w.From).On("from").WithFix("write HH:MM")
		}
		if out.until, err = minutes(w.Until); err != nil {
			return nil, fault.New(fault.Invalid, "%q is no time of day", w.Until).On("until").WithFix("write HH:MM")
		}
	}
	// "Local" would make a decision depend on the machine, "" would hide UTC.
	if w.Zone == "" || w.Zone == "Local" {
		return nil, fault.New(fault.Invalid, "a window names its zone").On("zone").WithFix(`write an IANA name such as "Europe/Oslo", or "UTC"`)
	}
	zone, err := time.LoadLocation(w.Zone)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%q is no time zone", w.Zone).On("zone")
	}
	out.zone = zone
	for _, d := range []struct{ field, text string }{{"since", w.Since}, {"last", w.Last}} {
		if d.text == "" {
			continue
		}
		if t, err := time.Parse(time.DateOnly, d.text); err != nil || t.Format(time.DateOnly) != d.text {
			return nil, fault.New(fault.Invalid, "%q is no date", d.text).On(d.field).WithFix("write YYYY-MM-DD")
		}
	}
	if w.Since != "" && w.Last != "" && w.Last < w.Since {
		return nil, fault.New(fault.Invalid, "a window may not end before it begins").On("last")
	}
	return out, nil
}

func minutes(s string) (int, error) {
	if len(s) != 5 || s[2] != ':' {
		return 0, fault.New(fault.Invalid, "%q is no time of day", s)
	}
	for _, i := range []int{0, 1, 3, 4} {
		if s[i] < '0' || s[i] > '9' {
			return 0, fault.New(fault.Invalid, "%q is no time of day", s)
		}
	}
	h, m := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	if m > 59 || h*60+m > 24*60 {
		return 0, fault.New(fault.Invalid, "%q is no time of day", s)
	}
	return h*60 + m, nil
}

// holds reports whether the window is open at t, by the wall clock of its zone.
func (w *window) holds(t time.Time) bool {
	local := t.In(w.zone)
	minute := local.Hour()*60 + local.Minute()
	day := local
	if w.until <= w.from { // over midnight
		switch {
		case minute >= w.from:
		case minute < w.until:
			day = local.AddDate(0, 0, -1)
		default:
			return false
		}
	} else if minute < w.from || minute >= w.until {
		return false
	}
	if !w.days[day.Weekday()] {
		return false
	}
	date := day.Format(time.DateOnly)
	return (w.since == "" || date >= w.since) && (w.last == "" || date <= w.last)
}

// String renders the window for a rule's text.
func (w Window) String() string {
	var out []string
	if len(w.Days) > 0 {
		out = append(out, strings.Join(w.Days, ", "))
	}
	if w.From != "" {
		out = append(out, w.From+" to "+w.Until)
	}
	if w.Since != "" {
		out = append(out, "since "+w.Since)
	}
	if w.Last != "" {
		out = append(out, "until "+w.Last)
	}
	return strings.Join(append(out, w.Zone), " ")
}
