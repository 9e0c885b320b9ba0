package store_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// wire stands between a node and PostgreSQL.
type wire struct {
	url    string
	lose   atomic.Int64 // so many answers to COMMIT are swallowed with their connection
	mu     sync.Mutex
	client map[net.Conn]bool // guarded by mu
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "wire") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	cancelRequest := []byte{0, 0, 0, 16, 4, 210, 22, 46}
	const socket = ".s.PGSQL.5432"
	q := u.Query()
	server := filepath.Join(q.Get("host"), socket)
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	w := &wire{url: u.String(), client: map[net.Conn]bool{}}
	l, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); w.cut(); _ = os.RemoveAll(dir) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("unix", server)
			if err != nil {
				_ = c.Close()
				continue
			}
			w.mu.Lock()
			w.client[c] = true
			w.mu.Unlock()
			go func() {
				_ = forward(c, s, func(b []byte) bool { return bytes.HasPrefix(b, cancelRequest) }) // a line that breaks takes no cancel either
				_ = s.Close()
			}()
			go func() {
				_ = forward(s, c, func(b []byte) bool { return bytes.Contains(b, []byte("COMMIT\x00")) && w.lose.Add(-1) >= 0 })
				_ = c.Close()
				w.mu.Lock()
				delete(w.client, c)
				w.mu.Unlock()
			}()
		}
	}()
	return w
}

// forward copies until an end, or until stop says so of what it read.
func forward(from, to net.Conn, stop func([]byte) bool) error {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if stop != nil && stop(b[:n]) {
			return nil
		}
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// cut ends every connection of the node.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.client {
		_ = c.Close()
	}
}

func overWire(t *testing.T) (*storetest.DB, *store.DB, *wire) {
	t.Helper()
	db := storetest.OpenPostgres(t)
	w := newWire(t, db.Options.URL)
	o := db.Options
	o.URL = w.url
	n, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return db, n, w
}

// TestLostAnswersAreNotLostCommits: more commits than the pool has connections
// lose their answers at once. Each is durable, and each is told so.
func TestLostAnswersAreNotLostCommits(t *testing.T) {
	t.Parallel()
	db, n, w := overWire(t)
	o := timerOrigin(t)
	const writers = 40
	var accounts [writers]id.ID
	for i := range accounts {
		accounts[i] = db.NewAccount(t)
	}
	start := make(chan struct{})
	var ready, wg sync.WaitGroup
	for _, a := range accounts {
		ready.Add(1)
		wg.Go(func() {
			ready.Done()
			<-start
			if err := n.Do(context.Background(), a, func(tx event.Tx) error { _, err := tx.Emit(o, draft("x")); return err }); err != nil {
				t.Error(err)
			}
		})
	}
	ready.Wait()
	w.lose.Store(writers)
	close(start)
	wg.Wait()
	for _, a := range accounts {
		if err := db.Journal.View(context.Background(), a, func(tx event.Tx) error {
			evs, err := store.EventsAfter(tx, 0, 10)
			if err == nil && len(evs) != 2 {
				err = fmt.Errorf("%d events, want 2", len(evs))
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestACommitInDoubtIsWaitedFor: the line breaks while the server is at the
// commit. Asked at once, the journal has nothing yet; in the end it has it all.
func TestACommitInDoubtIsWaitedFor(t *testing.T) {
	t.Parallel()
	db, n, w := overWire(t)
	o := timerOrigin(t)
	c, err := pgx.Connect(context.Background(), db.Options.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(context.Background(), `
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.8); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow();`); err != nil {
		t.Fatal(err)
	}
	atCommit := func() (n int) {
		if err := c.QueryRow(context.Background(), `SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event = 'PgSleep'`).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	answered, cut := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(cut)
		for atCommit() == 0 && !t.Failed() {
			select {
			case <-answered:
				t.Error("it was answered before the line was cut")
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		w.cut()
	}()
	err = n.Do(context.Background(), db.Account, func(tx event.Tx) error { _, err := tx.Emit(o, draft("x")); return err })
	close(answered)
	<-cut
	for atCommit() > 0 && !t.Failed() {
		<-time.After(5 * time.Millisecond)
	}
	if got := len(db.Events(t)); got != 2 || err != nil {
		t.Fatalf("answered %v, %d events are durable", err, got)
	}
}

// TestANodeHearsAgainAfterTheServerCameBack: connections, the listener and the
// heartbeat find their way back, and other nodes' commits are seen in time.
func TestANodeHearsAgainAfterTheServerCameBack(t *testing.T) {
	t.Parallel()
	db, n, w := overWire(t)
	o := timerOrigin(t)
	watch := n.Watch(db.Account)
	defer watch.Stop()
	for round := range 2 {
		db.Do(t, func(tx event.Tx) error { _, err := tx.Emit(o, draft("x")); return err })
		select {
		case <-watch.Wake():
		case <-time.After(4 * time.Second):
			t.Fatalf("round %d: the other node's commit was not seen", round)
		}
		w.cut()
	}
	var err error
	for range 30 { // the first uses of dead connections may fail
		if err = n.Do(context.Background(), db.Account, func(tx event.Tx) error { _, err := tx.Emit(o, draft("y")); return err }); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
