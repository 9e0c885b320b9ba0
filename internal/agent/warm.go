package agent

import (
	"slices"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// warmth keeps what a run was given, from the moment it begins to wait for a
// result until it is carried on: most results come within milliseconds, and to
// read twenty turns and a prompt again costs more than to think. It is a shortcut
// of this node only. What a run was given never changes, so that it is safe
// wherever the log that is read now begins with the log that was kept.
type warmth struct {
	mu  sync.Mutex
	was map[id.ID]warm // by run; guarded by mu
}

type warm struct {
	in      Inputs
	records []Record
	at      time.Time
}

// The bounds of what is kept. Text that a person erases may stay so long.
const (
	maxWarm = 128
	warmFor = 10 * time.Second
)

// keep remembers a run that waits.
func (w *warmth) keep(run id.ID, in Inputs, records []Record, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.was == nil {
		w.was = map[id.ID]warm{}
	}
	for r, x := range w.was {
		if now.Sub(x.at) > warmFor || len(w.was) >= maxWarm {
			delete(w.was, r)
		}
	}
	w.was[run] = warm{in, slim(records), now}
}

// slim drops the long texts of answered requests, of which only the role counts.
func slim(records []Record) []Record {
	out := slices.Clone(records)
	for i := range out {
		if q, ok := out[i].Event.Payload.(event.LLMRequest); ok && i+1 < len(out) {
			out[i].Event.Payload = event.LLMRequest{Role: q.Role}
		}
	}
	return out
}

// take returns what was kept of a run, once.
func (w *warmth) take(run id.ID, now time.Time) (warm, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, ok := w.was[run]
	delete(w.was, run)
	return x, ok && now.Sub(x.at) <= warmFor && !now.Before(x.at)
}

// begins reports whether a log begins with the records that were kept.
func (x warm) begins(records []Record) bool {
	if len(records) < len(x.records) {
		return false
	}
	for i, r := range x.records {
		if r.EventID != records[i].EventID || r.Digest != records[i].Digest {
			return false
		}
	}
	return true
}

// goOn fills a flight from what was kept, and reads only what is new.
func (s *Service) goOn(tx event.Tx, f *flight, x warm) (err error) {
	f.in, f.in.Run = x.in, f.run
	for i := range f.records {
		if i < len(x.records) {
			f.records[i] = x.records[i]
			continue
		}
		if f.records[i].Event, err = s.Store.GetEvent(tx, f.records[i].EventID); err != nil {
			return err
		}
	}
	return nil
}
