package memorydb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/memory/recall"
	"github.com/witan-run/witan/internal/store/memorydb"
	"github.com/witan-run/witan/internal/store/storetest"
)

// desk is the memory service on a real engine.
type desk struct {
	*storetest.DB
	s     *memory.Service
	store *memorydb.Store
	agent event.Origin
}

func open(t testing.TB, db *storetest.DB) *desk {
	t.Helper()
	d := &desk{DB: db, store: memorydb.New(), agent: storetest.Origin(t, event.LayerAgent, event.ClassAgent, "agent/coordinator", "skill.invoke")}
	var err error
	if d.s, err = memory.New(d.store, storetest.Origin(t, event.LayerExecution, event.ClassSkill, "skill", "memory.stored", "memory.retrieved")); err != nil {
		t.Fatal(err)
	}
	return d
}

// said emits a cause with a label.
func (d *desk) said(tx event.Tx, l event.Label) (event.Ref, error) {
	e, err := tx.Emit(d.agent, event.Draft{Payload: event.SkillInvoke{CallID: "c", Skill: "memory.remember"}, Label: l})
	return e.Ref(), err
}

func label(i event.Integrity, who ...string) event.Label {
	if len(who) == 0 {
		return event.NewLabel(i, event.AccountWide())
	}
	return event.NewLabel(i, event.Only(who...))
}

// remember writes a semantic memory and returns its row.
func (d *desk) remember(t testing.TB, scope recall.Scope, l event.Label, body string, change ...func(*memory.Note)) *memory.Row {
	t.Helper()
	m := &memory.Semantic{Row: memory.Row{Scope: scope, Sensitivity: recall.Internal, Epistemic: memory.Told, Body: body, Importance: 500_000}}
	n := memory.Note{Memory: m, By: "agent:coordinator"}
	for _, c := range change {
		c(&n)
	}
	d.Do(t, func(tx event.Tx) error {
		ref, err := d.said(tx, l)
		if err != nil {
			return err
		}
		_, err = d.s.Remember(tx, n, ref)
		return err
	})
	return n.Common()
}

func (d *desk) ask(t testing.TB, q recall.Query) (f recall.Found) {
	t.Helper()
	if q.Now.IsZero() {
		q.Now = d.Clock.Now()
	}
	if q.Readers == nil {
		q.Readers = []string{"agent:coordinator", "person:p1"}
	}
	if q.Scopes == nil {
		q.Scopes = []recall.Scope{recall.Account}
	}
	if q.Most == 0 {
		q.Most = recall.Internal
	}
	d.See(t, func(tx event.Tx) (err error) { f, err = d.s.Recall(tx, q); return err })
	return f
}

func bodies(f recall.Found) (out []string) {
	for _, h := range f.Hits {
		out = append(out, h.Body)
	}
	return out
}

func TestQueries(t *testing.T) { t.Parallel(); storetest.Queries(t, memorydb.Q) }

func TestWhatIsRememberedIsRecalledWithItsSource(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		r := d.remember(t, recall.Account, label(event.Known), "Orsted pays its invoices in March")
		d.remember(t, recall.Account, label(event.Person), "The office is in Berlin")
		f := d.ask(t, recall.Query{Text: "When does Orsted pay an invoice?"})
		if len(f.Hits) != 1 {
			t.Fatalf("%d hits", len(f.Hits))
		}
		h := f.Hits[0]
		want := recall.Hit{ID: r.ID, Kind: "semantic", Epistemic: "told", Scope: recall.Account, Title: r.Body, Body: r.Body, OccurredAt: storetest.Start,
			Source: "agent:coordinator", Credibility: 600_000, Confidence: 600_000, Label: label(event.Known),
			Parts: recall.Parts{BM25: h.Parts.BM25, Recency: 1_000_000, Importance: 500_000}, Score: h.Score}
		if diff := cmp.Diff(want, h, cmp.Comparer(func(a, b event.Label) bool { return a.String() == b.String() })); diff != "" {
			t.Error(diff)
		}
		if h.Parts.BM25 <= 0 || h.Score != h.Parts.BM25+h.Parts.BM25/10 {
			t.Errorf("score %d of %+v", h.Score, h.Parts)
		}
	})
}

// TestAllKindsKeepTheirColumns writes each kind with every column and reads it back.
func TestAllKindsKeepTheirColumns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		at := storetest.Start.Add(-time.Hour)
		row := memory.Row{Scope: "agent:coordinator", Sensitivity: recall.Restricted, Epistemic: memory.Inferred, Title: "T", Body: "words",
			OccurredAt: at, ValidFrom: at, ValidTo: at.Add(time.Minute), Importance: 1, Salience: 2, Valence: -3, Arousal: 4, Source: "contact:x"}
		for _, m := range []memory.Memory{
			&memory.Episodic{Row: row, Participants: []string{"person:p1", "Mel"}, Context: "phone"},
			&memory.Semantic{Row: row}, &memory.Autobiographical{Row: row},
			&memory.Procedural{Row: row, Steps: []string{"a", "b"}, Preconditions: []string{"c"}, Success: 3, Failure: 1},
		} {
			subject := d.IDs.New()
			var ev event.Event
			d.Do(t, func(tx event.Tx) error {
				ref, err := d.said(tx, label(event.Outside))
				if err != nil {
					return err
				}
				ev, err = d.s.Remember(tx, memory.Note{Memory: m, By: "mind:m", Subject: subject}, ref)
				return err
			})
			var back memory.Memory
			d.See(t, func(tx event.Tx) (err error) { back, err = d.store.GetMemory(tx, m.Common().ID); return err })
			if diff := cmp.Diff(m, back, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b event.Label) bool { return a.String() == b.String() })); diff != "" {
				t.Errorf("%s: %s", m.Kind(), diff)
			}
			r := back.Common()
			if r.Origin != ev.ID || r.RootGroup != ev.Correlation || ev.Correlation == ev.ID || r.Subject != subject || ev.Subject != subject {
				t.Errorf("%s: origin %s of event %s, root %s", m.Kind(), r.Origin, ev.ID, r.RootGroup)
			}
			if r.Credibility != 300_000 || r.Confidence != 210_000 || r.Label.String() != "o:a" {
				t.Errorf("%s: credibility %d, confidence %d, label %s", m.Kind(), r.Credibility, r.Confidence, r.Label)
			}
		}
	})
}

// TestAForbiddenRowChangesNothing compares the answer beside many near-duplicates
// that may not be seen with the answer of a store that does not hold them.
func TestAForbiddenRowChangesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		texts := []string{"the salary of Petra is high", "Petra likes tea", "a meeting about the salary of all"}
		for _, s := range texts {
			d.remember(t, recall.Account, label(event.House), s)
		}
		q := recall.Query{Text: "salary of Petra"}
		before := d.ask(t, q)
		other := d.IDs.New()
		for i := range 80 { // more than one fold
			body := fmt.Sprintf("the salary of Petra is high %d", i)
			d.remember(t, recall.Account, label(event.House, "person:p2"), body)
			d.remember(t, "agent:other", label(event.House), body)
			d.remember(t, recall.Account, label(event.House), body, func(n *memory.Note) { n.Common().Sensitivity = recall.Restricted })
			d.remember(t, recall.Account, label(event.House, "person:p1"), body, func(n *memory.Note) { n.Subject = other })
		}
		if diff := cmp.Diff(before, d.ask(t, q), cmp.Comparer(func(a, b event.Label) bool { return a.String() == b.String() })); diff != "" {
			t.Errorf("rows that may not be read changed the answer: %s", diff)
		}
		for name, q := range map[string]recall.Query{
			"a contact outside the account": {Text: "Petra", Readers: []string{"agent:coordinator", "contact:c"}},
			"nobody reads":                  {Text: "Petra", Readers: []string{}},
			"no scope":                      {Text: "Petra", Scopes: []recall.Scope{}},
			"an empty scope":                {Text: "Petra", Scopes: []recall.Scope{"agent:coordinator"}},
			"only stop words":               {Text: "the of and"},
		} {
			if f := d.ask(t, q); len(f.Hits) != 0 {
				t.Errorf("%s finds %v", name, bodies(f))
			}
		}
		if f := d.ask(t, recall.Query{Text: "Petra salary", Readers: []string{"person:p2"}, Limit: 100}); len(f.Hits) != 83 {
			t.Errorf("person:p2 finds %d of 83", len(f.Hits))
		}
	})
}

func TestFoldingChangesNoScore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		var last *memory.Row
		for i := range 300 {
			last = d.remember(t, recall.Account, label(event.House), fmt.Sprintf("row %d says word%d and common", i, i%7))
			if i%32 == 30 || i%32 == 31 || i == 299 {
				f := d.ask(t, recall.Query{Text: fmt.Sprintf("row %d", i), Limit: 3})
				if f.Hits[0].ID != last.ID {
					t.Fatalf("at %d rows %v is found first", i+1, bodies(f)[0])
				}
				all := d.ask(t, recall.Query{Text: "common", Limit: 100})
				if want := min(i+1, 100); len(all.Hits) != want {
					t.Fatalf("at %d rows the common word finds %d", i+1, len(all.Hits))
				}
				for _, h := range all.Hits[1:] {
					if h.Parts.BM25 != all.Hits[0].Parts.BM25 {
						t.Fatalf("equal rows score %d and %d", h.Parts.BM25, all.Hits[0].Parts.BM25)
					}
				}
			}
		}
	})
}

func TestBothEnginesRankByteForByte(t *testing.T) {
	t.Parallel()
	run := func(db *storetest.DB) (out []string) {
		d := open(t, db)
		for i := range 200 {
			scope := []recall.Scope{recall.Account, "agent:coordinator"}[i%2]
			d.remember(t, scope, label([]event.Integrity{event.House, event.Person, event.Outside}[i%3]),
				fmt.Sprintf("%s in town %d bought %d apples and ate %d pears", []string{"Anna", "Bert", "Çelik", "東京"}[i%4], i%11, i%13, i%17),
				func(n *memory.Note) {
					n.Subject = id.Derive(storetest.Start, []byte("whoever")) // the same on both, so that shelves are
					n.Common().OccurredAt = storetest.Start.Add(-time.Duration(i) * time.Hour)
					n.Common().Importance = int32(i * 1000)
				})
		}
		for _, text := range []string{"apples", "Anna town 3 pears", "celik 12", "東京", "bought ate"} {
			for _, h := range d.ask(t, recall.Query{Text: text, Limit: 50, Scopes: []recall.Scope{"agent:coordinator", recall.Account}}).Hits {
				out = append(out, fmt.Sprint(text, h.Body, h.Score, h.Parts))
			}
		}
		return out
	}
	lite, pg := run(storetest.OpenSQLite(t)), run(storetest.OpenPostgres(t))
	if len(lite) < 100 {
		t.Fatalf("only %d hits", len(lite))
	}
	if diff := cmp.Diff(lite, pg); diff != "" {
		t.Fatal(diff)
	}
}

func TestARecallIsRecordedWithItsParts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		r := d.remember(t, recall.Account, label(event.Outside), "Orsted pays in March")
		q := recall.Query{Text: "orsted", Scopes: []recall.Scope{recall.Account}, Readers: []string{"agent:coordinator"}, Most: recall.Internal, Now: d.Clock.Now()}
		f := d.ask(t, q)
		var ev event.Event
		for range 12 {
			d.Clock.Advance(time.Minute)
			d.Do(t, func(tx event.Tx) error {
				ref, err := d.said(tx, label(event.Person))
				if err != nil {
					return err
				}
				ev, err = d.s.Retrieved(tx, q, f, "agent:coordinator", id.Nil, id.Nil, ref)
				return err
			})
		}
		p := ev.Payload.(event.MemoryRetrieved)
		want := []event.MemoryHit{{MemoryID: r.ID, Score: f.Hits[0].Score, Parts: map[string]int64{"bm25": f.Hits[0].Parts.BM25, "recency": 1_000_000, "importance": 500_000}}}
		if diff := cmp.Diff(want, p.Hits); diff != "" || p.Ranking != memory.Ranking || ev.Label.String() != "o:a" {
			t.Errorf("ranking %q, label %s: %s", p.Ranking, ev.Label, diff)
		}
		var back memory.Memory
		d.See(t, func(tx event.Tx) (err error) { back, err = d.store.GetMemory(tx, r.ID); return err })
		if b := back.Common(); b.RetrievalCount != 12 || b.UseCount != 12 || len(b.LastUses) != 10 || !b.LastRetrieved.Equal(d.Clock.Now()) ||
			!b.FirstUse.Equal(storetest.Start.Add(time.Minute)) || !b.LastUses[0].Equal(storetest.Start.Add(3*time.Minute)) {
			t.Errorf("use stamps: %+v", b)
		}
	})
}

func TestErasureTakesRowsAndIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		who := d.IDs.New()
		for i := range 70 {
			d.remember(t, recall.Account, label(event.Known), fmt.Sprintf("secret%d of the patient", i), func(n *memory.Note) { n.Subject = who })
		}
		d.remember(t, recall.Account, label(event.Known), "the patient file is blue")
		origin := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "subject.erased")
		if err := d.Erase(t.Context(), d.Account, who, "person:p1", origin); err != nil {
			t.Fatal(err)
		}
		if got := bodies(d.ask(t, recall.Query{Text: "secret patient", Limit: 100})); !slices.Equal(got, []string{"the patient file is blue"}) {
			t.Errorf("after the erasure %v is found", got)
		}
		left := 0
		d.See(t, func(tx event.Tx) error {
			left = 0
			for i := range 70 {
				if err := d.store.EachBlock(tx, recall.Account, fmt.Sprintf("secret%d", i), func(memory.Block) error { left++; return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		if left != 0 {
			t.Errorf("%d blocks of the index survive", left)
		}
	})
}

func TestBadMemoriesAreRefusedByName(t *testing.T) {
	t.Parallel()
	d := open(t, storetest.OpenSQLite(t))
	for field, change := range map[string]func(*memory.Note){
		"scope":       func(n *memory.Note) { n.Common().Scope = "agent:A" },
		"body":        func(n *memory.Note) { n.Common().Body = " \n" },
		"title":       func(n *memory.Note) { n.Common().Title = "a\x00" },
		"sensitivity": func(n *memory.Note) { n.Common().Sensitivity = 9 },
		"epistemic":   func(n *memory.Note) { n.Common().Epistemic = "felt" },
		"importance":  func(n *memory.Note) { n.Common().Importance = 1_000_001 },
		"validTo": func(n *memory.Note) {
			n.Common().ValidFrom = storetest.Start
			n.Common().ValidTo = storetest.Start.Add(-1e9)
		},
		"by": func(n *memory.Note) { n.By = "" },
	} {
		n := memory.Note{Memory: &memory.Semantic{Row: memory.Row{Scope: recall.Account, Epistemic: memory.Told, Body: "x"}}, By: "agent:a"}
		change(&n)
		err := d.Journal.Do(t.Context(), d.Account, func(tx event.Tx) error {
			ref, err := d.said(tx, label(event.House))
			if err != nil {
				return err
			}
			_, err = d.s.Remember(tx, n, ref)
			return err
		})
		var f *fault.Error
		if !fault.Is(err, fault.Invalid) || !asFault(err, &f) || f.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
