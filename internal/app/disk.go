package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// The bounds of the disk watch (experiment F10): SQLite cannot even delete on a
// full disk, so room for decisions is kept back.
const (
	ballastSize  = 32 << 20
	stopIntakeAt = 64 << 20
	goOnAt       = 128 << 20
)

// disk watches the free space of the data folder. When little is left intake
// stops with a named error; approvals, denials and halt still commit. A ballast
// file is given up first, as the room in which to do that.
type disk struct {
	dir  string
	free func(dir string) (int64, error)
	log  *slog.Logger
	full atomic.Bool
}

func newDisk(dir string, log *slog.Logger) *disk { return &disk{dir: dir, free: freeSpace, log: log} }

func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// gate refuses intake while the disk is nearly full.
func (d *disk) gate() error {
	if d.full.Load() {
		return fault.New(fault.Unavailable, "the disk is nearly full; no new messages are taken in").
			WithFix("free space on the data folder's disk; approvals, denials and halt still work")
	}
	return nil
}

// Full reports whether intake is stopped.
func (d *disk) Full() bool { return d.full.Load() }

// look compares the free space with the bounds.
func (d *disk) look(ctx context.Context) {
	free, err := d.free(d.dir)
	if err != nil {
		d.log.WarnContext(ctx, "look at the disk", slog.Any("error", err))
		return
	}
	switch {
	case !d.full.Load() && free < stopIntakeAt:
		d.full.Store(true)
		_ = os.Remove(d.ballast())
		d.log.ErrorContext(ctx, "the disk is nearly full: intake stops", slog.Int64("free_bytes", free))
	case d.full.Load() && free > goOnAt:
		d.full.Store(false)
		d.log.InfoContext(ctx, "there is room again: intake goes on", slog.Int64("free_bytes", free))
	}
	if !d.full.Load() && free > goOnAt+ballastSize {
		d.keepBallast(ctx)
	}
}

// keepBallast makes the ballast file if it is not there.
func (d *disk) keepBallast(ctx context.Context) {
	if _, err := os.Stat(d.ballast()); err == nil {
		return
	}
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // nothing is written but the reservation
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, ballastSize); err != nil {
		_ = os.Remove(d.ballast()) // this file system cannot reserve; a sparse file would be no ballast
		d.log.DebugContext(ctx, "no ballast on this file system", slog.Any("error", err))
	}
}

// Run watches until ctx ends.
func (d *disk) Run(ctx context.Context) error {
	t := time.NewTicker(2 * time.Second)
	defer t.Stop()
	for {
		d.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
