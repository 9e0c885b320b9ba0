package manifest

import "slices"

// Kind is what sort of thing a skill is.
type Kind string

// The kinds. An instruction is loaded and read, never executed.
const (
	Instruction Kind = "instruction" // a SKILL.md folder (agentskills.io)
	Builtin     Kind = "builtin"     // Go code in this binary
	MCP         Kind = "mcp"         // a tool of an MCP server
	Script      Kind = "script"      // a sandboxed script
)

// Kinds returns every kind.
func Kinds() []Kind { return []Kind{Instruction, Builtin, MCP, Script} }

// Risk is the action_risk of seed 000: how much a wrong act could hurt. Policy
// turns it into an autonomy floor.
type Risk string

// The risks, lowest first.
const (
	RiskNone     Risk = "none"
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

// Risks returns every risk, lowest first.
func Risks() []Risk { return []Risk{RiskNone, RiskLow, RiskMedium, RiskHigh, RiskCritical} }

// Access is what an act does to the world.
type Access string

// The kinds of access.
const (
	Read   Access = "read"
	Write  Access = "write"
	Send   Access = "send"
	Spend  Access = "spend"
	Delete Access = "delete"
)

// Accesses returns every access.
func Accesses() []Access { return []Access{Read, Write, Send, Spend, Delete} }

// Class is the effect class: what may be done after an attempt whose end nobody
// saw (architecture §5).
type Class string

// The effect classes. Once is the default.
const (
	// ClassRead changes nothing and may repeat.
	ClassRead Class = "read"
	// ClassIdempotent means that the target honours our key: the same key again
	// is the same act.
	ClassIdempotent Class = "idempotent"
	// ClassReconcilable means that the target can be asked what became of a key.
	ClassReconcilable Class = "reconcilable"
	// ClassOnce means that nobody but a person can tell.
	ClassOnce Class = "once"
)

// Classes returns every effect class.
func Classes() []Class { return []Class{ClassRead, ClassIdempotent, ClassReconcilable, ClassOnce} }

// ReadBack is what asking the target proves, for class reconcilable.
type ReadBack string

// The two strengths of a read-back.
const (
	// Exact: found and not found are both proof, so not found may be retried.
	Exact ReadBack = "exact"
	// Presence: only a find is proof; not found leaves the outcome unknown.
	Presence ReadBack = "presence"
)

// ReadBacks returns both.
func ReadBacks() []ReadBack { return []ReadBack{Exact, Presence} }

// Permission is something of the host that a skill uses. The installation
// grants permissions; a skill that declares one that is not granted is refused,
// and a call is denied one that its manifest does not declare.
type Permission string

// The permissions.
const (
	PermitNet     Permission = "net"     // connect to other machines
	PermitFiles   Permission = "files"   // the files folder
	PermitProcess Permission = "process" // start a child process
	PermitPano    Permission = "pano"    // the account's documents
	PermitMemory  Permission = "memory"  // the account's memory
	PermitMessage Permission = "message" // send through a channel
	PermitModel   Permission = "model"   // ask a model
	PermitWork    Permission = "work"    // tasks and workspaces
)

// Permissions returns every permission.
func Permissions() []Permission {
	return []Permission{PermitNet, PermitFiles, PermitProcess, PermitPano, PermitMemory, PermitMessage, PermitModel, PermitWork}
}

func known[T ~string](all []T, v T) bool { return slices.Contains(all, v) }
