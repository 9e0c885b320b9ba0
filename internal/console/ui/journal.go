package ui

// JournalView is the Journal: stream, one selected event, chain and replay.
type JournalView struct {
	Shell  Shell
	Filter Filter
	Rows   []EventRow
	// Older and Newer are keyset pages.
	Older, Newer string
	Chain        Chain
	// Explicit is true when the address names the event (see InboxView).
	Explicit bool
	Event    *EventView
}

// Filter is the query as a GET form.
type Filter struct {
	Query string
	Type  string
	Actor string
	// Types and Actors are offered as choices; empty hides the control.
	Types, Actors []Choice
	// Outside keeps only events with outside bytes.
	Outside bool
	// Chips are the parts of the query in words, each with the address without it.
	Chips []FilterChip
	// Shown and Total count events.
	Shown, Total int
}

// FilterChip is one live filter.
type FilterChip struct {
	Text   string
	Remove string
	// Path marks the chip of a selected event's path.
	Path bool
}

// EventRow is one line of the stream.
type EventRow struct {
	// ID is "epoch-seq"; Seq is printed.
	ID   string
	Seq  string
	At   string
	Full string // the whole moment with its zone, shown on hover
	// Actor draws a mark; Status or Icon replace it.
	Actor  Actor
	Status Status
	Icon   string
	Type   string
	Text   string
	// Label is printed with the hatch when the event holds outside bytes.
	Label string
	Href  string
	On    bool
	// Path marks events on the path of the selected one.
	Path bool
}

// ChainState is what is known about the record.
type ChainState string

// The states of the chain. "verified" is never said for a chain that was checked only
// against itself: Against names what else it was compared with.
const (
	ChainWhole     ChainState = "whole"
	ChainBroken    ChainState = "broken"
	ChainUnchecked ChainState = "unchecked"
	ChainChecking  ChainState = "checking"
)

// Chain is the foot line of the stream.
type Chain struct {
	State ChainState
	// Events were checked; Head is the head event with its hash's two ends.
	Events int
	Head   string
	// Against: "Tip matches the checkpoint of 10:41."; empty says only "against itself".
	Against string
	// At is when.
	At string
	// Bad is the first bad event.
	Bad Ref
	// Ref is the checkpoint or verification event.
	Ref Ref
	// Total is how many events there are, for the progress of ChainChecking.
	Total int
	// Failed is true when the last verification could not be read to the end.
	Failed bool
	// Checked is true once a verification ran; without it nothing is claimed.
	Checked bool
}

func (c Chain) head() string {
	switch {
	case c.State == ChainBroken:
		return "Chain broken"
	case c.State == ChainChecking:
		return "Checking the chain"
	case c.State == ChainWhole && c.Checked:
		return "Chain whole"
	}
	return "Not checked yet"
}

func (c Chain) status() Status {
	switch {
	case c.State == ChainBroken:
		return StatusFailed
	case c.State == ChainChecking:
		return StatusRunning
	case c.State == ChainWhole && c.Checked:
		return StatusProven
	}
	return StatusIdle
}

// EventView is the selected event with its decision, if it belongs to one.
type EventView struct {
	// ID is "epoch-seq"; Seq is printed.
	ID   string
	Seq  string
	Type string
	// Status and Word make the chip: Denied, Allowed once; Word empty hides it.
	Status Status
	Word   string
	// Key is the decision's or object's short key.
	Key string
	// Of says what it belongs to: "AP-1, your message".
	Of    string
	Title string
	// Said is the one sentence: "Mira denied it at 10:45. Nothing ran."
	Said Fact
	// Door opens what came of it: a file, a document.
	Door Link
	// Header is the event's header, exactly.
	Header []KV
	// Body is the decoded body as indented JSON, whole.
	Body string
	// BodyOutside hatches it; BodyGone says why there is none: "erased on 3 Dec".
	BodyOutside bool
	BodyGone    string
	// Tree is cause above effect.
	Tree []TreeNode
	// Parts are the content-addressed inputs of a decision.
	Parts  []Part
	Replay *Replay
	// Proof is the export's address; empty hides it.
	Proof string
	// Doors end the demo: what to do next; DoorsClosed is the address that closes them.
	Doors []Door
	// DoorsSkip is where the form posts that closes the doors for good.
	DoorsSkip string
}

// TreeNode is one event of the causal tree.
type TreeNode struct {
	ID     string
	Actor  Actor
	Status Status
	Icon   string
	Type   string
	// Strong is printed bold before Text.
	Strong string
	Text   string
	// Outside hatches the row.
	Outside bool
	Seq     string
	Href    string
	On      bool
	// Also names a second cause that is drawn elsewhere in the tree.
	Also Ref
	// AlsoNote says what that second road is: "the held mail, found by mail.search".
	AlsoNote string
	// AlsoOutside hatches it: the second cause holds outside bytes.
	AlsoOutside bool
	Children    []TreeNode
}

// Part is one input of a decision, stored by its content.
type Part struct {
	Icon    string
	Kind    string
	Name    string
	Hash    string
	Outside bool
	Href    string
}

// ReplayLabel says how a replay came out.
type ReplayLabel string

// The labels of a replay; ReplayNone means that it has not been run.
const (
	ReplayNone        ReplayLabel = ""
	ReplayExact       ReplayLabel = "exact"
	ReplayApproximate ReplayLabel = "approximate"
	ReplayDivergent   ReplayLabel = "divergent"
)

// Replay is the replay bar.
type Replay struct {
	// Action is where the form posts that runs it.
	Action string
	// Off says why it cannot run; empty when it can.
	Off   string
	Label ReplayLabel
	Steps []ReplayStep
	// Exact and Total count steps.
	Exact, Total int
	// Took is a duration in words; the fixed words about the network follow it.
	Took string
	// Ref is the event or run that was replayed; without it no result is claimed.
	Ref Ref
	// First is the first difference of a divergent replay.
	First *Divergence
}

// ReplayStep is one dot.
type ReplayStep struct {
	// Name is one word: message, reply, call, policy, you.
	Name string
	// State is the label of this step; ReplayNone draws an empty dot.
	State ReplayLabel
	Href  string
	On    bool
}

// Divergence is the first differing step and byte.
type Divergence struct {
	Step       string
	Byte       int
	Want, Got  string
	WantOrigin string
}

// Door is one way on from the demo.
type Door struct {
	Icon    string
	Title   string
	Text    string
	Command string
	Link    Link
}

func (r Replay) claimed() bool { return r.Label != ReplayNone && r.Ref.Known() }
