package app

import (
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/memory/recall"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/builtin"
	"github.com/witan-run/witan/internal/work"
)

// builtins is the registry of the skills that the program has built in, and of
// those that Deps adds.
func (p *parts) builtins(c Config, d Deps) (*skill.Registry, error) {
	files, err := builtin.OpenFiles(Paths{c.Data}.Files())
	if err != nil {
		return nil, err
	}
	p.files = files
	regs, err := builtin.Registrations(builtin.Config{
		Journal: p.db, Documents: documents{p.pano}, Memory: memories{p}, Reminders: reminders{p}, Sender: sender{p}, Inbox: inbox{p},
		Files: files, Fetcher: builtin.NewFetcher(builtin.FetcherConfig{Loopback: c.Fetch.Loopback}),
	})
	if err != nil {
		return nil, err
	}
	return skill.NewRegistry(append(regs, d.Skills...)...)
}

// documents fills builtin.Documents from work.
type documents struct{ pano *work.Pano }

func (d documents) ReadDocument(tx event.Tx, path string, revision int64, readers []string) (builtin.Document, error) {
	doc, err := d.pano.Read(tx, path, revision, readers)
	return builtin.Document(doc), err
}

func (d documents) WriteDocument(tx event.Tx, w builtin.DocumentDraft, cause event.Ref) (builtin.Document, error) {
	doc, err := d.pano.Write(tx, work.Draft(w), cause)
	return builtin.Document(doc), err
}

func (d documents) ListDocuments(tx event.Tx, folder, after string, limit int, readers []string) ([]builtin.Document, error) {
	docs, err := d.pano.List(tx, folder, after, limit, readers)
	out := make([]builtin.Document, 0, len(docs))
	for _, x := range docs {
		out = append(out, builtin.Document(x))
	}
	return out, err
}

func (d documents) SearchDocuments(tx event.Tx, query string, limit int, readers []string) ([]builtin.DocumentMatch, error) {
	found, err := d.pano.Search(tx, query, limit, readers)
	out := make([]builtin.DocumentMatch, 0, len(found))
	for _, m := range found {
		out = append(out, builtin.DocumentMatch{Document: builtin.Document(m.Document), Words: m.Words, Times: m.Times, Excerpt: m.Excerpt})
	}
	return out, err
}

// memories fills builtin.Memory from memory and, for scopes, from agent.
type memories struct{ p *parts }

func (m memories) Remember(tx event.Tx, n builtin.NewMemory, cause event.Ref) (id.ID, error) {
	scope, err := recall.ParseScope(n.Scope)
	if err != nil {
		return id.Nil, err
	}
	sensitivity, err := recall.ParseSensitivity(n.Sensitivity)
	if err != nil {
		return id.Nil, err
	}
	row := memory.Row{Scope: scope, Sensitivity: sensitivity, Epistemic: memory.Epistemic(n.Epistemic), Title: n.Title, Body: n.Text,
		OccurredAt: n.OccurredAt, Importance: n.Importance, Source: n.Source}
	mem, err := memory.Of(memory.Kind(n.Kind), row)
	if err != nil {
		return id.Nil, err
	}
	if _, err := m.p.memory.Remember(tx, memory.Note{Memory: mem, By: n.By, Stream: n.Stream, Subject: n.Subject}, cause); err != nil {
		return id.Nil, err
	}
	return mem.Common().ID, nil
}

func memoryQuery(q builtin.MemoryQuery) (recall.Query, error) {
	out := recall.Query{Text: q.Text, Readers: q.Readers, Limit: q.Limit, Now: q.Now}
	for _, s := range q.Scopes {
		scope, err := recall.ParseScope(s)
		if err != nil {
			return out, err
		}
		out.Scopes = append(out.Scopes, scope)
	}
	var err error
	out.Most, err = recall.ParseSensitivity(q.Sensitivity)
	return out, err
}

func (m memories) Recall(tx event.Tx, q builtin.MemoryQuery) (builtin.Recalled, error) {
	rq, err := memoryQuery(q)
	if err != nil {
		return builtin.Recalled{}, err
	}
	found, err := m.p.memory.Recall(tx, rq)
	out := builtin.Recalled{Ranking: found.Ranking}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, builtin.MemoryHit{ID: h.ID, Kind: h.Kind, Epistemic: h.Epistemic, Scope: string(h.Scope), Title: h.Title,
			Body: h.Body, Source: h.Source, OccurredAt: h.OccurredAt, Credibility: h.Credibility, Confidence: h.Confidence, Label: h.Label,
			Score: h.Score, BM25: h.Parts.BM25, Recency: h.Parts.Recency, Importance: h.Parts.Importance})
	}
	return out, err
}

func (m memories) Retrieved(tx event.Tx, q builtin.MemoryQuery, r builtin.Recalled, by string, stream, subject id.ID, cause event.Ref) error {
	rq, err := memoryQuery(q)
	if err != nil {
		return err
	}
	found := recall.Found{Ranking: r.Ranking}
	for _, h := range r.Hits {
		found.Hits = append(found.Hits, recall.Hit{ID: h.ID, Kind: h.Kind, Epistemic: h.Epistemic, Scope: recall.Scope(h.Scope), Title: h.Title,
			Body: h.Body, Source: h.Source, OccurredAt: h.OccurredAt, Credibility: h.Credibility, Confidence: h.Confidence, Label: h.Label,
			Score: h.Score, Parts: recall.Parts{BM25: h.BM25, Recency: h.Recency, Importance: h.Importance}})
	}
	_, err = m.p.memory.Retrieved(tx, rq, found, by, stream, subject, cause)
	return err
}

// Scopes returns the scopes of an agent's definition, narrowest first; of
// workspaces only the one in which the call is made.
func (m memories) Scopes(tx event.Tx, actor string, workspace id.ID) ([]string, error) {
	have, err := m.p.agents.Scopes(tx, actor)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, narrow := range []string{"agent:", "workspace:", "account"} {
		for _, s := range have {
			if strings.HasPrefix(s, narrow) && (narrow != "workspace:" || s == "workspace:"+workspace.String()) {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// reminders fills builtin.Reminders from work, and work.Post from dispatch.
type reminders struct{ p *parts }

func fromReminder(r work.Reminder) builtin.Reminder {
	return builtin.Reminder{ID: r.ID, Due: r.Due, Text: r.Text, Run: r.Run, Thread: r.Thread, Channel: r.Channel,
		Requester: r.Requester, Agent: r.Agent, Subject: r.Subject, Label: r.Label}
}

func (r reminders) SetReminder(tx event.Tx, in builtin.Reminder, cause event.Ref) (builtin.Reminder, error) {
	out, err := r.p.reminders.Set(tx, work.Reminder{Due: in.Due, Text: in.Text, Run: in.Run, Thread: in.Thread, Channel: in.Channel,
		Requester: in.Requester, Agent: in.Agent, Subject: in.Subject}, cause)
	return fromReminder(out), err
}

func (r reminders) ListReminders(tx event.Tx, requester string) ([]builtin.Reminder, error) {
	list, err := r.p.reminders.List(tx, requester)
	out := make([]builtin.Reminder, 0, len(list))
	for _, x := range list {
		out = append(out, fromReminder(x))
	}
	return out, err
}

func (r reminders) CancelReminder(tx event.Tx, reminder id.ID, requester, by string, cause event.Ref) (builtin.Reminder, error) {
	out, err := r.p.reminders.Cancel(tx, reminder, requester, by, cause)
	return fromReminder(out), err
}

// Remind implements work.Post: the reminder leaves by the way the answers of its
// run go.
func (r reminders) Remind(tx event.Tx, m work.Reminder, fired event.Ref) error {
	reply, thread, err := r.p.dispatch.ReplyOf(tx, m.Run)
	if fault.Is(err, fault.NotFound) {
		return nil // whoever asked reads the journal; there is nowhere to send it
	}
	if err != nil {
		return err
	}
	_, err = r.p.dispatch.Send(tx, dispatch.Outgoing{Channel: reply.Channel, ThreadID: thread, PersonID: reply.PersonID, ContactID: reply.ContactID,
		Address: reply.Address, Text: "Reminder: " + m.Text, RunID: m.Run, Agent: strings.TrimPrefix(m.Agent, "agent:"),
		Key: "reminder:" + m.ID.String(), Label: m.Label}, fired)
	return err
}

// sender fills builtin.Sender from dispatch.
type sender struct{ p *parts }

func (s sender) Send(tx event.Tx, m builtin.Message, cause event.Ref) (builtin.Sent, error) {
	out := dispatch.Message{Channel: m.Channel, Address: m.Address, ThreadID: m.ThreadID, Text: m.Text, RunID: m.RunID, Agent: m.Agent, Key: m.Key}
	switch {
	case !m.PersonID.IsZero():
		out.To = "person:" + m.PersonID.String()
	case !m.ContactID.IsZero():
		out.To = "contact:" + m.ContactID.String()
	}
	sent, err := s.p.dispatch.SendMessage(tx, out, cause)
	return builtin.Sent{MessageID: sent.MessageID, ThreadID: sent.ThreadID, State: sent.State, Reason: sent.Reason}, err
}

// inbox fills builtin.Inbox: what waits for a person, out of three domains.
type inbox struct{ p *parts }

const maxWaiting = 50

func (i inbox) Waiting(tx event.Tx, principal string) ([]builtin.Item, error) {
	if !strings.HasPrefix(principal, "person:") {
		return nil, nil
	}
	label := event.NewLabel(event.House, event.AccountWide())
	var items []builtin.Item
	open, err := i.p.policy.ListApprovals(tx, policy.ApprovalFilter{State: policy.StateOpen, Limit: maxWaiting})
	if err != nil {
		return nil, err
	}
	for _, a := range open {
		items = append(items, builtin.Item{Kind: "approval", Key: a.Key, Title: a.Request.Actor + " wants to call " + a.Request.Skill,
			Note: a.Rule + "; until " + a.ExpiresAt.Format(time.RFC3339), Label: label})
	}
	effects, err := i.p.skills.Effects(tx, skill.Filter{State: skill.Unknown, Limit: maxWaiting})
	if err != nil {
		return nil, err
	}
	for _, e := range effects {
		items = append(items, builtin.Item{Kind: "question", Key: e.ID.String(), Title: "nobody can tell whether " + e.Skill + " happened", Label: label})
	}
	held, err := i.p.rows.dispatch.ListHeld(tx, id.Nil, maxWaiting)
	if err != nil {
		return nil, err
	}
	for n, h := range held {
		items = append(items, builtin.Item{Kind: "held", Key: "held-" + strconv.Itoa(n+1), Title: "a message on " + h.Channel + " waits", Note: h.Reason, Label: label})
	}
	return items, nil
}
