package ui

// ApprovalState is where an approval stands. Only StateOpen is amber.
type ApprovalState string

// The states of an approval as its card shows them.
const (
	StateOpen      ApprovalState = "open"
	StateUndo      ApprovalState = "undo"      // answered, may still be taken back
	StateHalted    ApprovalState = "halted"    // allowed, held by Halt
	StateRunning   ApprovalState = "running"   // dispatching
	StateConfirmed ApprovalState = "confirmed" // it ran and the target said so
	StateFailed    ApprovalState = "failed"
	StateUnknown   ApprovalState = "unknown"
	StateDenied    ApprovalState = "denied"
	StateExpired   ApprovalState = "expired"
	StateWithdrawn ApprovalState = "withdrawn"
)

// Approval is a request to act, bound to the exact call.
type Approval struct {
	ID      string
	Key     string
	State   ApprovalState
	Version int64
	// Digest is the full digest that the decision is bound to.
	Digest string
	// ExpiresIn is a duration in words, "23 h 12 m"; printed while open.
	ExpiresIn string
	// Title comes from the manifest's template, never from an agent.
	Title string
	Actor Actor
	// Skill is the skill's name in mono.
	Skill string
	// For is the task or message it serves.
	For Link
	// Alarm is at most one computed fact.
	Alarm *Alarm
	Args  []Arg
	// CallNote stands beside "Exact call": "no outside bytes in it".
	CallNote string
	// CallJSON is the canonical call, offered for copying.
	CallJSON string
	Changes  *Diff
	Taint    []TaintStep
	// Says is what the agent says; never evidence.
	Says *Claim
	// Before lists the last calls or events of the same work.
	Before     []Step
	BeforeNote string
	BeforeHref string

	Risk        Risk
	RiskReasons []string
	Rule        Rule
	// WillHappen are consequences from the manifest, predicted and so not facts.
	WillHappen []string
	Seats      []Seat
	LastTime   Fact
	LastStatus Status

	Can Can
	// StepUp asks for a fresh proof of the person before Allow: "passkey", "password" or "".
	StepUp string
	// Reasons are the chips of Deny.
	Reasons []string
	Grant   *GrantForm
	Edit    []Field
	// Undo is set in StateUndo.
	Undo *Undo
	// Answer says who answered and when; AnswerBy draws the mark; Outcome what came of it.
	Answer   Fact
	AnswerBy Actor
	Outcome  Fact
	// Elsewhere is true when another session or person answered.
	Elsewhere bool
	// Stale is set when this person's press was refused because the call had changed.
	Stale *Stale

	// Journal opens the decision, Next the next item; empty hides them.
	Journal, Next string
	// Replay opens the decision's replay; empty hides the door.
	Replay string
	// Pointers draws the demo's two quiet pointers.
	Pointers bool
	// Error is a refused form's message, at the top of the bar; from fault.
	Error string
}

// Can says which answers this person may give to this call now.
type Can struct {
	Allow, Deny, Edit, Scope bool
	// ScopeOff is the reason that stands on the disabled button: "off by rule 14".
	ScopeOff string
	// AllowOff is the reason that Allow is off: "viewers do not decide".
	AllowOff string
	// AllowLabel replaces "Allow once": "Allow once, as 1 of 2".
	AllowLabel string
}

func (c Can) allowLabel() string {
	if c.AllowLabel != "" {
		return c.AllowLabel
	}
	return "Allow once"
}

// Alarm is one computed fact that should stop the eye.
type Alarm struct {
	Head Fact
	Text string
}

// Arg is one argument of the exact call.
type Arg struct {
	Name string
	// Value is the canonical JSON of the argument, whole. It wraps; it is never cut.
	Value string
	// Instead replaces Value only where every byte of it is shown in the diff below:
	// "4 lines, all of them shown below".
	Instead string
	// Origin says where the value came from: "your message", "task brief", "scribe".
	Origin string
	// Label is the origin's label when Outside: "external, unverified".
	Label   string
	Outside bool
}

// Diff is what changes against the live record.
type Diff struct {
	// Note: "new file, 73 bytes".
	Note  string
	Lines []DiffLine
	// Outside hatches the gutter of changed lines.
	Outside bool
}

// DiffOp is '+', '-' or ' '.
type DiffOp string

// The three sorts of line.
const (
	DiffAdd  DiffOp = "+"
	DiffDel  DiffOp = "-"
	DiffSame DiffOp = " "
)

// DiffLine is one whole line.
type DiffLine struct {
	Op DiffOp
	// N is the line number; 0 prints none.
	N int
	// Parts are the line's text in order; a marked part is the changed span.
	Parts []DiffPart
}

// DiffPart is a span of a line.
type DiffPart struct {
	Text string
	Mark bool
}

// TaintStep is one stop of the outside bytes on their way into the call.
type TaintStep struct {
	Icon string
	// Kind: Email, Memory, Argument.
	Kind string
	Name string
	Note string
	Href string
	// Inside marks a step that is not outside bytes (drawn without the hatch).
	Inside bool
}

// Claim is what an agent says for itself.
type Claim struct {
	Text string
	// Support is the event that supports it; without one the card says that none does.
	Support Ref
}

// Step is one earlier call or event.
type Step struct {
	At     string
	Full   string // the whole moment with its zone, shown on hover
	Status Status
	Icon   string
	// Name is mono when Mono is set.
	Name string
	Mono bool
	Text string
	// Right is the rule or event number.
	Right string
	Href  string
}

// Rule is the line of policy that asked.
type Rule struct {
	Name string
	// Version is the policy's, "policy v31".
	Version string
	// Text is the rule as text, with line breaks; shown whole.
	Text string
	Href string
}

// Seat is one person of a rule that needs more than one.
type Seat struct {
	Who Actor
	// You marks this person.
	You  bool
	Done bool
}

// Undo is the span in which an answer may be taken back.
type Undo struct {
	// Left and Total are seconds. The server's effective_at decides; the ring only shows it.
	Left, Total int
	// Denied is true when the answer that runs out is a denial.
	Denied bool
}

// GrantForm is "within a scope": the narrowest grant that covers this call, to widen.
type GrantForm struct {
	// Open shows the composer at once: the address asked for it.
	Open bool
	// Skill, Target and Args are globs; the handler fills the narrowest that covers the call.
	Skill  string
	Target string
	// TargetName is the word for the target: "Path", "Recipient".
	TargetName string
	// Targets are wider choices offered beside the field.
	Targets []string
	Args    []GrantArg
	Uses    int
	// Until are the ends to choose from; Value is what the form sends.
	Until []Choice
	// Sentence reads the grant back: "scribe may write hello.md 5 times until 7 Dec."
	Sentence string
	// StillAsks says what this grant does not cover.
	StillAsks string
	// Saved says what it would have answered.
	Saved Fact
	// Error refuses a scope that does not cover this call or passes a guardrail.
	Error string
}

// GrantArg is one argument's glob.
type GrantArg struct {
	Name string
	Glob string
}

// Field is one argument as a form control, from the input schema.
type Field struct {
	Name string
	// Label and Help come from the schema's title and description.
	Label, Help string
	// Kind is text, multiline, number, integer, boolean, choice or json.
	Kind     string
	Value    string
	Choices  []Choice
	Required bool
	// Error is the schema's refusal of the last try.
	Error string
}

// Stale says how the call differs from the one that was shown.
type Stale struct {
	// Saw and Now are versions.
	Saw, Now int64
	// Why: "Jonas edited the call 8 s before you pressed."
	Why  Fact
	Diff *Diff
}

// open reports whether the card still asks.
func (a Approval) open() bool { return a.State == StateOpen }

// eager reports whether the next change is one that this person waits for.
func (a Approval) eager() bool { return a.State == StateUndo || a.State == StateRunning }

func (a Approval) status() Status {
	switch a.State {
	case StateOpen:
		return StatusNeed
	case StateUndo:
		if a.Undo != nil && a.Undo.Denied {
			return StatusDenied
		}
		return StatusAllowed
	case StateHalted:
		return StatusBlocked
	case StateRunning:
		return StatusRunning
	case StateConfirmed:
		return StatusProven
	case StateFailed:
		return StatusFailed
	case StateUnknown:
		return StatusUnknown
	case StateDenied:
		return StatusDenied
	case StateExpired, StateWithdrawn:
		return StatusIdle
	}
	return StatusIdle
}

func (a Approval) word() string {
	switch a.State {
	case StateOpen:
		return "Approval"
	case StateUndo:
		if a.Undo != nil && a.Undo.Denied {
			return "Denied"
		}
		return "Allowed"
	case StateHalted:
		return "Allowed, held by Halt"
	case StateRunning:
		return "Dispatching"
	case StateConfirmed:
		return "Confirmed"
	case StateFailed:
		return "Failed"
	case StateUnknown:
		return "Effect unknown"
	case StateDenied:
		return "Denied"
	case StateExpired:
		return "Expired"
	case StateWithdrawn:
		return "Withdrawn"
	}
	return ""
}

func (a Approval) answerPath() string { return "/inbox/" + a.ID + "/answer" }
func (a Approval) undoPath() string   { return "/inbox/" + a.ID + "/undo" }
func (a Approval) itemPath() string   { return "/inbox/" + a.ID }
