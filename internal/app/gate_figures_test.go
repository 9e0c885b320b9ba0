package app

import (
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/store/storetest"
)

// mostCommits is the figure of the spine: durable commits per round trip with
// one idempotent call, counted by the driver.
const mostCommits = 8

func TestARoundTripTakesAtMostEightCommits(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := setup{deeds: []*deed{write("thing.do", "low")}, mind: once("thing.do", full)}
			if engine == "postgres" {
				url, err := storetest.Postgres(t).Create()
				if err != nil {
					t.Fatal(err)
				}
				s.database = url
			}
			w := try(t, s)
			w.permit("thing.do")
			w.said("cli", w.tell("the first one meets the contact"))
			const trips = 5
			best := int64(1 << 62) // the house may commit of its own accord meanwhile: heartbeats
			for range trips {
				before := w.settled()
				out := w.said("cli", w.tell("go"))
				n := w.settled() - before
				best = min(best, n)
				w.exact(out.RunID)
			}
			t.Logf("%s: %d commits per round trip", engine, best)
			if best > mostCommits || best < 3 {
				t.Errorf("%d commits per round trip, at most %d", best, mostCommits)
			}
			if got := len(s.deeds[0].did()); got != trips+1 {
				t.Errorf("done %d times", got)
			}
		})
	}
}

// settled waits until nothing is committed for a moment and returns the count.
func (w *trial) settled() int64 {
	for {
		n := w.app.Commits()
		<-time.After(60 * time.Millisecond)
		if w.app.Commits() == n {
			return n
		}
	}
}

// The gate holds on the other engine too: asked, edited, done once, withdrawn.
func TestTheGateHoldsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url, err := storetest.Postgres(t).Create()
	if err != nil {
		t.Fatal(err)
	}
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full), database: url, channels: outsideDoor()})
	w.permit("thing.do")
	m := w.stranger("door", "mallory", "go")
	a := w.open(1)[0]
	still(t, d, 0)
	w.allow(a)
	out := w.said("door", m)
	if got := d.did(); len(got) != 1 || got[0] != full {
		t.Errorf("done %q", got)
	}
	w.exact(out.RunID)
	if n := len(w.events(event.AgentResponse{}.EventType())); n != 1 {
		t.Errorf("%d answers", n)
	}
}
