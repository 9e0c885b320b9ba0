package agent

import (
	"bytes"
	"fmt"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

// The verdicts of a replay.
const (
	Exact       = "exact"       // every byte was produced again, by the same code version
	Approximate = "approximate" // every byte was produced again, by another code version
	Divergent   = "divergent"   // First says where
)

// Report is what a replay found.
type Report struct {
	RunID    id.ID
	Verdict  string
	Recorded string // code version of the run
	Code     string // of this replay
	Outcome  string // of the run; "" while it goes
	Records  int    // in the log
	Checked  int    // that were found right, from the first
	Steps    int
	Digest   string // of the log, computed again
	First    *Divergence
}

// Divergence is the first thing that is not as it was recorded.
type Divergence struct {
	Record   int // N of the record; -1 for the run as a whole
	Step     int
	Kind     RecordKind
	CallID   string
	What     string // which part: "content", "digest", "label", "event", "decision: …"
	Byte     int    // offset of the first differing byte; -1 where there are no two texts
	Recorded string // from a little before that byte
	Produced string
	Reason   string
}

// String says it in one line.
func (d Divergence) String() string {
	s := fmt.Sprintf("record %d (step %d, %s %s): %s: %s", d.Record, d.Step, d.Kind, d.CallID, d.What, d.Reason)
	if d.Byte >= 0 {
		s += fmt.Sprintf(", from byte %d: recorded %q, produced %q", d.Byte, d.Recorded, d.Produced)
	}
	return s
}

// Replayer runs a recorded run again, from its records alone. It holds no model
// and reaches no network: replies and results are read, all else is computed.
type Replayer struct {
	Store     Store
	Prompts   Prompts
	Catalogue Catalogue
	Decisions Decisions // may be nil: decisions are then left to policy
	// Proof returns fault.Corrupt for an event whose stored bytes are not those
	// that were appended; nil leaves that to the audit.
	Proof func(tx event.Tx, event id.ID) error
	Code  string // version of this build, as Deps.Code
}

// Replay proves one run (INV-13). The error is for a run that cannot be read at
// all; a run that was recorded otherwise than it is computed is a Report.
func (r Replayer) Replay(tx event.Tx, runID id.ID) (Report, error) {
	out := Report{RunID: runID, Code: r.Code}
	run, err := r.Store.GetRun(tx, runID)
	if err != nil {
		return out, err
	}
	records, err := r.Store.LoadRecords(tx, runID)
	if err != nil {
		return out, err
	}
	out.Records, out.Outcome, out.Digest = len(records), run.Outcome, runDigest(runID, records)
	if len(records) == 0 {
		if run.State == Finished && run.Digest != out.Digest {
			return out.at(whole(-1, "records", "the log is empty")), nil
		}
		out.Verdict = Exact
		return out, nil
	}
	p := replay{r: r, tx: tx, run: run, records: records}
	first, err := p.all(&out)
	if err != nil {
		return out, err
	}
	if first != nil {
		return out.at(first), nil
	}
	out.Verdict = Exact
	if out.Recorded != "" && out.Recorded != out.Code { // a run that was given up before its start names none
		out.Verdict = Approximate
	}
	return out, nil
}

func (out Report) at(d *Divergence) Report { out.Verdict, out.First = Divergent, d; return out }

func whole(n int, what, reason string) *Divergence {
	return &Divergence{Record: n, Byte: -1, What: what, Reason: reason}
}

type replay struct {
	r       Replayer
	tx      event.Tx
	run     Run
	records []Record
	in      Inputs
}

func (p *replay) all(out *Report) (*Divergence, error) {
	for i := range p.records {
		if d, err := p.read(i); d != nil || err != nil {
			return d, err
		}
		out.Steps = max(out.Steps, p.records[i].Step)
		if p.records[i].Kind == RecordGaveUp { // said because nothing more could be computed
			if i+1 != len(p.records) {
				return p.diverges(i, "place", "the run went on after it was given up"), nil
			}
			out.Checked++
			break
		}
		if i == 0 {
			start, _ := p.records[0].Event.Payload.(event.RunStarted)
			out.Recorded = start.Code
			if d, err := p.start(start); d != nil || err != nil {
				return d, err
			}
		} else if d, err := p.produce(i); d != nil || err != nil {
			return d, err
		}
		if p.records[i].Kind == RecordCall && p.r.Decisions != nil {
			if d, err := p.decisions(i); d != nil || err != nil {
				return d, err
			}
		}
		out.Checked++
	}
	return p.ending(out), nil
}

// read checks a line against the journal: it stands in its place, its event is
// there, and its digest is that of both.
func (p *replay) read(i int) (*Divergence, error) {
	r := &p.records[i]
	if r.N != i {
		return p.diverges(i, "place", fmt.Sprintf("record %d is missing", i)), nil
	}
	e, err := p.r.Store.GetEvent(p.tx, r.EventID)
	switch {
	case fault.Is(err, fault.NotFound):
		return p.diverges(i, "event", "the journal has no such event"), nil
	case fault.Is(err, fault.Corrupt):
		return p.diverges(i, "event", err.Error()), nil
	case err != nil:
		return nil, err
	case e.Erased:
		return p.diverges(i, "event", "its body was erased"), nil
	case e.Payload == nil || e.Payload.EventType() != r.Kind.eventType():
		return p.diverges(i, "kind", fmt.Sprintf("the event is a %s", e.Type)), nil
	case e.Label.String() != r.Label.String():
		return p.texts(i, "label", []byte(r.Label.String()), []byte(e.Label.String())), nil
	}
	if p.r.Proof != nil {
		switch err := p.r.Proof(p.tx, r.EventID); {
		case fault.Is(err, fault.Corrupt):
			return p.diverges(i, "event", err.Error()), nil
		case err != nil:
			return nil, err
		}
	}
	r.Event = e
	sum, err := r.sum()
	if err != nil {
		return p.diverges(i, "content", err.Error()), nil
	}
	if sum != r.Digest {
		return p.texts(i, "digest", []byte(fmt.Sprintf("%x", r.Digest)), []byte(fmt.Sprintf("%x", sum))), nil
	}
	switch v := e.Payload.(type) {
	case event.LLMRequest:
		if _, err := llm.RequestOf(e); err != nil {
			return p.diverges(i, "request digest", err.Error()), nil
		}
	case event.LLMResponse:
		if _, err := llm.ResponseOf(e); err != nil && v.ErrorKind == "" {
			return p.diverges(i, "reply digest", err.Error()), nil
		}
	case event.SkillResult:
		if v.RunID != p.run.ID || v.CallID != r.CallID {
			return p.diverges(i, "call", "the result answers another call"), nil
		}
	default: // the others hold no digest or call of their own
	}
	return nil, nil
}

// start rebuilds what the run was given, and checks what follows from it.
func (p *replay) start(start event.RunStarted) (*Divergence, error) {
	in, err := pins{p.r.Store, p.r.Prompts, p.r.Catalogue, Version.parse}.inputs(p.tx, p.run, start)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Corrupt):
		return p.diverges(0, "input", err.Error()), nil
	case err != nil:
		return nil, err
	}
	p.in = in
	for _, t := range append(in.Turns[:len(in.Turns):len(in.Turns)], in.Fold...) {
		if t.Text == "" {
			return p.diverges(0, "input", "turn "+t.ID.String()+" was erased"), nil
		}
	}
	again := start
	again.RunID, again.Agent, again.Given = p.run.ID, p.run.Agent, in.given()
	if d := p.payloads(0, start, again); d != nil {
		return d, nil
	}
	if got := p.records[0].Label; got.String() != in.StartLabel.String() {
		return p.texts(0, "label", []byte(got.String()), []byte(in.StartLabel.String())), nil
	}
	return nil, nil
}

// produce computes a record again, if it is one that the run computed.
func (p *replay) produce(i int) (*Divergence, error) {
	r := p.records[i]
	switch r.Kind {
	case RecordReply, RecordResult, RecordBudget:
		_, err := readLog(p.records[:i+1])
		if err != nil {
			return p.diverges(i, "place", err.Error()), nil
		}
		return p.inputLabel(i), nil
	}
	// Calls of one step were computed together, before the first of them.
	before := i
	for r.Kind == RecordCall && before > 0 && p.records[before-1].Kind == RecordCall && p.records[before-1].Step == r.Step {
		before--
	}
	m, err := Next(p.in, p.records[:before])
	if err != nil {
		return p.diverges(i, "place", err.Error()), nil
	}
	if m.Label.String() != r.Label.String() {
		return p.texts(i, "label", []byte(r.Label.String()), []byte(m.Label.String())), nil
	}
	switch v := r.Event.Payload.(type) {
	case event.LLMRequest:
		return p.request(i, v, m)
	case event.SkillInvoke:
		n := i - before
		if n >= len(m.Calls) || m.Calls[n].CallID != r.CallID {
			return p.diverges(i, "call", "the run would not have made this call here"), nil
		}
		if last := i+1 == len(p.records) || p.records[i+1].Kind != RecordCall || p.records[i+1].Step != r.Step; last && n+1 != len(m.Calls) {
			return p.diverges(i, "call", fmt.Sprintf("the run would have made %d calls here", len(m.Calls))), nil
		}
		return p.payloads(i, v, m.Calls[n]), nil
	case event.ThreadSummarised:
		if m.Summary == nil || m.Summary.Step != r.Step {
			return p.diverges(i, "summary", "the run would not have summarised here"), nil
		}
		return p.payloads(i, v, p.in.summarised(*m.Summary)), nil
	case event.AgentResponse:
		if m.Answer == nil {
			return p.diverges(i, "answer", "the run would not have answered here"), nil
		}
		if p.run.State == Finished && p.run.Outcome != m.Answer.Outcome {
			return p.texts(i, "outcome", []byte(p.run.Outcome), []byte(m.Answer.Outcome)), nil
		}
		return p.payloads(i, v, p.in.response(*m.Answer)), nil
	default: // what comes from outside is taken as recorded
	}
	return p.diverges(i, "kind", "no record of this kind is computed"), nil
}

// inputLabel proves that what came from outside did not come in above its cause.
func (p *replay) inputLabel(i int) *Divergence {
	r := p.records[i]
	var cause *Record
	for j := range i {
		c := &p.records[j]
		if c.Step == r.Step && (r.Kind == RecordReply && c.Kind == RecordRequest || r.Kind == RecordResult && c.Kind == RecordCall && c.CallID == r.CallID) {
			cause = c
		}
	}
	if cause != nil && !r.Label.AtMost(cause.Label) {
		return p.diverges(i, "label", "it is above its cause: "+r.Label.String()+" from "+cause.Label.String())
	}
	return nil
}

func (p *replay) request(i int, v event.LLMRequest, m Move) (*Divergence, error) {
	if m.Ask == nil {
		return p.diverges(i, "request", "the run would not have asked a model here"), nil
	}
	target, err := recordedTarget(p.records[i].Event)
	if err != nil {
		return p.diverges(i, "request", err.Error()), nil
	}
	req := m.Ask.Request
	req.Model, req.TemperatureMicros, req.Seed = target.Model, target.TemperatureMicros, target.Seed
	body, digest, err := llm.RequestDigest(req)
	if err != nil {
		return p.diverges(i, "request", err.Error()), nil
	}
	if !bytes.Equal(body, v.Request) {
		return p.texts(i, "request", v.Request, body), nil
	}
	again := v
	again.CallID, again.RunID, again.Step, again.Role, again.Prompt = m.Ask.CallID, p.run.ID, m.Ask.Step, m.Ask.Role, m.Ask.Prompt
	again.MaxTokens, again.Rendered = int(req.MaxTokens), digest
	return p.payloads(i, v, again), nil
}

func (p *replay) decisions(i int) (*Divergence, error) {
	checks, err := p.r.Decisions.Recheck(p.tx, p.records[i].Event)
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		if !bytes.Equal(c.Recorded, c.Produced) {
			return p.texts(i, "decision: "+c.What, c.Recorded, c.Produced), nil
		}
	}
	return nil, nil
}

// ending checks the run's own word on how it ended, and that nothing is missing
// at the end of a log that is closed.
func (p *replay) ending(out *Report) *Divergence {
	last := p.records[len(p.records)-1]
	n := last.N
	switch {
	case p.run.Records != len(p.records):
		return whole(n, "records", fmt.Sprintf("the run counts %d records, the log has %d", p.run.Records, len(p.records)))
	case p.run.State != Finished:
		return nil
	case p.run.Digest != out.Digest:
		return p.texts(n, "run digest", []byte(p.run.Digest), []byte(out.Digest))
	case p.run.Outcome != Cancelled && last.Kind != RecordAnswer && last.Kind != RecordGaveUp:
		return p.diverges(n, "answer", "the run is over without an answer")
	}
	return nil
}

// payloads compares two payloads in their canonical bytes.
func (p *replay) payloads(i int, recorded, produced event.Payload) *Divergence {
	a, err := canon.JSON(recorded)
	if err != nil {
		return p.diverges(i, "content", err.Error())
	}
	b, err := canon.JSON(produced)
	if err != nil {
		return p.diverges(i, "content", err.Error())
	}
	if bytes.Equal(a, b) {
		return nil
	}
	return p.texts(i, "content", a, b)
}

func (p *replay) diverges(i int, what, reason string) *Divergence {
	r := p.records[i]
	return &Divergence{Record: i, Step: r.Step, Kind: r.Kind, CallID: r.CallID, What: what, Byte: -1, Reason: reason}
}

// texts names the first byte in which two texts differ.
func (p *replay) texts(i int, what string, recorded, produced []byte) *Divergence {
	d := p.diverges(i, what, "not as recorded")
	d.Byte = 0
	for d.Byte < len(recorded) && d.Byte < len(produced) && recorded[d.Byte] == produced[d.Byte] {
		d.Byte++
	}
	d.Recorded, d.Produced = excerpt(recorded, d.Byte), excerpt(produced, d.Byte)
	return d
}

func excerpt(b []byte, at int) string { return string(b[max(0, at-20):min(len(b), at+40)]) }
