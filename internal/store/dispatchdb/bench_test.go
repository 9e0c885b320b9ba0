package dispatchdb_test

import (
	"sync"
	"testing"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/store/storetest"
)

// BenchmarkRoad is a person's message in, its task, an answer and its outbound
// message: four events and the rows of dispatch, in two commits, 64 at once.
func BenchmarkRoad(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *storetest.DB{"sqlite": storetest.OpenSQLite, "postgres": storetest.OpenPostgres} {
		b.Run(name, func(b *testing.B) {
			full := dispatch.Rate{Burst: 1_000_000, PerMinute: 1_000_000}
			h := setup(b, open(b), func(c *dispatch.Config) { c.People, c.Person = full, full })
			var mu sync.Mutex
			tasks := make([]event.Event, 0, b.N)
			h.React(append(h.reactions(), storetest.Reaction{Name: "bench", On: []event.Type{"agent.task"}, Run: func(_ event.Tx, e event.Event) error {
				mu.Lock()
				defer mu.Unlock()
				tasks = append(tasks, e)
				return nil
			}}))
			h.take(h.byPerson(h.house.owner, "warm"))
			b.SetParallelism(32)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := h.tryTake(h.byPerson(h.house.owner, "a question of the usual length, more or less")); err != nil {
						b.Error(err)
					}
					mu.Lock()
					e := tasks[len(tasks)-1]
					tasks = tasks[:len(tasks)-1]
					mu.Unlock()
					h.answer(e, "an answer")
				}
			})
		})
	}
}
