package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

// TestConsoleTellsOfAllThatIsHeld: after a restore the banner stands as long as
// anything of the past waits, counts it by kind and says what to do; so it does
// for work that failed until it was taken out of the workers' hands.
func TestConsoleTellsOfAllThatIsHeld(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	p, ctx := w.app.parts, context.Background()
	do := func(f func(tx event.Tx) error) {
		t.Helper()
		if err := p.db.Do(ctx, p.account, f); err != nil {
			t.Fatal(err)
		}
	}
	later := time.Now().Add(24 * time.Hour)
	var delivery id.ID
	do(func(tx event.Tx) error {
		delivery = tx.NewID()
		for item, kind := range map[id.ID]event.WorkKind{tx.NewID(): event.WorkRun, tx.NewID(): event.WorkRun, delivery: event.WorkDelivery} {
			if err := store.Enqueue(tx, kind, item, "agent:coordinator", later); err != nil {
				return err
			}
		}
		return store.SetTimer(tx, "test", "x", later)
	})
	if body := text(w.get("/inbox").body); strings.Contains(body, "witan release") {
		t.Fatalf("nothing is held yet: %s", body)
	}
	if err := p.db.BeginEpoch(ctx, p.account, 0, p.origins.audit); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/inbox", "/journal", "/chat"} {
		body := text(w.get(path).body)
		for _, want := range []string{"Restored.", "The record was kept to event", "2 runs, 1 delivery, 1 timer held; let it go on with: witan release"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q: %s", path, want, body)
			}
		}
	}
	if _, _, err := p.audit().Release(ctx, p.account, "machine"); err != nil {
		t.Fatal(err)
	}
	if body := text(w.get("/inbox").body); strings.Contains(body, "Restored.") {
		t.Errorf("the banner stands after the release: %s", body)
	}
	do(func(tx event.Tx) error {
		if err := store.Hold(tx, event.WorkDelivery, delivery, "poison"); err != nil {
			return err
		}
		_, err := tx.Emit(p.origins.pool, event.Draft{Payload: event.WorkHeld{Kind: "delivery", WorkID: delivery, Reason: "poison"},
			Label: event.NewLabel(event.House, event.AccountWide()), Summary: "Held."})
		return err
	})
	body := text(w.get("/inbox").body)
	for _, want := range []string{"Work waits for a person.", "A delivery failed each time it was tried", "1 piece of work held; try again with: witan release"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q: %s", want, body)
		}
	}
}
