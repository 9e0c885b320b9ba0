package ui

// ChatView is the Chat: threads, one open thread, its facts.
type ChatView struct {
	Shell  Shell
	Tabs   []Tab
	Groups []ThreadGroup
	// Older and Newer are keyset pages of the list.
	Older, Newer string
	// Explicit is true when the address names the thread (see InboxView).
	Explicit bool
	Thread   *Thread
	// Start is the form for a new thread; drawn when no thread is open.
	Start *Composer
	// NoModel is set when no model answers: one grey line and what still works.
	NoModel *NoModel
}

// ThreadGroup is the threads of one channel.
type ThreadGroup struct {
	Name    string
	Note    string
	Threads []ThreadRow
}

// ThreadRow is one thread in the list.
type ThreadRow struct {
	ID    string
	Href  string
	Actor Actor
	// Icon replaces the actor's mark: mail, plug, terminal, users.
	Icon  string
	Title string
	// Last is the newest line, whoever said it.
	Last   string
	Age    string
	On     bool
	Unread bool
	// Need marks a thread in which an approval waits.
	Need bool
}

// Thread is one conversation.
type Thread struct {
	ID    string
	Title string
	// With names the agent and workspace: "desk, Back office".
	With    string
	Entries []Entry
	// Older opens earlier turns; empty hides the door.
	Older    string
	Composer Composer
	Run      *Run
	Label    *ThreadLabel
	People   []Participant
	// Reads lists what the model was given.
	Reads []KV
	// Journal opens the thread's events, Replay its last run; empty hides them.
	Journal string
	Replay  Link
}

// Entry is a turn, or a system line when Line is set.
type Entry struct {
	ID   string
	Line *SystemLine
	Turn *Turn
}

// SystemLine is a short fact between turns: "Run r-8790 cancelled by Mira…".
type SystemLine struct {
	// Icon: circle-stop, pause, info.
	Icon string
	Fact Fact
	At   string
	Full string // the whole moment with its zone, shown on hover
}

// Turn is what one side said and did.
type Turn struct {
	Actor Actor
	At    string
	Full  string // the whole moment with its zone, shown on hover
	// Run is the run's short key, printed and linked when RunHref is set.
	Run, RunHref string
	// Writing is true while the answer is still coming; StepNote says where it is.
	Writing  bool
	StepNote string
	// Text is a person's message, or outside text; kept with its line breaks.
	Text string
	// Outside hatches Text; Lang is its tag when known.
	Outside bool
	Lang    string
	// State: held, sent, delivered, read, unknown; printed as given, may be empty.
	State string
	Calls []CallRow
	Says  []Sentence
	Ask   *Ask
}

// CallRow is one call of an agent's turn.
type CallRow struct {
	Icon  string
	Skill string
	// Text is the target or result by the manifest's template.
	Text    string
	Outside bool
	// Policy and Effect are the two states in words with their shapes.
	Policy, Effect FlowStep
	Href           string
}

// Sentence is a sentence or paragraph of an agent with its truth edge.
type Sentence struct {
	Text string
	// Ref binds it to an event of this run: solid edge. Without one the edge is dashed.
	Ref Ref
	// Note is printed under an asserted sentence when records were looked for.
	Note Fact
	// Link is one door at the end; may be zero.
	Link Link
}

// Ask is an approval inside a thread: the Inbox card without its history.
type Ask struct {
	Approval Approval
	// Why is the one line of reasons.
	Why string
	// Code answers by message: five letters; empty when not allowed here.
	Code string
	// Flow replaces the buttons once it is answered.
	Flow []FlowStep
}

// Composer is where a person writes.
type Composer struct {
	// Action is the form's address.
	Action string
	// Key makes a repeated press one message; the handler gives a fresh one each time.
	Key string
	// To is the agent's name; Agents offers a choice in a new thread.
	To     string
	Agents []Choice
	Draft  string
	// ReadsAs reads a typed command back before it goes.
	ReadsAs string
	// Run is the run that goes now: it can be cancelled from here.
	Run string
	// Off says why nothing can be sent: "This channel is read only."
	Off string
	// Error refuses the last try.
	Error string
}

// Run is the facts of the running or last run.
type Run struct {
	Key    string
	Status Status
	Word   string
	Facts  []KV
	// Spent and Cap are money with currency; Permille is the part used, 0 to 1000.
	Spent, Cap string
	Permille   int
}

// ThreadLabel is the label of a thread and since when.
type ThreadLabel struct {
	Name    string
	Outside bool
	Since   Fact
	// Means says what follows from it.
	Means string
}

// Participant is one line of people and agents.
type Participant struct {
	Actor Actor
	Note  string
}

// NoModel says that no model is set and what works without one.
type NoModel struct {
	// Commands are those the coordinator reads.
	Commands []Command
	// Works and Rests are two lists of what goes on and what stands still.
	Works, Rests []string
	// Waiting is a fact about queued messages.
	Waiting Fact
	// Config is the text for witan.yaml.
	Config string
}

// Command is one line of the plain grammar.
type Command struct {
	Form string
	Does string
}
