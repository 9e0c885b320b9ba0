package work

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of workspaces and tasks, in bytes.
const (
	maxName        = 128
	maxDescription = 64 << 10
	maxNote        = 64 << 10
	maxTitle       = 512
	maxBody        = 256 << 10
	maxText        = 256 << 10
	maxRef         = 128
	maxCron        = 64
)

// Workspace is a container of tasks, with its brief and its workers.
type Workspace struct {
	ID          id.ID
	Prefix      string // of the keys of its tasks; fixed
	Name        string
	Description string // the brief
	// SelfLearningLoopNote goes to a worker with each task that it claims, beside
	// the body and marked as what it is.
	SelfLearningLoopNote string
	AllowAllCommands     bool
	Resident             string // the resident agent that takes its tasks; "" leaves them to workers
	Token                Token
	AutoAllowedTools     []string // a view over grants; the rows hold none
	ArchivedAt           time.Time
	ForkOf               id.ID     // the workspace that it is a fork of; Nil for most
	MergedAt             time.Time // when the fork ended; zero while it goes on
	CreatedBy            string
	CreatedAt            time.Time
	UpdatedAt            time.Time
	Label                event.Label
	Revision             int64
	Revisions            Revisions
}

// Token is what is known of a workspace's token: not the token.
type Token struct {
	Digest   []byte
	LastFour string
	At       time.Time // when it was made; zero if there is none
}

// Archived reports whether the workspace refuses every write.
func (w Workspace) Archived() bool { return !w.ArchivedAt.IsZero() }

// ContentID is whose notes, skills and grants the workspace uses: a fork's are
// its parent's, so that a merge moves nothing but tasks.
func (w Workspace) ContentID() id.ID {
	if w.ForkOf.IsZero() {
		return w.ID
	}
	return w.ForkOf
}

// Scope is what a halt of the workspace names.
func (w Workspace) Scope() string { return "workspace:" + w.ID.String() }

// errArchived is the one refusal of every write to an archived workspace.
func errArchived() error {
	return fault.New(fault.Conflict, "the workspace is archived").On("workspace").WithFix("unarchive it first")
}

func noWorkspace() error {
	return fault.New(fault.NotFound, "there is no such workspace").On("workspace")
}

// NewWorkspace is a workspace to be.
type NewWorkspace struct {
	Name                 string
	Prefix               string // "" derives one from the name
	Description          string
	SelfLearningLoopNote string
	AllowAllCommands     bool
	Resident             string
}

func (n NewWorkspace) check() error {
	if n.Prefix != "" {
		if err := CheckPrefix(n.Prefix); err != nil {
			return err
		}
	}
	return checkWorkspace(n.Name, n.Description, n.SelfLearningLoopNote, n.Resident)
}

func checkWorkspace(name, description, note, agent string) error {
	if err := checkText("name", name, maxName, true); err != nil {
		return err
	}
	if err := checkText("description", description, maxDescription, false); err != nil {
		return err
	}
	if err := checkText("selfLearningLoopNote", note, maxNote, false); err != nil {
		return err
	}
	if agent != "" && (len(agent) > maxRef || !plain(agent)) {
		return fault.New(fault.Invalid, "%q is no name of an agent", clip(agent)).On("resident")
	}
	return nil
}

// WorkspaceChange is what is to change of a workspace; nil leaves a field alone.
type WorkspaceChange struct {
	Seen                 int64 // the revision that was shown; 0 writes over whatever stands there
	Name                 *string
	Description          *string
	SelfLearningLoopNote *string
	AllowAllCommands     *bool
	Resident             *string
}

// apply returns the workspace with the change, and what it changes.
func (w Workspace) apply(c WorkspaceChange) (Workspace, *edit) {
	e := begin(c.Seen, w.Revision, w.Revisions)
	set(e, "name", &w.Name, c.Name)
	set(e, "description", &w.Description, c.Description)
	set(e, "selfLearningLoopNote", &w.SelfLearningLoopNote, c.SelfLearningLoopNote)
	set(e, "allowAllCommands", &w.AllowAllCommands, c.AllowAllCommands)
	set(e, "resident", &w.Resident, c.Resident)
	if e.err == nil {
		e.err = checkWorkspace(w.Name, w.Description, w.SelfLearningLoopNote, w.Resident)
	}
	return w, e
}

func checkText(field, s string, limit int, required bool) error {
	switch {
	case required && strings.TrimSpace(s) == "":
		return fault.New(fault.Invalid, "it must not be empty").On(field)
	case len(s) > limit:
		return fault.New(fault.Limited, "%d bytes, at most %d are taken", len(s), limit).On(field)
	case !utf8.ValidString(s):
		return fault.New(fault.Invalid, "it is not valid UTF-8").On(field)
	case strings.IndexByte(s, 0) >= 0:
		return fault.New(fault.Invalid, "it holds U+0000").On(field)
	}
	return nil
}

// plain reports whether a word is made of what codes and names of ours are.
func plain(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r < '0' && r != '-' && r != '.' || r > 'z' || r > '9' && r < 'A' && r != ':' && r != '@' || r > 'Z' && r < 'a' && r != '_'
	}) < 0
}
