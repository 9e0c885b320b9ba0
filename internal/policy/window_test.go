package policy

import (
	"testing"
	"time"
	_ "time/tzdata" // tests do not depend on the machine's zones
)

func TestWindowHolds(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	office := Window{Days: []string{"mon", "tue", "wed", "thu", "fri"}, From: "09:00", Until: "17:00", Zone: "Europe/Oslo"}
	night := Window{Days: []string{"fri"}, From: "22:00", Until: "06:00", Zone: "UTC"}
	for _, c := range []struct {
		name string
		w    Window
		at   string
		want bool
	}{
		{"in office hours, by the zone's clock", office, "2026-03-02T08:30:00Z", true},
		{"before", office, "2026-03-02T07:59:59Z", false},
		{"the end is not in it", office, "2026-03-02T16:00:00Z", false},
		{"weekend", office, "2026-03-01T10:00:00Z", false},
		{"summer time moves it", office, "2026-07-06T07:30:00Z", true},
		{"night begins", night, "2026-03-06T22:00:00Z", true},
		{"night belongs to its first day", night, "2026-03-07T05:59:00Z", true},
		{"not to the next", night, "2026-03-07T22:30:00Z", false},
		{"and not the night before", night, "2026-03-06T03:00:00Z", false},
		{"whole day", Window{Days: []string{"sun"}, Zone: "UTC"}, "2026-03-01T23:59:59Z", true},
		{"until midnight", Window{From: "18:00", Until: "24:00", Zone: "UTC"}, "2026-03-01T23:59:59Z", true},
		{"since", Window{Since: "2026-03-02", Zone: "UTC"}, "2026-03-01T23:59:59Z", false},
		{"last day is in it", Window{Last: "2026-03-01", Zone: "UTC"}, "2026-03-01T23:59:59Z", true},
		{"after the last day", Window{Last: "2026-03-01", Zone: "UTC"}, "2026-03-02T00:00:00Z", false},
	} {
		w, err := c.w.compile()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := w.holds(at(c.at)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for _, bad := range []Window{
		{}, {Zone: "Local"}, {Zone: "Mars/Olympus"}, {Zone: "UTC", From: "09:00"}, {Zone: "UTC", From: "9:00", Until: "10:00"},
		{Zone: "UTC", From: "24:00", Until: "01:00"}, {Zone: "UTC", From: "09:00", Until: "24:01"}, {Zone: "UTC", From: "09:60", Until: "10:00"},
		{Zone: "UTC", Days: []string{"monday"}}, {Zone: "UTC", Since: "2026-02-30"}, {Zone: "UTC", Since: "2026-03-02", Last: "2026-03-01"},
	} {
		if _, err := bad.compile(); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
