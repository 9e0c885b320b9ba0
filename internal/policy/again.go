package policy

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Again decides anew about a recorded call: the recorded request, with the
// arguments of its skill.invoke, under the version of the rules that was in
// force then. A replay compares the outcome with what was recorded (INV-13).
func (s *Service) Again(tx event.Tx, v event.PolicyDecision, invoke event.Event) (Decision, error) {
	var r Request
	if err := json.Unmarshal(v.Request, &r); err != nil {
		return Decision{}, err
	}
	if p, ok := invoke.Payload.(event.SkillInvoke); ok && invoke.ID == v.InvokeID {
		r.Arguments, r.Invoke = p.Arguments, invoke.ID
	}
	saved, err := s.store.GetVersion(tx, v.Version)
	if err != nil {
		return Decision{}, err
	}
	var d Document
	if err := json.Unmarshal(saved.Document, &d); err != nil {
		return Decision{}, fault.New(fault.Corrupt, "read policy version %d: %w", v.Version, err)
	}
	t, err := Compile(v.Version, d)
	if err != nil {
		return Decision{}, err
	}
	return Decide(t, r), nil
}
