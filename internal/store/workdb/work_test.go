package workdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/store/workdb"
	"github.com/witan-run/witan/internal/work"
)

// desk is the services on a real engine, with a post that keeps what it gets.
type desk struct {
	*storetest.DB
	pano      *work.Pano
	reminders *work.Reminders
	store     *workdb.Store
	agent     event.Origin
	system    event.Origin

	posted []work.Reminder
	label  event.Label
	broken error
}

// Remind implements work.Post.
func (d *desk) Remind(_ event.Tx, r work.Reminder, fired event.Ref) error {
	if d.broken != nil {
		return d.broken
	}
	d.posted, d.label = append(d.posted, r), fired.Label
	return nil
}

func open(t *testing.T, db *storetest.DB) *desk {
	t.Helper()
	d := &desk{DB: db, store: workdb.New(), agent: storetest.Origin(t, event.LayerAgent, event.ClassAgent, "agent/coordinator", "skill.invoke"),
		system: storetest.Origin(t, event.LayerSystem, event.ClassSystem, "timers", "timer.fired")}
	o := storetest.Origin(t, event.LayerExecution, event.ClassSkill, "work", "pano.saved", "reminder.set", "reminder.cancelled", "reminder.fired")
	var err error
	if d.pano, err = work.NewPano(d.store, o); err != nil {
		t.Fatal(err)
	}
	if d.reminders, err = work.NewReminders(d.store, d, o); err != nil {
		t.Fatal(err)
	}
	db.React(storetest.Reactions{{Name: "work.reminders", On: []event.Type{"timer.fired"}, Run: d.reminders.OnTimer}})
	return d
}

func (d *desk) cause(tx event.Tx, l event.Label) (event.Ref, error) {
	e, err := tx.Emit(d.agent, event.Draft{Payload: event.SkillInvoke{CallID: "c"}, Label: l})
	return e.Ref(), err
}

func house(who ...string) event.Label {
	if len(who) == 0 {
		return event.NewLabel(event.House, event.AccountWide())
	}
	return event.NewLabel(event.House, event.Only(who...))
}

var readers = []string{"agent:coordinator", "person:p1"} //nolint:gochecknoglobals // a constant

func (d *desk) write(path, text string, seen int64, l event.Label, change ...func(*work.Draft)) (doc work.Document, err error) {
	w := work.Draft{Path: path, Text: text, Seen: seen, By: "agent:coordinator", Readers: readers}
	for _, c := range change {
		c(&w)
	}
	err = d.Journal.Do(context.Background(), d.Account, func(tx event.Tx) error {
		ref, err := d.cause(tx, l)
		if err != nil {
			return err
		}
		doc, err = d.pano.Write(tx, w, ref)
		return err
	})
	return doc, err
}

func (d *desk) read(t *testing.T, path string, revision int64, who ...string) (doc work.Document, err error) {
	t.Helper()
	if len(who) == 0 {
		who = readers
	}
	err = d.Journal.View(t.Context(), d.Account, func(tx event.Tx) (err error) { doc, err = d.pano.Read(tx, path, revision, who); return err })
	return doc, err
}

func TestQueries(t *testing.T) { t.Parallel(); storetest.Queries(t, workdb.Q) }

func TestDocumentsKeepTheirRevisions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		for i := range 3 {
			d.Clock.Advance(time.Minute)
			doc, err := d.write("sales/customers.md", fmt.Sprintf("text %d", i), int64(i), house())
			if err != nil || doc.Revision != int64(i+1) {
				t.Fatalf("revision %d: %v", doc.Revision, err)
			}
			back, err := d.read(t, "sales/customers.md", 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(doc, back, cmp.Comparer(func(a, b event.Label) bool { return a.String() == b.String() })); diff != "" {
				t.Fatal(diff)
			}
		}
		if old, err := d.read(t, "sales/customers.md", 2); err != nil || old.Text != "text 1" || old.Revision != 2 {
			t.Fatalf("revision 2 is %q: %v", old.Text, err)
		}
		for _, path := range []string{"none.md", "sales/customers.MD.md"} {
			if _, err := d.read(t, path, 0); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if _, err := d.read(t, "sales/customers.md", 4); !fault.Is(err, fault.NotFound) {
			t.Errorf("revision 4: %v", err)
		}
		saved := 0
		for _, e := range d.Events(t) {
			if p, ok := e.Payload.(event.PanoSaved); ok {
				saved++
				if p.Revision != saved || p.By != "agent:coordinator" || p.Size != 6 {
					t.Errorf("event %+v", p)
				}
			}
		}
		if saved != 3 {
			t.Errorf("%d events", saved)
		}
	})
}

func TestAConflictShowsBothAndWritesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		for i, text := range []string{"one", "two"} {
			if _, err := d.write("a.md", text, int64(i), house()); err != nil {
				t.Fatal(err)
			}
		}
		before := len(d.Events(t))
		for _, seen := range []int64{0, 1, 3} {
			_, err := d.write("a.md", "mine", seen, house())
			var c *work.ConflictError
			if !errors.As(err, &c) || c.Current.Text != "two" || c.Current.Revision != 2 || c.Yours != "mine" || c.Seen != seen || !fault.Is(err, fault.Conflict) {
				t.Errorf("seen %d: %v", seen, err)
			}
		}
		if _, err := d.write("b.md", "x", 1, house()); !fault.Is(err, fault.Conflict) {
			t.Errorf("a document that is not there: %v", err)
		}
		if after := len(d.Events(t)); after != before {
			t.Errorf("%d events were written", after-before)
		}
	})
}

// TestOfManyWritersOneWins lets writers that saw the same revision write at once.
func TestOfManyWritersOneWins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		const writers, rounds = 6, 5
		for round := range rounds {
			var wg sync.WaitGroup
			won := make([]error, writers)
			for w := range writers {
				wg.Go(func() {
					for {
						_, won[w] = d.write("a.md", fmt.Sprintf("%d by %d", round, w), int64(round), house())
						if !fault.Is(won[w], fault.Unavailable) {
							return
						}
					}
				})
			}
			wg.Wait()
			wins := 0
			for _, err := range won {
				if err == nil {
					wins++
				} else if !fault.Is(err, fault.Conflict) {
					t.Errorf("%v", err)
				}
			}
			if wins != 1 {
				t.Fatalf("%d writers won round %d", wins, round)
			}
		}
	})
}

func TestWhoMayNotReadFindsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		for path, l := range map[string]event.Label{"open.md": house(), "mine.md": house(readers...), "theirs.md": house("person:p2"), "dir/deep.md": house()} {
			if _, err := d.write(path, "the budget is "+path, 0, l); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.read(t, "theirs.md", 0); !fault.Is(err, fault.NotFound) {
			t.Errorf("read: %v", err)
		}
		if _, err := d.read(t, "open.md", 0, "agent:coordinator", "contact:c"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a contact reads: %v", err)
		}
		_, err := d.write("theirs.md", "x", 0, house())
		var c *work.ConflictError
		if !fault.Is(err, fault.Conflict) || errors.As(err, &c) {
			t.Errorf("a write shows what may not be read: %v", err)
		}
		var list []work.Document
		var found []work.Match
		d.See(t, func(tx event.Tx) (err error) {
			if list, err = d.pano.List(tx, "", "", 50, readers); err == nil {
				found, err = d.pano.Search(tx, "Budget deep", 50, readers)
			}
			return err
		})
		var paths, hits []string
		for _, x := range list {
			paths = append(paths, x.Path)
			if x.Text != "" {
				t.Errorf("the list holds the text of %s", x.Path)
			}
		}
		for _, x := range found {
			hits = append(hits, fmt.Sprint(x.Path, " ", x.Words, " ", x.Times))
		}
		if want := []string{"dir/deep.md", "mine.md", "open.md"}; !slices.Equal(paths, want) {
			t.Errorf("list %v", paths)
		}
		if want := []string{"dir/deep.md 2 3", "mine.md 1 1", "open.md 1 1"}; !slices.Equal(hits, want) {
			t.Errorf("found %v", hits)
		}
		d.See(t, func(tx event.Tx) (err error) { list, err = d.pano.List(tx, "dir", "", 50, readers); return err })
		if len(list) != 1 || list[0].Path != "dir/deep.md" {
			t.Errorf("folder %v", list)
		}
		d.See(t, func(tx event.Tx) (err error) { list, err = d.pano.List(tx, "", "dir/deep.md", 1, readers); return err })
		if len(list) != 1 || list[0].Path != "mine.md" {
			t.Errorf("page %v", list)
		}
	})
}

func TestErasureTakesTheWordsNotTheDocument(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		who := d.IDs.New()
		if _, err := d.write("a.md", "theirs", 0, house(), func(w *work.Draft) { w.Subject = who }); err != nil {
			t.Fatal(err)
		}
		if _, err := d.write("a.md", "ours", 1, house()); err != nil {
			t.Fatal(err)
		}
		r := d.set(t, "call the patient", time.Hour, house(), func(r *work.Reminder) { r.Subject = who })
		if err := d.Erase(t.Context(), d.Account, who, "person:p1", storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "subject.erased")); err != nil {
			t.Fatal(err)
		}
		if old, err := d.read(t, "a.md", 1); err != nil || old.Text != "" {
			t.Errorf("revision 1 is %q: %v", old.Text, err)
		}
		if now, err := d.read(t, "a.md", 0); err != nil || now.Text != "ours" {
			t.Errorf("revision 2 is %q: %v", now.Text, err)
		}
		d.fire(t, r.ID.String())
		if len(d.posted) != 0 {
			t.Errorf("an erased reminder was posted")
		}
	})
}

func (d *desk) set(t *testing.T, text string, in time.Duration, l event.Label, change ...func(*work.Reminder)) work.Reminder {
	t.Helper()
	r, err := d.trySet(text, in, l, change...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (d *desk) trySet(text string, in time.Duration, l event.Label, change ...func(*work.Reminder)) (r work.Reminder, err error) {
	err = d.Journal.Do(context.Background(), d.Account, func(tx event.Tx) error {
		ref, err := d.cause(tx, l)
		if err != nil {
			return err
		}
		want := work.Reminder{Due: d.Clock.Now().Add(in), Text: text, Run: d.Account, Thread: d.Account, Channel: "console", Requester: "person:p1", Agent: "agent:coordinator"}
		for _, c := range change {
			c(&want)
		}
		r, err = d.reminders.Set(tx, want, ref)
		return err
	})
	return r, err
}

// fire says timer.fired, as the engine does when the moment comes.
func (d *desk) fire(t *testing.T, key string) {
	t.Helper()
	d.Do(t, func(tx event.Tx) error {
		_, err := tx.Emit(d.system, event.Draft{Payload: event.TimerFired{Kind: work.TimerReminder, Key: key}, Label: house()})
		return err
	})
}

func TestARemindersComesOnceWithItsOwnLabel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		l := event.NewLabel(event.Known, event.Only("contact:c", "agent:coordinator"))
		r := d.set(t, "call Petra", time.Hour, l, func(r *work.Reminder) { r.Requester = "contact:c" })
		due, next, _, err := d.DueTimers(t.Context(), 10)
		if err != nil || len(due) != 0 || !next.Equal(r.Due) {
			t.Fatalf("due %v, next %s: %v", due, next, err)
		}
		d.Clock.Advance(time.Hour)
		if due, _, _, err = d.DueTimers(t.Context(), 10); err != nil || len(due) != 1 {
			t.Fatalf("due %v: %v", due, err)
		}
		if fired, err := d.Fire(t.Context(), due[0], d.system); err != nil || !fired {
			t.Fatalf("fired %t: %v", fired, err)
		}
		d.fire(t, r.ID.String()) // once more
		if len(d.posted) != 1 || d.posted[0].Text != "call Petra" || d.posted[0].Requester != "contact:c" || d.label.String() != l.String() {
			t.Fatalf("posted %+v with label %s", d.posted, d.label)
		}
		kinds := map[event.Type]int{}
		for _, e := range d.Events(t) {
			kinds[e.Type]++
		}
		if kinds["reminder.set"] != 1 || kinds["reminder.fired"] != 1 {
			t.Errorf("events %v", kinds)
		}
	})
}

func TestACancelledReminderDoesNotCome(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		r := d.set(t, "a", 2*time.Hour, house())
		first := d.set(t, "b", time.Hour, house())
		var list []work.Reminder
		see := func() {
			d.See(t, func(tx event.Tx) (err error) { list, err = d.reminders.List(tx, "person:p1"); return err })
		}
		if see(); len(list) != 2 || list[0].ID != first.ID {
			t.Fatalf("list %v", list)
		}
		cancel := func(who string, which id.ID) error {
			return d.Journal.Do(t.Context(), d.Account, func(tx event.Tx) error {
				ref, err := d.cause(tx, house())
				if err == nil {
					_, err = d.reminders.Cancel(tx, which, who, "agent:coordinator", ref)
				}
				return err
			})
		}
		if err := cancel("person:p2", r.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("somebody else cancels: %v", err)
		}
		if err := cancel("person:p1", r.ID); err != nil {
			t.Fatal(err)
		}
		if err := cancel("person:p1", r.ID); !fault.Is(err, fault.Conflict) {
			t.Errorf("cancelled twice: %v", err)
		}
		d.fire(t, r.ID.String())
		if see(); len(list) != 1 || len(d.posted) != 0 {
			t.Errorf("list %v, posted %v", list, d.posted)
		}
		d.Clock.Advance(3 * time.Hour)
		if due, _, _, err := d.DueTimers(t.Context(), 10); err != nil || len(due) != 1 || due[0].Key != first.ID.String() {
			t.Errorf("due %v: %v", due, err)
		}
	})
}

func TestAFiringThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	d := open(t, storetest.OpenSQLite(t))
	r := d.set(t, "a", time.Hour, house())
	d.broken = errors.New("no route")
	d.fire(t, r.ID.String()) // left to the router
	if len(d.posted) != 0 {
		t.Fatal("posted")
	}
	var back work.Reminder
	d.See(t, func(tx event.Tx) (err error) { back, err = d.store.GetReminder(tx, r.ID); return err })
	if back.State != work.Waiting {
		t.Fatalf("a firing that failed left the reminder %s", back.State)
	}
}

func TestBadRemindersAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, storetest.OpenSQLite(t))
	for name, try := range map[string]func() error{
		"now":     func() error { _, err := d.trySet("x", 0, house()); return err },
		"past":    func() error { _, err := d.trySet("x", -time.Hour, house()); return err },
		"too far": func() error { _, err := d.trySet("x", 6*366*24*time.Hour, house()); return err },
		"no text": func() error { _, err := d.trySet(" ", time.Hour, house()); return err },
		"nobody": func() error {
			_, err := d.trySet("x", time.Hour, house(), func(r *work.Reminder) { r.Requester = "" })
			return err
		},
		"bad bytes": func() error { _, err := d.trySet("a\x00", time.Hour, house()); return err },
	} {
		if err := try(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
