package store_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// alter runs statements on a database, past the engine.
func alter(t *testing.T, url string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	for _, s := range statements {
		if _, err := c.Exec(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestABackupIsLoadedAfterAColumnWasAdded: a backup that was made before a
// migration gave a table one more column comes back, and the column has its
// default. One that holds a column which is not known here is refused by name.
func TestABackupIsLoadedAfterAColumnWasAdded(t *testing.T) {
	t.Parallel()
	db := storetest.OpenPostgres(t)
	ctx := context.Background()
	item := db.IDs.New()
	db.Do(t, func(tx event.Tx) error { return store.Enqueue(tx, event.WorkDelivery, item, "agent:a", db.Clock.Now()) })
	// The table as it was before: without the column, and with the others in
	// another order.
	alter(t, db.Options.URL, "ALTER TABLE work DROP COLUMN failures", "ALTER TABLE work RENAME COLUMN reason TO old",
		"ALTER TABLE work ADD COLUMN reason TEXT COLLATE \"C\" NOT NULL DEFAULT ''", "ALTER TABLE work DROP COLUMN old")
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := db.Backup(ctx, dir, nil); err != nil {
		t.Fatal(err)
	}
	load := func(statements ...string) (*storetest.DB, error) {
		n := &storetest.DB{Clock: db.Clock, IDs: db.IDs, Options: db.Options, Account: db.Account}
		var err error
		if n.Options.URL, err = storetest.Postgres(t).Create(); err != nil {
			t.Fatal(err)
		}
		n.Reopen(t)
		t.Cleanup(func() { n.DB.Close() })
		alter(t, n.Options.URL, statements...)
		return n, n.LoadPostgres(ctx, dir)
	}
	n, err := load()
	if err != nil {
		t.Fatal(err)
	}
	n.See(t, func(tx event.Tx) error {
		list, err := store.ListHeld(tx)
		if len(list) != 1 || list[0].ID != item || list[0].Scope != "agent:a" || list[0].Reason != "restore" {
			t.Errorf("held: %+v", list)
		}
		return err
	})
	n.Do(t, func(tx event.Tx) error { // the column has its default
		if err := store.Unhold(tx, event.WorkDelivery, item, db.Clock.Now()); err != nil {
			return err
		}
		tries, err := store.Strike(tx, event.WorkDelivery, item, nil)
		if tries != 1 {
			t.Errorf("%d failures", tries)
		}
		return err
	})
	if _, err := load("ALTER TABLE work DROP COLUMN scope"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "work.scope") {
		t.Errorf("a column that is not known: %v", err)
	}
}
