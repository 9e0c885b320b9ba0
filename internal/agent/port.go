package agent

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// The words of the ports, under this package's name: who fills a port in a test
// needs no other import.
type (
	Target      = llm.Target
	Call        = llm.Call
	Reply       = llm.Reply
	Instruction = llm.Instruction
	Entry       = manifest.Entry
	Snapshot    = manifest.Snapshot
)

// Models asks language models by role, and records and budgets each call.
// *llm.Service is one.
type Models interface {
	// Route says who answers a role; false when no model is configured for it.
	Route(role string) (llm.Target, bool)
	// Begin reserves the budget and emits llm.request, as the agent. When a
	// budget is met nothing is reserved or emitted, and it says which.
	Begin(tx event.Tx, c llm.Call) (event.Event, *event.BudgetMet, error)
	// Ask asks. onText, if not nil, gets the text as it arrives. It writes nothing.
	Ask(ctx context.Context, c llm.Call, onText func(string)) llm.Reply
	// End settles the budget and emits llm.response, caused by request.
	End(tx event.Tx, c llm.Call, request event.Ref, r llm.Reply) (event.Event, error)
}

// Prompts gives the texts that may stand in the system role. *llm.Prompts is one.
type Prompts interface {
	// Instruction returns a prompt by name; number 0 means the newest. It returns
	// the number, and NotFound for a name or number that does not exist.
	Instruction(tx event.Tx, name string, number int) (llm.Instruction, int, error)
}

// Catalogue gives the skills of a numbered snapshot. *skill.Service is one.
type Catalogue interface {
	// Head returns the newest snapshot; its number is 0 before there is one.
	Head(tx event.Tx) (manifest.Snapshot, error)
	// Offered returns, of the named skills, those that a snapshot has and that are
	// switched on in a workspace, always in the same order.
	Offered(tx event.Tx, number int, held []string, workspace id.ID) ([]manifest.Entry, error)
}

// PolicyVersion names the rules in force, for the record. Filled by policy.
type PolicyVersion interface {
	Version(tx event.Tx) (int, error)
}

// The acts of the roles table that this package does for a person.
const (
	actCancel = "run.cancel"
	actDefine = "agent.manage"
)

// People tells what a person may do. identity's roles table stands behind it.
type People interface {
	// May returns fault.Denied unless by, a principal, is an active person of the
	// account whose role may do the act.
	May(tx event.Tx, by, act string) error
}

// Decisions proves the decisions of a run. Filled by policy; nil leaves them to
// policy's own check.
type Decisions interface {
	// Recheck decides again, from what was recorded, about one call of a run. It
	// returns the recorded and the produced bytes of every decision input and
	// outcome, in order.
	Recheck(tx event.Tx, invoke event.Event) ([]Check, error)
}

// Check is one thing that was computed twice.
type Check struct {
	What     string
	Recorded []byte
	Produced []byte
}
