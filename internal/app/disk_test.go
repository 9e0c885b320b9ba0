package app

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/witan-run/witan/internal/kit/fault"
)

func TestIntakeStopsBeforeTheDiskIsFullAndTheBallastGoesFirst(t *testing.T) {
	t.Parallel()
	free := int64(1 << 30)
	d := newDisk(t.TempDir(), slog.New(slog.DiscardHandler))
	d.free = func(string) (int64, error) { return free, nil }
	d.look(context.Background())
	if _, err := os.Stat(d.ballast()); err != nil { // the gate must work without it
		t.Logf("this file system reserves no space, nothing is given away below: %v", err)
	}
	if d.gate() != nil {
		t.Fatal("intake is closed with a gibibyte free")
	}
	free = 10 << 20
	d.look(context.Background())
	if !fault.Is(d.gate(), fault.Unavailable) {
		t.Fatal("intake is open on a full disk")
	}
	if _, err := os.Stat(d.ballast()); !os.IsNotExist(err) {
		t.Fatal("the ballast was kept")
	}
	free = 100 << 20 // between the bounds: no flapping
	d.look(context.Background())
	if d.gate() == nil {
		t.Fatal("intake reopened at once")
	}
	free = 1 << 30
	d.look(context.Background())
	if d.gate() != nil {
		t.Fatal("intake did not reopen")
	}
}
