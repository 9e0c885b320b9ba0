package policy

import (
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Approval is a request to act, bound to the exact call. One table serves all
// askers.
type Approval struct {
	ID       id.ID
	Key      string // AP-318
	Number   int64
	State    State
	Revision int64 // grows with every change; an edit makes a new Digest too

	Asker   Asker
	AskerID id.ID // the run, session, plan step or draft
	Invoke  id.ID // the skill.invoke that it answers; Nil for other askers
	Subject id.ID // whose data the arguments are; Nil is the account

	Request  Request         // the call as it stands, after edits; empty when Erased
	Original json.RawMessage // the arguments that were asked for first, if a person edited them
	Call     string          // digest of the exact call
	Digest   string          // what an answer must name: call, approval, expiry and uses
	Shape    string

	Asks     []AskKind
	Rule     string
	Version  int // of the policy
	Risk     Maybe[Risk]
	Reasons  []Reason
	Words    string // the asker's; never a title
	Evidence []event.Reference

	Reversible bool // what would happen can be taken back
	AskedAt    time.Time
	ExpiresAt  time.Time
	Requested  event.Ref // the approval.requested event

	Answer      Answer // "" while nobody answered
	AnsweredBy  id.ID
	AnsweredAt  time.Time
	Scope       Scope
	Via         Via
	Reason      string    // the person's
	EffectiveAt time.Time // an allowed call may start from here on
	Grant       id.ID
	Endorsement id.ID
	Use         id.ID // what used it up
	Erased      bool  // the subject's data are gone
}

// State is where an approval stands.
type State string

// The states. Only an open one can be answered, only an allowed one be used.
const (
	StateOpen       State = "open"
	StateAllowed    State = "allowed"
	StateDenied     State = "denied"
	StateUsed       State = "used"
	StateExpired    State = "expired"
	StateCancelled  State = "cancelled"  // the asker went away
	StateSuperseded State = "superseded" // policy, or a newer call, made it moot
)

// Asker is what sort of work asks.
type Asker string

// The four askers.
const (
	AskerRun     Asker = "run"
	AskerSession Asker = "mcp_session"
	AskerPlan    Asker = "plan_step"
	AskerDraft   Asker = "draft"
)

// Answer is what a person says.
type Answer string

// The three answers.
const (
	AnswerAllow Answer = "allow"
	AnswerDeny  Answer = "deny"
	AnswerEdit  Answer = "edit"
)

// Scope is how far an allowance reaches.
type Scope string

// The three scopes. Session and grant make a Grant, never a Rule.
const (
	ScopeOnce    Scope = "once"
	ScopeSession Scope = "session"
	ScopeGrant   Scope = "grant"
)

// Via is the door through which an answer came.
type Via string

// The doors. Only a button press can be taken back for a while: a program that
// answers by API or CLI meant it.
const (
	ViaConsole Via = "console"
	ViaCLI     Via = "cli"
	ViaAPI     Via = "api"
)

const (
	approvalLife = 24 * time.Hour
	approvalUses = 1
	undoSpan     = 5 * time.Second
	maxWords     = 4 << 10 // bytes of an asker's or a person's reason

	// ExpiryTimer is the kind of the timer that ends an approval; its key is
	// the approval's id.
	ExpiryTimer = "approval.expiry"
)

// LiveError is the refusal of an answer that names what no longer stands. It is
// fault.Conflict and carries what is live now.
type LiveError struct {
	Live  Approval
	cause *fault.Error
}

func (e *LiveError) Error() string { return e.cause.Error() }

// Unwrap returns the classified cause.
func (e *LiveError) Unwrap() error { return e.cause }

func stale(live Approval, format string, args ...any) error {
	return &LiveError{Live: live, cause: fault.New(fault.Conflict, format, args...).WithFix("look at %s as it stands now", live.Key)}
}

// Title sentence of an event about a.
func (a *Approval) summary(format string) string {
	return clip(a.Key+" "+format, 400)
}

// clip cuts s to at most n bytes at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
