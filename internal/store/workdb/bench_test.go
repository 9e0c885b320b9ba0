package workdb_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/work"
)

// run calls f b.N times from n clients.
func run(b *testing.B, n int, f func() error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range n {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func engines(b *testing.B, f func(b *testing.B, d *board)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { f(b, openBoard(b, storetest.OpenSQLite(b))) })
	b.Run("postgres", func(b *testing.B) { f(b, openBoard(b, storetest.OpenPostgres(b))) })
}

func BenchmarkCreateTaskBy16(b *testing.B) {
	engines(b, func(b *testing.B, d *board) {
		w := d.workspace(b, "Bench")
		run(b, 16, func() error {
			_, err := do(d, func(tx event.Tx) (work.Task, error) {
				return d.CreateTask(tx, d.ada, work.NewTask{Workspace: w.ID, Title: "a task", Body: "what is to be done", Assignee: work.Agent})
			})
			return err
		})
	})
}

// analyze does what PostgreSQL does by itself within a minute: plans that were
// made for an empty table are made anew.
func (b *board) analyze(t testing.TB) {
	t.Helper()
	if b.Options.URL == "" {
		return
	}
	conn, err := pgx.Connect(context.Background(), b.Options.URL)
	if err == nil {
		_, err = conn.Exec(context.Background(), "ANALYZE")
		conn.Close(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkClaim takes a task and gives it back, beside a bare change of the same
// length: what the queue adds is the difference.
func BenchmarkClaim(b *testing.B) {
	engines(b, func(b *testing.B, d *board) {
		for _, n := range []int{100, 10_000} {
			w := d.workspace(b, "Bench")
			d.fill(b, w, n)
			d.analyze(b)
			var k atomic.Int64
			b.Run(fmt.Sprint(n), func(b *testing.B) {
				run(b, 1, func() error {
					c, ok, err := d.claim(worker(w, int(k.Add(1))), w)
					if err != nil || !ok {
						return fmt.Errorf("%t %w", ok, err)
					}
					_, err = d.move(d.ada, c.Task.ID, work.NotStarted)
					return err
				})
			})
		}
	})
}

func BenchmarkList50Of10000(b *testing.B) {
	engines(b, func(b *testing.B, d *board) {
		w := d.workspace(b, "Bench")
		d.fill(b, w, 10_000)
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprint(clients), func(b *testing.B) {
				run(b, clients, func() error {
					return d.Journal.View(b.Context(), d.Account, func(tx event.Tx) error {
						_, err := d.ListTasks(tx, d.ada, work.TaskQuery{Workspace: w.ID, Limit: 50}, id.Nil)
						return err
					})
				})
			})
		}
	})
}
