package agent

import (
	"encoding/hex"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// newRecord makes the line of a run's log for an event that was just emitted or
// delivered.
func newRecord(run id.ID, n int, kind RecordKind, step int, callID string, e event.Event) (Record, error) {
	r := Record{RunID: run, N: n, Kind: kind, Step: step, CallID: callID, EventID: e.ID, Label: e.Label, Event: e}
	sum, err := r.sum()
	r.Digest = sum
	return r, err
}

// sum returns the digest of the line, of what its event says of itself — but for
// what the journal adds when it appends — and of its payload.
func (r Record) sum() ([32]byte, error) {
	p := r.Event.Payload
	// The long texts of a model call count by the digests that stand beside them.
	switch v := p.(type) {
	case event.LLMRequest:
		v.Request = nil
		p = v
	case event.LLMResponse:
		v.Response = nil
		p = v
	default: // the others hold no long text
	}
	content, err := canon.JSON(p)
	if err != nil {
		return [32]byte{}, fault.Wrap(fault.Invalid, err, "record "+string(p.EventType()))
	}
	var b canon.Binary
	b.String("witan/run-record/1")
	b.Bytes(r.RunID[:])
	b.Int64(int64(r.N))
	b.String(string(r.Kind))
	b.Int64(int64(r.Step))
	b.String(r.CallID)
	b.Bytes(r.EventID[:])
	b.String(r.Label.String())
	e := r.Event
	b.String(string(e.Type))
	b.Int64(int64(e.Version))
	b.Int64(int64(e.Layer))
	b.String(e.Source)
	b.String(e.Label.String())
	b.Int64(clock.Micros(e.OccurredAt))
	for _, i := range append([]id.ID{e.ID, e.Stream, e.Addressee, e.Subject, e.Causation, e.Correlation}, e.Parents...) {
		b.Bytes(i[:])
	}
	b.Bytes(content)
	return b.Sum(), nil
}

// runDigest is the digest of a whole log, in the order of its lines.
func runDigest(run id.ID, records []Record) string {
	var b canon.Binary
	b.String("witan/run/1")
	b.Bytes(run[:])
	for _, r := range records {
		b.Bytes(r.Digest[:])
	}
	sum := b.Sum()
	return hex.EncodeToString(sum[:])
}

// eventTypes says which event each kind of record points at.
func (k RecordKind) eventType() event.Type {
	switch k {
	case RecordStart:
		return event.RunStarted{}.EventType()
	case RecordRequest:
		return event.LLMRequest{}.EventType()
	case RecordReply:
		return event.LLMResponse{}.EventType()
	case RecordBudget:
		return event.BudgetMet{}.EventType()
	case RecordSummary:
		return event.ThreadSummarised{}.EventType()
	case RecordCall:
		return event.SkillInvoke{}.EventType()
	case RecordResult:
		return event.SkillResult{}.EventType()
	case RecordAnswer, RecordGaveUp:
		return event.AgentResponse{}.EventType()
	}
	return ""
}
