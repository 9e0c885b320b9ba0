package ui

import "strings"

// ActorKind says what acts; each kind has its own shape.
type ActorKind string

// The kinds of actor and their shapes: circle, square with a terminal, square with a
// bot, hexagon, dashed square.
const (
	ActorPerson ActorKind = "person"
	ActorWorker ActorKind = "worker"
	ActorAgent  ActorKind = "agent"
	ActorMind   ActorKind = "mind"
	ActorSystem ActorKind = "sys"
)

// Actor is whoever asked, answered or spoke.
type Actor struct {
	Kind ActorKind
	Name string
	// Initials are the two letters in a person's circle; derived from Name when empty.
	Initials string
}

func (a Actor) initials() string {
	if a.Initials != "" {
		return a.Initials
	}
	words := strings.FieldsFunc(a.Name, func(r rune) bool { return r == ' ' || r == '-' || r == '.' })
	if len(words) == 0 {
		return ""
	}
	first := []rune(words[0])
	if len(words) == 1 {
		return strings.ToUpper(string(first[:min(2, len(first))]))
	}
	return strings.ToUpper(string(first[:1]) + string([]rune(words[len(words)-1])[:1]))
}

func (a Actor) icon() string {
	switch a.Kind {
	case ActorWorker:
		return "terminal"
	case ActorMind:
		return "brain"
	case ActorSystem:
		return "shield"
	case ActorAgent, ActorPerson:
		return "bot"
	}
	return "bot"
}

func (a Actor) class() string {
	switch a.Kind {
	case ActorPerson, ActorWorker, ActorMind, ActorSystem, ActorAgent:
		return string(a.Kind)
	}
	return string(ActorAgent)
}

// Risk is a skill's action risk.
type Risk string

// The five risks; floors are the policy's business, the bars are ours.
const (
	RiskNone     Risk = "none"
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

// High reports whether a decision at this risk has no filled button and no single key.
func (r Risk) High() bool { return r == RiskHigh || r == RiskCritical }

func (r Risk) class() string {
	switch r {
	case RiskLow:
		return "lo"
	case RiskMedium:
		return "mid"
	case RiskHigh, RiskCritical:
		return "h"
	case RiskNone:
		return ""
	}
	return ""
}

// Word is the risk as a person reads it.
func (r Risk) Word() string {
	switch r {
	case RiskNone:
		return "None"
	case RiskLow:
		return "Low"
	case RiskMedium:
		return "Medium"
	case RiskHigh:
		return "High"
	case RiskCritical:
		return "Critical"
	}
	return "Unknown"
}

// Status is the state of a thing, drawn as a shape with a name.
type Status string

// The closed set of states that pages draw.
const (
	StatusNeed     Status = "need"
	StatusAllowed  Status = "allowed"
	StatusDenied   Status = "denied"
	StatusFailed   Status = "failed"
	StatusBlocked  Status = "blocked"
	StatusProven   Status = "proven"
	StatusAsserted Status = "asserted"
	StatusUnknown  Status = "unknown"
	StatusRunning  Status = "running"
	StatusWaiting  Status = "waiting"
	StatusIdle     Status = "idle"
	StatusDone     Status = "done"
)

// Name is what a screen reader says for the shape.
func (s Status) Name() string {
	switch s {
	case StatusNeed:
		return "Needs you"
	case StatusAllowed:
		return "Allowed"
	case StatusDenied:
		return "Denied"
	case StatusFailed:
		return "Failed"
	case StatusBlocked:
		return "Blocked"
	case StatusProven:
		return "Proven"
	case StatusAsserted:
		return "Asserted"
	case StatusUnknown:
		return "Unknown"
	case StatusRunning:
		return "Running"
	case StatusWaiting:
		return "Waiting"
	case StatusIdle:
		return "Not started"
	case StatusDone:
		return "Done"
	}
	return "Unknown"
}

func (s Status) chip() string {
	switch s {
	case StatusNeed, StatusUnknown:
		return "c-need"
	case StatusDenied, StatusFailed:
		return "c-deny"
	case StatusAllowed, StatusProven:
		return "c-good"
	case StatusRunning:
		return "c-live"
	case StatusBlocked, StatusAsserted, StatusWaiting, StatusIdle, StatusDone:
		return "c-idle"
	}
	return "c-idle"
}
