package app

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store"
)

func TestTimesAreInTheConfiguredZoneElseTheSystems(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TZ", "")
	for tz, want := range map[string]string{"": "UTC", "Europe/Vienna": "Europe/Vienna", ":America/Lima": "America/Lima",
		"/usr/share/zoneinfo/Asia/Tokyo": "Asia/Tokyo", "No/Such": "UTC"} {
		t.Setenv("TZ", tz)
		if got := systemZone(root).String(); got != want {
			t.Errorf("TZ=%q gives %s, want %s", tz, got, want)
		}
	}
	if err := os.Unsetenv("TZ"); err != nil { // Setenv puts it back
		t.Fatal(err)
	}
	if got := systemZone(root).String(); got != "UTC" {
		t.Errorf("a system that says nothing: %s", got)
	}
	if err := os.Symlink("/usr/share/zoneinfo/Europe/Oslo", filepath.Join(root, "etc/localtime")); err != nil {
		t.Fatal(err)
	}
	if got := systemZone(root).String(); got != "Europe/Oslo" {
		t.Errorf("the link says Oslo: %s", got)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/timezone"), []byte("Europe/Rome\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := systemZone(root).String(); got != "Europe/Rome" {
		t.Errorf("the file says Rome: %s", got)
	}
	c := Default()
	c.TimeZone = "Pacific/Auckland"
	if z, err := c.zone(); err != nil || z.String() != c.TimeZone {
		t.Errorf("%v, %v", z, err)
	}
	for _, bad := range []string{"Local", "Mars/Olympus", "../etc/passwd"} {
		c.TimeZone = bad
		if err := c.Check(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestConsoleShowsTimesInTheConfiguredZone: short times are local, and on hover
// each says the whole moment with its zone.
func TestConsoleShowsTimesInTheConfiguredZone(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	w := newConsoleWorld(t, func(c *Config) { c.TimeZone = "Asia/Tokyo" })
	w.claim()
	_, path := w.ask("medium thing")
	w.app.view(t, func(tx event.Tx) error {
		list, err := store.EventsAfter(tx, 0, 1000)
		last := list[len(list)-1].RecordedAt.In(tokyo)
		row := regexp.MustCompile(`title="` + last.Format("2 Jan 2006 15:04:05 MST") + `">` + last.Format("15:04:05") + "<")
		if body := w.get("/journal").body; !row.MatchString(body) {
			t.Errorf("the journal does not show %s: %s", row, text(body))
		}
		return err
	})
	hover := regexp.MustCompile(`title="[0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} JST"`)
	for _, p := range []string{path, "/journal"} {
		if !hover.MatchString(w.get(p).body) {
			t.Errorf("%s shows no moment with its zone", p)
		}
	}
	var runs []agent.Run
	w.app.view(t, func(tx event.Tx) (err error) { runs, err = w.app.parts.rows.agent.ListUnfinished(tx, 1); return err })
	if len(runs) != 1 || !hover.MatchString(w.get("/chat/"+runs[0].Thread.String()).body) {
		t.Errorf("the chat shows no moment with its zone; %d runs", len(runs))
	}
	w.app.view(t, func(tx event.Tx) error { // the agent reads "tomorrow at 9" in the same zone
		f, err := w.app.parts.agents.Facts(tx, runs[0].ID)
		if f.Start.Zone != "Asia/Tokyo" {
			t.Errorf("the run reads times in %q", f.Start.Zone)
		}
		return err
	})
}
