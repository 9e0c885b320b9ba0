package store_test

import (
	"context"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

func BenchmarkVerify(b *testing.B) {
	db := storetest.OpenSQLite(b)
	o := timerOrigin(b)
	for range 200 {
		if err := db.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
			for range 500 {
				if _, err := tx.Emit(o, draft("verify")); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for range b.N {
		if r, err := store.VerifyChain(context.Background(), db.Journal, db.Account, nil); err != nil || r.Events != 100_001 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100_001/b.Elapsed().Seconds(), "events/s")
}
