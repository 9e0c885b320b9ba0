package harness_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/harness/bench"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// window is how long one rate is measured; each is measured in turn with what it
// is held against, several times, because the machine has other guests.
const (
	window = 2 * time.Second
	turns  = 3
)

// drive calls f from so many goroutines for a while and returns the rate and the
// latencies. i counts the calls from base on.
func drive(t testing.TB, workers int, d time.Duration, base int64, f func(worker int, i int64) error) (rate float64, l *bench.Latency, last int64) {
	t.Helper()
	l = &bench.Latency{}
	var n atomic.Int64
	n.Store(base)
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range workers {
		wg.Go(func() {
			for time.Since(begin) < d {
				at := time.Now()
				if err := f(w, n.Add(1)); err != nil {
					t.Error(err)
					return
				}
				l.Add(time.Since(at))
			}
		})
	}
	wg.Wait()
	return float64(l.Len()) / time.Since(begin).Seconds(), l, n.Load()
}

// small is one closure: a guarded row and an event of the account.
func small(db *store.DB, o event.Origin, account id.ID, i int64) error {
	return db.Do(context.Background(), account, func(tx event.Tx) error {
		if err := store.SetTimer(tx, groundKind, fmt.Sprint(i%2000), time.Unix(1, 0)); err != nil {
			return err
		}
		_, err := tx.Emit(o, event.Draft{Payload: event.TimerFired{Kind: groundKind, Key: fmt.Sprint(i % 2000)},
			Label: event.NewLabel(event.House, event.AccountWide()), Summary: "A small fact."})
		return err
	})
}

func figuresAppend(t *testing.T, tab *bench.Table) {
	o, err := says()
	if err != nil {
		t.Fatal(err)
	}
	appendSQLite(t, tab, o)
	appendPostgres(t, tab, o)
}

func appendSQLite(t *testing.T, tab *bench.Table, o event.Origin) {
	g := newGround(t, "sqlite")
	bareGround := newGround(t, "sqlite")
	db, err := bareGround.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	db.Close() // migrated
	bare, err := storetest.NewBareSQLite(bareGround.Dir, producers)
	if err != nil {
		t.Fatal(err)
	}
	if db, err = g.open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var real, floor, p99 []float64
	var at, bareAt int64
	for range turns {
		r, l, last := drive(t, producers, window, at, func(_ int, i int64) error { return small(db, o, g.Account, i) })
		at = last
		b, _, last := drive(t, producers, window, bareAt, func(_ int, i int64) error { return bare.Put(g.Account, i) })
		bareAt = last
		real, floor, p99 = append(real, r), append(floor, b), append(p99, l.Quantile(0.99))
	}
	bare.Close()
	db.Close()
	st, err := os.Stat(filepath.Join(g.Dir, "witan.db"))
	if err != nil {
		t.Fatal(err)
	}
	tab.Row("SQLite: append, 64 producers", median(real), "/s", bench.Info(), fmt.Sprintf("p99 %.1f ms", median(p99)))
	tab.Row("SQLite: bare prepared group commit", median(floor), "/s", bench.Info(), "the same rows, no journal")
	tab.Row("SQLite: append of a bare group commit", 100*median(real)/median(floor), "%", bench.AtLeast(60), "")
	tab.Row("SQLite: a small event on disk", float64(st.Size())/float64(at), "bytes", bench.AtMost(500), "whole file by events")
}

func appendPostgres(t *testing.T, tab *bench.Table, o event.Origin) {
	for _, accounts := range []int{1, 64} {
		g, bareGround := newGround(t, "postgres"), newGround(t, "postgres")
		db, err := bareGround.open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		bare, err := storetest.NewBarePostgres(bareGround.URL, 20)
		if err != nil {
			t.Fatal(err)
		}
		if db, err = g.open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		ids := id.NewSource(clock.System{}.Now, nil)
		of := make([]id.ID, accounts)
		for i := range of {
			of[i] = ids.New()
		}
		var real, floor, p99 []float64
		var at, bareAt int64
		for range turns {
			r, l, last := drive(t, producers, window, at, func(w int, i int64) error { return small(db, o, of[w%accounts], i) })
			at = last
			b, _, last := drive(t, producers, window, bareAt, func(w int, i int64) error { return bare.Put(of[w%accounts], i) })
			bareAt = last
			real, floor, p99 = append(real, r), append(floor, b), append(p99, l.Quantile(0.99))
		}
		bare.Close()
		db.Close()
		name, want := "PostgreSQL: one account", 3000.0
		if accounts > 1 {
			name, want = fmt.Sprintf("PostgreSQL: %d accounts", accounts), 5000
		}
		share := 100 * median(real) / median(floor)
		tab.Row(name+", the same without a journal", median(floor), "/s", bench.Info(), "")
		// Either is enough: a small machine is held against itself.
		if share >= 60 {
			tab.Row(name, median(real), "/s", bench.Info(), fmt.Sprintf("≥ %.0f/s, or 60 %% of the same without a journal", want))
			tab.Row(name+", of the same without a journal", share, "%", bench.AtLeast(60), "")
		} else {
			tab.Row(name, median(real), "/s", bench.AtLeast(want), fmt.Sprintf("%.0f %% of the same without a journal", share))
			tab.Row(name+", p99", median(p99), "ms", bench.AtMost(50), "")
		}
	}
}

// counting counts the reads of tails.
type counting struct {
	*store.DB
	reads atomic.Int64
}

func (c *counting) MarksAfter(tx event.Tx, after int64, limit int) ([]bus.Mark, error) {
	c.reads.Add(1)
	return c.DB.MarksAfter(tx, after, limit)
}

func figuresTails(t *testing.T, tab *bench.Table) {
	o, err := says()
	if err != nil {
		t.Fatal(err)
	}
	g := newGround(t, "sqlite")
	db, err := g.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := small(db, o, g.Account, 0); err != nil {
		t.Fatal(err)
	}
	for _, readers := range []int{1, 500} {
		c := &counting{DB: db}
		tails := bus.NewTails(c, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var wg, seen sync.WaitGroup
		var l bench.Latency
		var done atomic.Pointer[time.Time] // when Do returned
		var joined atomic.Int64
		for range readers {
			wg.Go(func() {
				first := true
				_ = tails.Follow(ctx, g.Account, bus.Tip{Epoch: 1}, func(b bus.Batch) error { // from the start: it is joined once it was called
					if first {
						first = false
						joined.Add(1)
						return nil
					}
					if at := done.Load(); at != nil {
						l.Add(max(0, time.Since(*at)))
					}
					seen.Done()
					return nil
				})
			})
		}
		waitFor(t, 20*time.Second, "readers are joined", func() bool { return joined.Load() == int64(readers) })
		const commits = 300
		var before int64
		for i := -1; i < commits; i++ {
			if i == 0 { // after the first commit everybody waits for the next; until then they read to see that they wait
				before = c.reads.Load()
				l = bench.Latency{}
			}
			seen.Add(readers)
			done.Store(nil)
			if err := small(db, o, g.Account, int64(i)); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			done.Store(&now)
			seen.Wait()
		}
		reads := float64(c.reads.Load()-before) / commits
		cancel()
		wg.Wait()
		if readers == 1 {
			tab.Row("commit to tail, p50", cmpNaN(l.Quantile(0.5)), "ms", bench.AtMost(3), "0 if the tail was before the answer to the writer")
		} else {
			tab.Row(fmt.Sprintf("reads per commit of %d readers", readers), reads, "", bench.AtMost(1), "")
		}
	}
}

// cmpNaN makes "nobody was slower than the writer's own answer" a zero.
func cmpNaN(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}
