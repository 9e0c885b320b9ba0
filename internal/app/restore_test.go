package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store"
)

// TestARestoreThatFailsHalfWayCanBeEnded: the backup is in its place, the
// configuration is wrong. Nothing of the past runs, and the way on is named.
func TestARestoreThatFailsHalfWayCanBeEnded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := Default()
	c.Data = filepath.Join(t.TempDir(), "old")
	backup := filepath.Join(t.TempDir(), "backup")
	if err := offline(ctx, &c, Deps{}, func(p *parts) error {
		if err := p.db.Do(ctx, p.account, func(tx event.Tx) error {
			return store.Enqueue(tx, event.WorkRun, tx.NewID(), "agent:x", tx.Now())
		}); err != nil {
			return err
		}
		_, err := p.db.Backup(ctx, backup, Paths{c.Data}.extra())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c.Data = filepath.Join(t.TempDir(), "new")
	wrong := c
	wrong.Agents = filepath.Join(t.TempDir(), "missing")
	_, err := Restore(ctx, wrong, Deps{}, RestoreOptions{From: backup})
	var f *fault.Error
	if !errors.As(err, &f) || !strings.Contains(f.Fix, "--promoted") {
		t.Fatalf("a wrong configuration: %v", err)
	}
	if err := offline(ctx, &c, Deps{}, func(p *parts) error { // a plain start instead
		ready, err := p.db.Ready(ctx, 10)
		if len(ready) != 0 {
			t.Errorf("work of the past is ready: %+v", ready)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(ctx, c, Deps{}, RestoreOptions{From: backup}); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a second restore over it: %v", err)
	}
	r, err := Restore(ctx, c, Deps{}, RestoreOptions{Promoted: true})
	if err != nil || r.Epoch != 2 || r.Held != 1 || r.FromSeq == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}
