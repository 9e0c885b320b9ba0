package policydb_test

import (
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/store/storetest"
)

// BenchmarkServiceDecide: 64 decisions and their events in one transaction, so
// that the figure is of reading and deciding, not of the disk.
func BenchmarkServiceDecide(b *testing.B) {
	x := setup(b, storetest.OpenSQLite(b))
	r := x.write()
	for b.Loop() {
		x.Do(b, func(tx event.Tx) error {
			ref := x.cause(tx)
			for range 64 {
				if _, _, err := x.svc.Decide(tx, r, ref); err != nil {
					return err
				}
			}
			return nil
		})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*64), "µs/decision")
}
