package ui

// InboxView is the Inbox: the queue and at most one open item.
type InboxView struct {
	Shell Shell
	// Total counts everything that needs a person.
	Total int
	// Tabs filter by kind; none are drawn when empty.
	Tabs []Tab
	// Groups come by consequence: Look closely, Routine, Questions and held messages.
	Groups []QueueGroup
	// Older and Newer are keyset pages; empty hides them.
	Older, Newer string
	// Explicit is true when the address names the item. A phone then shows the item, and
	// else the queue; a wide window shows both.
	Explicit bool
	// Index is the open item's place in the queue from 1; 0 when unknown.
	Index int
	// Exactly one of these is set when an item is open.
	Approval *Approval
	Effect   *Effect
	Question *Question
	Held     *Held
	Parked   *Parked
	// Quiet fills the page when nothing needs a person.
	Quiet *Quiet
}

// Tab is one filter of a list.
type Tab struct {
	Label string
	Count int
	Href  string
	On    bool
}

// QueueGroup is one consequence group.
type QueueGroup struct {
	Name  string
	Items []QueueItem
	// Alike opens the bulk review of identical low and medium calls; zero for none.
	Alike Link
}

// QueueItem is one row.
type QueueItem struct {
	// ID is the item's stable id; the row keeps it across refreshes.
	ID   string
	Href string
	// Risk draws bars; for items without one set Status or Icon.
	Risk Risk
	// Status draws a glyph instead of bars: unknown or failed effects, decided rows.
	Status Status
	// Icon draws an icon instead: message-circle-question-mark, mail, timer.
	Icon  string
	Title string
	Actor Actor
	// Where is the workspace, thread or channel.
	Where string
	// Why is the one reason to care.
	Why string
	// Outside marks Why as about outside bytes.
	Outside bool
	// Age is short: "4m", "1h".
	Age string
	On  bool
	// Decided dims the row in place: "Jonas allowed it".
	Decided Fact
}

// Quiet is the empty Inbox: what ran without the person and what they decided.
type Quiet struct {
	// Now is one sentence from the running state: "4 tasks run; next schedule 12:00."
	Now Fact
	// Unasked and Decided are lines of the last day.
	Unasked, Decided []QuietLine
	// DecidedNote stands beside the second head: "9 today, median 41 s".
	DecidedNote string
	// Grant is the one grant worth a look.
	Grant *GrantHint
}

// QuietLine is one line of the empty Inbox.
type QuietLine struct {
	Status Status
	Icon   string
	// Fact is the bold part.
	Fact Fact
	Text string
	// Right is a time or the rules that allowed it.
	Right string
	Href  string
}

// GrantHint suggests one grant with what it would have saved.
type GrantHint struct {
	Fact Fact
	Text string
	Href string
}

// Effect is an item about an act whose end is not known, failed, or held by a restore.
type Effect struct {
	ID      string
	Key     string
	Version int64
	// State is StatusUnknown, StatusFailed or StatusWaiting (parked or held).
	State Status
	// Word is the kind in the chip: "Unknown effect", "Failed", "Held by restore", "Parked".
	Word  string
	Title string
	Actor Actor
	Skill string
	// Digest is the call's full digest.
	Digest string
	Args   []Arg
	// Steps are the ledger rows: intended, dispatching, answer.
	Steps []FlowStep
	// Knows lists what the record knows.
	Knows []Fact
	// Note says that it will not run again by itself and why; from the effect class.
	Note string
	// ReadBack offers the read-back; when false ReadBackOff says why it is listed but off.
	ReadBack    bool
	ReadBackOff string
	// Retry is offered only when the ledger proves that nothing left.
	Retry bool
	// IfNot says what "It did not" will do.
	IfNot string
	// Facts fill the right pane.
	Facts []KV
	// Settled is set once a person or a read-back has answered.
	Settled Fact
	// Journal and Next are doors.
	Journal, Next string
}

// FlowStep is one link of a chain of states.
type FlowStep struct {
	Status Status
	Text   string
	// Dotted draws the link before this step dotted: not known.
	Dotted bool
}

// Question is a choice that an agent or worker asks for.
type Question struct {
	ID      string
	Key     string
	Version int64
	Title   string
	Actor   Actor
	// Text is the asker's own words; drawn as asserted.
	Text string
	// Outside marks Text as outside bytes.
	Outside bool
	Choices []Choice
	// Waits says what stands still meanwhile.
	Waits    string
	Answered Fact
	Facts    []KV
}

// Held is a message from somebody who is not a confirmed contact.
type Held struct {
	ID      string
	Key     string
	Version int64
	Title   string
	// Sender is the address as it arrived: outside bytes.
	Sender string
	// Channel names the road and At the time of arrival; Full is the whole moment
	// with its zone, shown on hover.
	Channel, At, Full string
	// Trust is printed as .12; TrustParts explain it.
	Trust      string
	TrustParts []string
	// Text is the message: outside bytes, never rendered as markup, links inert.
	Text string
	// Lang is the BCP 47 tag of Text; empty when unknown.
	Lang string
	// Contacts are those it may be linked to.
	Contacts []Choice
	Answered Fact
}
