package work

import (
	"encoding/base32"
	"io"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// CreateWorkspace makes a workspace.
func (s *Service) CreateWorkspace(tx event.Tx, a Actor, n NewWorkspace) (Workspace, error) {
	if err := a.check(); err != nil {
		return Workspace{}, err
	}
	if err := n.check(); err != nil {
		return Workspace{}, err
	}
	if a.worker() {
		return Workspace{}, fault.New(fault.Denied, "a worker makes no workspaces")
	}
	if err := words(a); err != nil {
		return Workspace{}, err
	}
	if err := mayFree(a, n.AllowAllCommands); err != nil {
		return Workspace{}, err
	}
	return s.addWorkspace(tx, a, n, id.Nil)
}

func (s *Service) addWorkspace(tx event.Tx, a Actor, n NewWorkspace, forkOf id.ID) (Workspace, error) {
	// The account's lock, so that two at once do not choose one prefix.
	if err := s.store.LockGraph(tx); err != nil {
		return Workspace{}, err
	}
	prefix, err := n.Prefix, error(nil)
	taken := func(p string) (bool, error) { return s.store.PrefixTaken(tx, p) }
	if prefix == "" {
		prefix, err = prefixOf(n.Name, taken)
	} else if used, e := taken(prefix); e != nil {
		err = e
	} else if used {
		err = fault.New(fault.Conflict, "another workspace has the prefix %s", prefix).On("prefix")
	}
	if err != nil {
		return Workspace{}, err
	}
	w := Workspace{ID: tx.NewID(), Prefix: prefix, Name: n.Name, Description: n.Description, SelfLearningLoopNote: n.SelfLearningLoopNote,
		AllowAllCommands: n.AllowAllCommands, Resident: n.Resident, ForkOf: forkOf, CreatedBy: a.Principal, CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
		Revision: 1, Revisions: Revisions{}}
	a.Subject = id.Nil
	ev, err := s.emit(tx, a, w.ID, "The workspace "+prefix+" begins.", event.WorkspaceCreated{WorkspaceID: w.ID, Prefix: prefix, Name: w.Name,
		Description: w.Description, SelfLearningLoopNote: w.SelfLearningLoopNote, AllowAllCommands: w.AllowAllCommands, Resident: w.Resident, ForkOfID: forkOf, By: a.Principal})
	if err != nil {
		return w, err
	}
	w.Label = ev.Label
	return w, s.store.AddWorkspace(tx, w)
}

// GetWorkspace returns a workspace, archived or not.
func (s *Service) GetWorkspace(tx event.Tx, a Actor, workspace id.ID) (Workspace, error) {
	return s.seeWorkspace(tx, a, workspace, s.store.GetWorkspace)
}

// ListWorkspaces returns workspaces in the order in which they were made, after
// one; archived ones only if asked for.
func (s *Service) ListWorkspaces(tx event.Tx, a Actor, archived bool, after id.ID, limit int) ([]Workspace, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.worker() {
		w, err := s.store.GetWorkspace(tx, a.Workspace)
		if after.IsZero() && err == nil && (archived || !w.Archived()) {
			return []Workspace{w}, nil
		}
		return nil, err
	}
	return s.store.ListWorkspaces(tx, archived, after, pages(limit))
}

// UpdateWorkspace changes fields of a workspace. Two writers on two fields both
// win; of two on one field, the one that saw less is told (fault.Conflict).
func (s *Service) UpdateWorkspace(tx event.Tx, a Actor, workspace id.ID, c WorkspaceChange) (Workspace, error) {
	w, err := s.lockWorkspace(tx, a, workspace)
	if err != nil {
		return w, err
	}
	if w.Archived() {
		return w, errArchived()
	}
	if !w.ForkOf.IsZero() && c.settings() {
		return w, fault.New(fault.Conflict, "a fork has the settings of its parent").On("workspace").WithFix("change them there")
	}
	next, e := w.apply(c)
	if e.err != nil {
		return w, e.err
	}
	if len(e.changes) == 0 {
		return w, nil
	}
	if err := words(a); err != nil {
		return w, err
	}
	if e.changed("allowAllCommands") {
		if err := mayFree(a, next.AllowAllCommands); err != nil {
			return w, err
		}
	}
	if next, err = s.saveWorkspace(tx, a, next, e); err != nil || !c.settings() {
		return next, err
	}
	return next, s.propagate(tx, a, next)
}

func (s *Service) lockWorkspace(tx event.Tx, a Actor, workspace id.ID) (Workspace, error) {
	if a.worker() {
		if _, err := s.seeWorkspace(tx, a, workspace, s.store.GetWorkspace); err != nil {
			return Workspace{}, err
		}
		return Workspace{}, fault.New(fault.Denied, "a worker changes no workspace")
	}
	return s.seeWorkspace(tx, a, workspace, s.store.LockWorkspace)
}

func (s *Service) saveWorkspace(tx event.Tx, a Actor, w Workspace, e *edit) (Workspace, error) {
	w.Revision, w.Revisions, w.UpdatedAt = e.next, e.revs, tx.Now()
	a.Subject = id.Nil
	ev, err := s.emit(tx, a, w.ID, "The workspace "+w.Prefix+" has changed: "+e.fields()+".",
		event.WorkspaceUpdated{WorkspaceID: w.ID, Changes: e.changes, Revision: w.Revision, By: a.Principal})
	if err != nil {
		return w, err
	}
	w.Label = event.Join(w.Label, ev.Label)
	return w, s.store.SaveWorkspace(tx, w)
}

// ArchiveWorkspace freezes a workspace: every later write to it, its tasks and
// their threads is refused, whoever holds them. UnarchiveWorkspace takes it back.
// Doing either twice changes nothing.
func (s *Service) ArchiveWorkspace(tx event.Tx, a Actor, workspace id.ID) (Workspace, error) {
	return s.setArchived(tx, a, workspace, true)
}

// UnarchiveWorkspace lets an archived workspace go on.
func (s *Service) UnarchiveWorkspace(tx event.Tx, a Actor, workspace id.ID) (Workspace, error) {
	return s.setArchived(tx, a, workspace, false)
}

func (s *Service) setArchived(tx event.Tx, a Actor, workspace id.ID, archived bool) (Workspace, error) {
	w, err := s.lockWorkspace(tx, a, workspace)
	if err != nil || w.Archived() == archived {
		return w, err
	}
	e := begin(0, w.Revision, w.Revisions)
	if archived {
		if err := s.mayArchive(tx, w); err != nil {
			return w, err
		}
		if err := s.recall(tx, a, w.ID); err != nil {
			return w, err
		}
		w.ArchivedAt = tx.Now()
	} else if !w.MergedAt.IsZero() {
		return w, fault.New(fault.Conflict, "the fork was merged; its tasks are in its parent").On("workspace")
	} else {
		w.ArchivedAt = clock.FromMicros(0)
	}
	e.note("archivedAt", value(clock.Micros(w.ArchivedAt)))
	return s.saveWorkspace(tx, a, w, e)
}

// recall takes all tasks of a workspace out of their holders' hands, back into
// the queue: in an archive nobody could finish them.
func (s *Service) recall(tx event.Tx, a Actor, workspace id.ID) error {
	for {
		rows, err := s.store.OngoingOf(tx, workspace, MaxPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			t, err := s.store.LockTask(tx, r.ID)
			if err != nil {
				return err
			}
			if t.Status != Ongoing {
				continue
			}
			if _, err := s.turn(tx, a, t, t.takeAway(NotStarted, CauseRevoked)); err != nil {
				return err
			}
		}
	}
}

const (
	tokenPrefix = "wtw_"
	tokenBytes  = 20
)

var tokenText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// MintToken makes a token for a workspace: the secret, which is shown once, and
// what is kept of it. It is called outside of the transaction.
func MintToken(random io.Reader) (secret.String, Token, error) {
	b := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, b); err != nil {
		return secret.String{}, Token{}, fault.Wrap(fault.Internal, err, "make a token")
	}
	text := tokenPrefix + tokenText.EncodeToString(b)
	return secret.New(text), Token{Digest: tokenDigest(text), LastFour: text[len(text)-4:]}, nil
}

func tokenDigest(text string) []byte {
	d := canon.Digest("witan/workspace-token/1", []byte(text))
	return d[:]
}

// RotateToken gives a workspace a token that MintToken made; the one before it is
// worth nothing from then on.
func (s *Service) RotateToken(tx event.Tx, a Actor, workspace id.ID, t Token) (Workspace, error) {
	w, err := s.lockWorkspace(tx, a, workspace)
	if err != nil {
		return w, err
	}
	if w.Archived() {
		return w, errArchived()
	}
	if len(t.Digest) != 32 || len(t.LastFour) != 4 {
		return w, fault.New(fault.Internal, "work: that is no token")
	}
	t.At = tx.Now()
	w.Token = t
	e := begin(0, w.Revision, w.Revisions)
	e.note("tokenLastFour", value(t.LastFour))
	return s.saveWorkspace(tx, a, w, e)
}

// WorkspaceByToken returns the workspace that a token opens; fault.Unauthorized
// if it opens none.
func (s *Service) WorkspaceByToken(tx event.Tx, token secret.String) (Workspace, error) {
	w, err := s.store.WorkspaceByToken(tx, tokenDigest(token.Reveal()))
	if fault.Is(err, fault.NotFound) {
		return Workspace{}, fault.New(fault.Unauthorized, "the token opens no workspace")
	}
	return w, err
}

// pages bounds the size of a page.
func pages(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, MaxPage)
}
