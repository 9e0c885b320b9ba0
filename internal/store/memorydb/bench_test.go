package memorydb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/memory/recall"
	"github.com/witan-run/witan/internal/store/storetest"
)

// BenchmarkRecall asks questions of 20,000 rows whose words are spread like
// those of a language (the n-th word 1/n as often as the first).
func BenchmarkRecall(b *testing.B) {
	const rows, batch = 20_000, 500
	for name, openDB := range map[string]func(testing.TB) *storetest.DB{"sqlite": storetest.OpenSQLite, "postgres": storetest.OpenPostgres} {
		b.Run(name, func(b *testing.B) {
			d := open(b, openDB(b))
			r := rand.New(rand.NewPCG(1, 2))
			z := rand.NewZipf(r, 1.07, 8, 30_000)
			words := func(n int) (s string) {
				for range n {
					s += fmt.Sprintf("w%dx ", z.Uint64())
				}
				return s
			}
			w := clock.StartStopwatch()
			for range rows / batch {
				d.Do(b, func(tx event.Tx) error {
					ref, err := d.said(tx, label(event.Known))
					for range batch {
						m := &memory.Semantic{Row: memory.Row{Scope: recall.Account, Epistemic: memory.Told, Body: words(30)}}
						if err == nil {
							_, err = d.s.Remember(tx, memory.Note{Memory: m, By: "agent:a"}, ref)
						}
					}
					return err
				})
			}
			written := rows / w.Elapsed().Seconds()
			var took []float64
			for b.Loop() {
				w := clock.StartStopwatch()
				if f := d.ask(b, recall.Query{Text: words(8)}); len(f.Hits) == 0 {
					b.Fatal("nothing found")
				}
				took = append(took, float64(w.Elapsed().Microseconds())/1000)
			}
			slices.Sort(took)
			b.ReportMetric(written, "rows-written/s")
			b.ReportMetric(took[len(took)/2], "p50-ms")
			b.ReportMetric(took[len(took)*99/100], "p99-ms")
		})
	}
}
