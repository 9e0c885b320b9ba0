package agent

import (
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// TestWhatIsKeptOfAWaitingRunIsUsedOnceSoonAndForItsOwnLog: a log that does not
// begin with what was kept, or a run that waited long, is read from the journal.
func TestWhatIsKeptOfAWaitingRunIsUsedOnceSoonAndForItsOwnLog(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	log := func(digests ...byte) (out []Record) {
		for i, d := range digests {
			out = append(out, Record{N: i, EventID: id.ID{byte(i + 1)}, Digest: [32]byte{d},
				Event: event.Event{Payload: event.LLMRequest{Role: "respond", Request: []byte(`{"long":1}`)}}})
		}
		return out
	}
	run := id.ID{9}
	var w warmth
	w.keep(run, Inputs{}, log(1, 2), now)
	x, ok := w.take(run, now.Add(time.Second))
	if !ok || !x.begins(log(1, 2, 3)) || x.begins(log(1)) || x.begins(log(1, 3, 3)) {
		t.Errorf("kept %+v, %v", x, ok)
	}
	if q := x.records[0].Event.Payload.(event.LLMRequest); q.Role != "respond" || q.Request != nil {
		t.Errorf("the first request is kept as %+v", q)
	}
	if q := x.records[1].Event.Payload.(event.LLMRequest); q.Request == nil {
		t.Error("the newest request lost its text: it may have to be asked again")
	}
	if _, ok := w.take(run, now); ok {
		t.Error("it was taken twice")
	}
	for _, late := range []time.Duration{warmFor + 1, -1} {
		w.keep(run, Inputs{}, log(1), now)
		if _, ok := w.take(run, now.Add(late)); ok {
			t.Errorf("it was taken after %v", late)
		}
	}
	for i := range 3 * maxWarm {
		w.keep(id.ID{byte(i), byte(i >> 8)}, Inputs{}, nil, now)
	}
	if len(w.was) > maxWarm {
		t.Errorf("%d runs are kept", len(w.was))
	}
}
