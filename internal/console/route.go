package console

import (
	"net/http"

	"github.com/witan-run/witan/internal/identity"
)

// Route is one line of the table. It is data: the gate and the tests read it.
type Route struct {
	Method string
	Path   string       // with {parameters}, as in http.ServeMux
	Act    identity.Act // of the roles table
	Doc    string       // one sentence
	Cap    int64        // bytes of the body; 0 takes the default

	serve func(c *call) error
}

// Pattern returns the route as http.ServeMux writes it.
func (r Route) Pattern() string {
	if r.Path == "/" {
		return r.Method + " /{$}"
	}
	return r.Method + " " + r.Path
}

// Caps of bodies. A message may be long; a decision is not.
const (
	capForm    = 64 << 10
	capMessage = 1 << 20
)

// table is every page and every form.
func (c *Console) table() []Route {
	get, post := http.MethodGet, http.MethodPost
	return []Route{
		{Method: get, Path: "/", Act: identity.ActInboxRead, Doc: "Go to the Inbox.", serve: c.home},
		{Method: get, Path: "/inbox", Act: identity.ActInboxRead, Doc: "The queue, and the item that comes first.", serve: c.inbox},
		{Method: get, Path: "/inbox/{id}", Act: identity.ActInboxRead, Doc: "One item of the Inbox.", serve: c.inbox},
		{Method: post, Path: "/inbox/{id}/answer", Act: identity.ActApprovalAnswer, Doc: "Allow, deny, edit or grant one call.", Cap: capMessage, serve: c.answer},
		{Method: post, Path: "/inbox/{id}/undo", Act: identity.ActApprovalAnswer, Doc: "Take an answer back before it takes effect.", serve: c.undo},
		{Method: post, Path: "/inbox/{id}/held", Act: identity.ActHeldDecide, Doc: "Decide about a held message.", serve: c.held},
		{Method: post, Path: "/effects/{id}/settle", Act: identity.ActEffectSettle, Doc: "Say what became of an effect.", serve: c.settle},
		{Method: post, Path: "/inbox/{id}/unpark", Act: identity.ActJournalUnpark, Doc: "Let a parked stream go on.", serve: c.unpark},
		{Method: post, Path: "/halt", Act: identity.ActHaltSet, Doc: "Stop everything.", serve: c.halt},
		{Method: post, Path: "/resume", Act: identity.ActHaltClear, Doc: "Go on after a halt.", serve: c.resume},

		{Method: post, Path: "/preferences", Act: identity.ActSelfWrite, Doc: "Choose light or dark.", serve: c.preferences},

		{Method: get, Path: "/work", Act: identity.ActWorkRead, Doc: "Go to a board, or make the first workspace.", serve: c.workHome},
		{Method: get, Path: "/workspaces", Act: identity.ActWorkRead, Doc: "All workspaces.", serve: c.workspaces},
		{Method: post, Path: "/workspaces", Act: identity.ActWorkspaceManage, Doc: "Make a workspace.", serve: c.createWorkspace},
		{Method: get, Path: "/workspaces/{id}", Act: identity.ActWorkRead, Doc: "A workspace as a board or a list.", serve: c.board},
		{Method: post, Path: "/workspaces/{id}/archive", Act: identity.ActWorkspaceManage, Doc: "Archive a workspace.", serve: c.archiveWorkspace},
		{Method: post, Path: "/workspaces/{id}/unarchive", Act: identity.ActWorkspaceManage, Doc: "Take a workspace back.", serve: c.unarchiveWorkspace},
		{Method: get, Path: "/workspaces/{id}/new", Act: identity.ActWorkWrite, Doc: "The form of a new task.", serve: c.newTask},
		{Method: post, Path: "/workspaces/{id}/tasks", Act: identity.ActWorkWrite, Doc: "Make a task.", Cap: capMessage, serve: c.createTask},
		{Method: get, Path: "/tasks/{id}", Act: identity.ActWorkRead, Doc: "One task, by its key or its id.", serve: c.task},
		{Method: post, Path: "/tasks/{id}/status", Act: identity.ActWorkWrite, Doc: "Move a task.", serve: c.moveTask},
		{Method: post, Path: "/tasks/{id}/edit", Act: identity.ActWorkWrite, Doc: "Change a task.", Cap: capMessage, serve: c.editTask},
		{Method: post, Path: "/tasks/{id}/messages", Act: identity.ActWorkWrite, Doc: "Write into the thread of a task.", Cap: capMessage, serve: c.replyTask},
		{Method: post, Path: "/tasks/{id}/answer", Act: identity.ActWorkWrite, Doc: "Answer a question in the thread of a task.", serve: c.answerTask},
		{Method: post, Path: "/tasks/{id}/block", Act: identity.ActWorkWrite, Doc: "Let a task wait for another.", serve: c.blockTask},
		{Method: post, Path: "/tasks/{id}/unblock", Act: identity.ActWorkWrite, Doc: "Let a task wait for another no more.", serve: c.unblockTask},

		{Method: get, Path: "/chat", Act: identity.ActChatRead, Doc: "Threads, and a form for a new one.", serve: c.chat},
		{Method: post, Path: "/chat", Act: identity.ActMessageSend, Doc: "Begin a thread.", Cap: capMessage, serve: c.say},
		{Method: get, Path: "/chat/{id}", Act: identity.ActChatRead, Doc: "One thread.", serve: c.chat},
		{Method: post, Path: "/chat/{id}/messages", Act: identity.ActMessageSend, Doc: "Write into a thread.", Cap: capMessage, serve: c.say},
		{Method: post, Path: "/runs/{id}/cancel", Act: identity.ActRunCancel, Doc: "Cancel a run.", Cap: capMessage, serve: c.cancel},

		{Method: get, Path: "/journal", Act: identity.ActJournalRead, Doc: "The stream of events.", serve: c.journal},
		{Method: get, Path: "/journal/{id}", Act: identity.ActJournalRead, Doc: "One event, its causes and effects.", serve: c.journal},
		{Method: post, Path: "/journal/verify", Act: identity.ActAuditVerify, Doc: "Verify the chain.", serve: c.verify},
		{Method: post, Path: "/journal/{id}/replay", Act: identity.ActReplay, Doc: "Run a decision again from the record.", serve: c.replay},
		{Method: post, Path: "/doors/skip", Act: identity.ActSelfWrite, Doc: "Close the demo's doors for good.", serve: c.skipDoors},

		{Method: get, Path: "/search", Act: identity.ActAccountRead, Doc: "Find a page, an object or a command.", serve: c.search},
		{Method: get, Path: "/setup", Act: identity.ActSetupClaim, Doc: "The first start.", serve: c.setup},
		{Method: post, Path: "/setup", Act: identity.ActSetupClaim, Doc: "Become the first owner with a password.", serve: c.claim},
		{Method: get, Path: "/reset", Act: identity.ActResetUse, Doc: "Set a new password with a reset link.", serve: c.resetPage},
		{Method: post, Path: "/reset", Act: identity.ActResetUse, Doc: "Use a reset link.", serve: c.reset},
		{Method: get, Path: "/signin", Act: identity.ActSignIn, Doc: "Sign in.", serve: c.signInPage},
		{Method: post, Path: "/signin", Act: identity.ActSignIn, Doc: "Sign in with a password.", serve: c.signIn},
		{Method: post, Path: "/signout", Act: identity.ActSignOut, Doc: "End this session.", serve: c.signOut},
	}
}
