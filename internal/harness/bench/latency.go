package bench

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Latency collects durations. It is safe for concurrent use; the zero value is
// ready.
type Latency struct {
	mu      sync.Mutex
	samples []time.Duration // guarded by mu
}

// Add adds one sample.
func (l *Latency) Add(d time.Duration) { l.mu.Lock(); l.samples = append(l.samples, d); l.mu.Unlock() }

// Len returns the number of samples.
func (l *Latency) Len() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.samples) }

// Quantile returns the smallest sample that at least the share q of all samples
// does not exceed (nearest rank), in milliseconds; NaN without samples.
func (l *Latency) Quantile(q float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(l.samples))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return float64(sorted[min(max(rank, 1), len(sorted))-1]) / float64(time.Millisecond)
}

// Sync measures n durable writes of 4 KiB, one behind the other, in a file of
// its own in dir: the cost of one commit that nothing else can beat. The
// synchronising call is fdatasync where there is one.
func Sync(dir string, n int) (l *Latency, err error) {
	f, err := os.Create(filepath.Join(dir, "sync.probe"))
	if err != nil {
		return nil, fmt.Errorf("measure sync: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 4096)
	l = &Latency{}
	for range n {
		begin := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, fmt.Errorf("measure sync: %w", err)
		}
		if err := datasync(f); err != nil {
			return nil, fmt.Errorf("measure sync: %w", err)
		}
		l.Add(time.Since(begin))
	}
	return l, nil
}

// Machine puts the disk's speed on top of the table and returns the median of
// one durable write in milliseconds.
func (t *Table) Machine(dir string) (float64, error) {
	l, err := Sync(dir, 200)
	if err != nil {
		return math.NaN(), err
	}
	p50 := l.Quantile(0.5)
	t.Head("fdatasync of 4 KiB: p50 %.0f µs, p99 %.0f µs", 1000*p50, 1000*l.Quantile(0.99))
	return p50, nil
}
