package ui

// WorkspacesView is the list of workspaces, and the form of a new one. Without a
// workspace it is the empty state of the place.
type WorkspacesView struct {
	Shell Shell
	List  []WorkspaceRow
	// Form makes a workspace; nil if this person may not.
	Form *WorkspaceForm
	// Older is the address of the next page.
	Older string
}

// WorkspaceRow is one workspace of the list.
type WorkspaceRow struct {
	ID, Name, Prefix, Href string
	// Counts says how many tasks stand where, "3 not started, 1 running".
	Counts   string
	Archived string // since when; "" while it is in use
	// CanArchive offers to archive it, or to take it back.
	CanArchive bool
	Outside    bool // its words came from outside
}

// WorkspaceForm is what was typed for a new workspace.
type WorkspaceForm struct {
	Name, Error string
}

// Who is who is to do a task, or holds it.
type Who struct {
	Actor Actor
	// Any is set where nobody is named: any person, any worker.
	Any bool
}

// Move is a change of status that the graph has, or one that it has not, with the
// reason.
type Move struct {
	To    string // the status
	Label string
	Off   string // why it is not offered; "" offers it
}

// Card is a task on a board and in a list.
type Card struct {
	ID, Key, Href, Title string
	Outside              bool // its words came from outside
	Status               string
	Glyph                Status
	State                string // the status in words
	// Why says why it is not running; Need draws it in amber: a person is needed.
	Why  string
	Need bool
	// Held is set while somebody holds it: Who is the holder then, Lease how long.
	Held     bool
	Lease    string
	Who      Who
	Age      string // since the last change of status
	Full     string // the whole moment
	Messages int
	// Said marks a task that is completed on its worker's word only.
	Said     bool
	Moves    []Move // none: this person may not move it
	Revision string
}

func (c Card) canMove() bool { return len(c.Moves) > 0 }

func (c Card) statusPath() string { return "/tasks/" + c.Key + "/status" }

// Column is one status of a board.
type Column struct {
	Status string
	Label  string
	Glyph  Status
	Count  int
	Cards  []Card
	More   string // address of the list with those that are not drawn
	On     bool   // the one that a narrow screen shows
	Href   string // shows it on a narrow screen
}

// Refusal says in place why something was not done.
type Refusal struct {
	Key  string // of the task
	Text string
	Fix  string
}

// WorkspaceLink switches between workspaces.
type WorkspaceLink struct {
	Name, Href string
	On         bool
}

// BoardView is a workspace as a board, or as a list.
type BoardView struct {
	Shell        Shell
	Name, Prefix string
	Outside      bool // the workspace's words came from outside
	Total        int
	Spaces       []WorkspaceLink
	List         bool
	Columns      []Column
	// Rows, Filter, Newer and Older are of the list.
	Rows         []Card
	Filter       []Tab
	Newer, Older string
	BoardHref    string
	ListHref     string
	New          string // address of the form of a new task; "" if this person may not
	Archived     string // since when: every write is refused
	Refused      *Refusal
}

// Message is one message of a task's thread.
type Message struct {
	ID       string
	Actor    Actor
	At, Full string
	Text     string
	Outside  bool
	Asserted bool // an agent's or a worker's word
	// Line is set for a change of status, which is a line and no turn.
	Line bool
	// Request names a question that waits; Asks offers its answers.
	Request string
	Asks    bool
	Answer  string // what the answer was, in a word
	Files   []string
}

// Blocker is a task that must be completed first.
type Blocker struct {
	ID, Key, Href, Title string
	Glyph                Status
	State                string
	Outside              bool
}

// TaskEdit is the form that changes or makes a task.
type TaskEdit struct {
	Action, Back string
	Title, Body  string
	Assignees    []Choice
	// Revision and the digests are what this form was drawn from.
	Revision                  string
	WasTitle, WasBody, WasWho string
	// Stale names what somebody else changed in one of the fields meanwhile.
	Stale []StaleField
	Error string
	// Field is the field that Error is about.
	Field string
	// Last is the newest task when the form was drawn, so that sent twice it is one task.
	Last string
	New  bool
}

// StaleField is a field that two people changed.
type StaleField struct {
	Name string // of the control
	Who  string
	Now  string // what stands there now
}

func (e TaskEdit) stale(name string) *StaleField {
	for i := range e.Stale {
		if e.Stale[i].Name == name {
			return &e.Stale[i]
		}
	}
	return nil
}

func (e TaskEdit) err(name string) string {
	if e.Field == name {
		return e.Error
	}
	return ""
}

// rest is an error that belongs to no control of the form.
func (e TaskEdit) rest() string {
	switch e.Field {
	case "title", "body", "assignee":
		return ""
	}
	return e.Error
}

// TaskView is one task.
type TaskView struct {
	Shell     Shell
	Card      Card
	Workspace Link
	Archived  string
	Body      string
	Edit      *TaskEdit // the form instead of the words
	EditHref  string    // "" if this person may not
	Refused   *Refusal
	Thread    []Message
	Older     string
	Newer     string
	Reply     *Reply // nil: this person does not write
	Facts     []KV
	Blockers  []Blocker
	// Block is the form that adds a blocker; nil if this person may not.
	Block    *BlockForm
	Record   []RecordLine
	Earlier  string
	Later    string
	CanWrite bool
}

// BlockForm is what was typed for a new blocker.
type BlockForm struct {
	Key, Error string
}

// Reply is the box at the end of a thread.
type Reply struct {
	Text, Error string
	Seen        string // number of the last message on this page
	Off         string // why nobody can write now
}

// RecordLine is one thing that happened to a task.
type RecordLine struct {
	Fact Fact
	At   string
	Full string
}

// NewTaskView is the form of a new task.
type NewTaskView struct {
	Shell     Shell
	Workspace Link
	Edit      TaskEdit
}
