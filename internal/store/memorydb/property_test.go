package memorydb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/memory/recall"
	"github.com/witan-run/witan/internal/store/storetest"
)

// TestARecallFindsAllAndOnlyWhatMayBeRead compares recalls over rows of random
// scopes, audiences and sensitivities with a plain walk over all rows.
func TestARecallFindsAllAndOnlyWhatMayBeRead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		d := open(t, db)
		r := rand.New(rand.NewPCG(7, 11))
		scopes := []recall.Scope{recall.Account, "agent:coordinator", "agent:other", "workspace:" + recall.Scope(d.IDs.New().String())}
		people := []string{"agent:coordinator", "agent:other", "person:p1", "person:p2", "contact:c1"}
		some := func(n int) (out []string) {
			for _, i := range r.Perm(len(people))[:1+r.IntN(n)] {
				out = append(out, people[i])
			}
			return out
		}
		word := func() string { return fmt.Sprintf("zq%dx", r.IntN(12)) }
		audiences := []event.Audience{event.Public(), event.AccountWide()}
		for range 4 {
			audiences = append(audiences, event.Only(some(4)...))
		}
		var rows []*memory.Row
		d.Do(t, func(tx event.Tx) error {
			rows = nil
			for range 300 {
				ref, err := d.said(tx, event.NewLabel(event.Outside+event.Integrity(r.IntN(2)), audiences[r.IntN(len(audiences))]))
				if err != nil {
					return err
				}
				m := &memory.Semantic{Row: memory.Row{Scope: scopes[r.IntN(len(scopes))], Sensitivity: recall.Sensitivity(r.IntN(4)), Epistemic: memory.Told, Body: word() + " " + word()}}
				if _, err := d.s.Remember(tx, memory.Note{Memory: m, By: "agent:a"}, ref); err != nil {
					return err
				}
				rows = append(rows, &m.Row)
			}
			return nil
		})
		found := 0
		for range 150 {
			q := recall.Query{Text: word() + " " + word(), Readers: some(3), Most: recall.Sensitivity(r.IntN(4)), Limit: recall.MaxLimit, Now: d.Clock.Now()}
			for _, i := range r.Perm(len(scopes))[:1+r.IntN(3)] {
				q.Scopes = append(q.Scopes, scopes[i])
			}
			var want []string
			for _, row := range rows {
				says := slices.ContainsFunc(strings.Fields(q.Text), func(w string) bool { return slices.Contains(strings.Fields(row.Body), w) })
				if says && slices.Contains(q.Scopes, row.Scope) && row.Sensitivity <= q.Most && row.Label.Audience().Includes(event.Only(q.Readers...)) {
					want = append(want, row.ID.String())
				}
			}
			var got []string
			var f recall.Found
			d.See(t, func(tx event.Tx) (err error) { f, err = d.s.Recall(tx, q); return err })
			for _, h := range f.Hits {
				got = append(got, h.ID.String())
			}
			if len(want) > recall.MaxLimit {
				continue
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Fatalf("%+v finds %d rows, want %d", q, len(got), len(want))
			}
			found += len(got)
		}
		if found < 300 {
			t.Errorf("only %d rows were found: the test proves little", found)
		}
	})
}
