package skill

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// maxArguments bounds the arguments of a call, in bytes of canonical JSON.
const maxArguments = 256 << 10

// call is a skill.invoke that passed every check but policy's.
type call struct {
	invoke    event.Event
	payload   event.SkillInvoke
	arguments []byte // canonical; after an edit, the person's
	cause     event.Ref
	edit      event.Ref   // the person's answer, if it changed the arguments
	label     event.Label // why; after an edit joined with the answer's
	entry     manifest.Entry
	contract  *manifest.Contract
	exec      Executable
	targets   []manifest.Target
}

// refusal is why a call is not acceptable, as opposed to a store that fails.
type refusal struct{ fault *fault.Error }

func (r *refusal) Error() string { return r.fault.Error() }
func (r *refusal) Unwrap() error { return r.fault }

func refuse(k fault.Kind, format string, args ...any) *refusal {
	return &refusal{fault.New(k, format, args...)}
}

// refusedBy returns the fault of a refusal, nil for other errors.
func refusedBy(err error) *fault.Error {
	var r *refusal
	if errors.As(err, &r) {
		return r.fault
	}
	return nil
}

// examine checks a call against everything but policy. It is the same before
// the first decision and before dispatching, so what changed in between (a
// switch, a manifest, an agent's skills) refuses the call. A *refusal is about
// the call; any other error means that something could not be read, and then
// nothing is decided.
func (s *Service) examine(tx event.Tx, invoke event.Event, edit *event.Event) (*call, error) {
	p, ok := invoke.Payload.(event.SkillInvoke)
	if !ok {
		return nil, refuse(fault.NotFound, "the call was erased")
	}
	c := &call{invoke: invoke, payload: p, arguments: p.Arguments, cause: invoke.Ref(), label: invoke.Label}
	if edit != nil {
		if err := c.edited(*edit); err != nil {
			return nil, err
		}
	}
	if invoke.Account != tx.Account() {
		return nil, refuse(fault.Denied, "the call belongs to another account")
	}
	if err := c.wellFormed(); err != nil {
		return nil, err
	}
	if err := s.inCatalogue(tx, c); err != nil {
		return nil, err
	}
	if err := s.mayCall(tx, c); err != nil {
		return nil, err
	}
	if err := c.contract.CheckInput(c.arguments); err != nil {
		return nil, &refusal{asFault(err)}
	}
	targets, err := c.entry.Manifest.Targets(c.arguments)
	if err != nil {
		return nil, refuse(fault.Invalid, "arguments are no JSON")
	}
	c.targets = targets
	return c, nil
}

// edited takes the arguments of a person's answer.
func (c *call) edited(edit event.Event) error {
	a, ok := edit.Payload.(event.ApprovalAnswered)
	if !ok || len(a.Arguments) == 0 {
		return refuse(fault.NotFound, "the edited arguments were erased")
	}
	c.arguments = a.Arguments
	// The person's words join the call; they do not lift it (INV-8).
	c.label = event.Join(c.label, edit.Label)
	c.cause.Label, c.edit = c.label, edit.Ref()
	return nil
}

// wellFormed checks the call itself, and that its speaker is who it says.
func (c *call) wellFormed() error {
	p := c.payload
	kind, name, ok := strings.Cut(p.Actor, ":")
	switch {
	case p.RunID.IsZero() || p.Step < 0 || p.CallID == "" || len(p.CallID) > 128:
		return refuse(fault.Invalid, "a call needs a run, a step and a call id")
	case !ok || name == "" || kind != "agent" && kind != "mind":
		return refuse(fault.Denied, "%q is no actor", p.Actor)
	case c.invoke.Layer != event.LayerAgent || !speaks(c.invoke.Source, name):
		return refuse(fault.Denied, "the event of %s does not come from %s", c.invoke.Source, p.Actor)
	case len(c.arguments) > maxArguments:
		return refuse(fault.Limited, "arguments have at most %d bytes", maxArguments)
	}
	args, err := canon.Canonicalize(c.arguments)
	if err != nil {
		return refuse(fault.Invalid, "arguments are not acceptable: %w", err)
	}
	if !bytes.Equal(args, c.arguments) {
		return refuse(fault.Invalid, "arguments are not in canonical form")
	}
	return nil
}

// speaks reports whether a source is the named member of some component:
// "agent/coordinator" is coordinator.
func speaks(source, name string) bool {
	_, member, ok := strings.Cut(source, "/")
	return ok && member == name
}

// inCatalogue finds the skill in the number that the call names, and sees that
// it still stands in today's, unchanged and switched on.
func (s *Service) inCatalogue(tx event.Tx, c *call) error {
	p := c.payload
	head, err := s.c.Store.GetHead(tx)
	if err != nil {
		return err
	}
	named := head
	if p.Catalogue != head.Number {
		named, err = s.c.Store.GetSnapshot(tx, p.Catalogue)
		if fault.Is(err, fault.NotFound) {
			return refuse(fault.NotFound, "there is no catalogue number %d", p.Catalogue)
		}
		if err != nil {
			return err
		}
	}
	item, ok := named.Find(p.Skill)
	if !ok {
		return refuse(fault.NotFound, "catalogue %d has no skill of that name", p.Catalogue)
	}
	if item.Hash != p.Manifest {
		return refuse(fault.Stale, "%s has another manifest in catalogue %d than the call names", p.Skill, p.Catalogue)
	}
	today, ok := head.Find(p.Skill)
	switch {
	case !ok:
		return refuse(fault.Stale, "%s is no longer in the catalogue", p.Skill)
	case today.Hash != item.Hash:
		return refuse(fault.Stale, "%s has changed since catalogue %d", p.Skill, p.Catalogue)
	case !today.OnIn(p.Workspace):
		return refuse(fault.Denied, "%s is switched off here", p.Skill)
	}
	ready, err := s.prepare(tx, item.Hash)
	if err != nil {
		return err
	}
	c.entry, c.contract = ready.entry, ready.contract
	return s.executable(c)
}

// executable finds what carries the call out, and that the host grants it.
func (s *Service) executable(c *call) error {
	m := c.entry.Manifest
	if m.Kind == manifest.Instruction {
		return refuse(fault.Invalid, "%s is an instruction: it is read, not called", m.Name)
	}
	if finder := s.c.Executables[m.Kind]; finder != nil {
		exec, hash, ok := finder.Find(m.Name)
		if ok && hash != c.entry.Hash {
			return refuse(fault.Stale, "%s is installed with another manifest than the catalogue's", m.Name)
		}
		if ok {
			c.exec = exec
		}
	}
	if c.exec == nil {
		return refuse(fault.Unavailable, "nothing here carries out %s", m.Name)
	}
	if _, ok := c.exec.(Reconciler); m.Class == manifest.ClassReconcilable && !ok {
		return refuse(fault.Unavailable, "%s cannot be read back as its manifest says", m.Name)
	}
	for _, p := range m.Permissions {
		if !s.granted(p) {
			return refuse(fault.Denied, "%s needs permission %s, which is not granted here", m.Name, p)
		}
	}
	if m.Resources.MoneyMicros > 0 && s.c.Purse == nil {
		return refuse(fault.Denied, "%s costs money, and there is no budget to take it from", m.Name)
	}
	return nil
}

// mayCall sees that the actor holds the skill. An actor that nobody knows
// holds nothing.
func (s *Service) mayCall(tx event.Tx, c *call) error {
	held, err := s.c.Holdings.Held(tx, c.payload.Actor)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if !slices.Contains(held, c.payload.Skill) {
		return refuse(fault.Denied, "%s does not hold %s", c.payload.Actor, c.payload.Skill)
	}
	return nil
}

// question puts the call to policy.
func (c *call) question(effect, approval id.ID) Question {
	p, m := c.payload, c.entry.Manifest
	q := Question{
		InvokeID: c.invoke.ID, RunID: p.RunID, EffectID: effect, Workspace: p.Workspace, Step: p.Step, CallID: p.CallID,
		Actor: p.Actor, Requester: p.Requester, Trust: p.Trust, Channel: p.Channel, Recipient: p.Recipient,
		Skill: p.Skill, Manifest: p.Manifest, Catalogue: p.Catalogue, Risk: m.Risk, Access: m.Access, Class: m.Class,
		Targets: c.targets, Arguments: c.arguments, What: p.What, Label: c.invoke.Label, Sensitive: m.Sensitive,
		Undoable: m.Undoable, MoneyMicros: m.Resources.MoneyMicros, Title: m.RenderTitle(c.arguments), Reason: p.Reason,
		Approval: approval, Subject: c.invoke.Subject, Stream: c.invoke.Stream,
	}
	if !c.edit.ID.IsZero() {
		q.Original = p.Arguments
	}
	return q
}

// asFault returns err as a classified error.
func asFault(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return fault.New(fault.KindOf(err), "%w", err)
}
