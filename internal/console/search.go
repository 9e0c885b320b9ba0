package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/work"
)

// command is a place or verb that the palette knows.
type command struct {
	text, href, key, icon string
	act                   identity.Act
	words                 string
}

func commands() []command {
	return []command{
		{"Inbox", "/inbox", "G I", "inbox", identity.ActInboxRead, "inbox approvals waiting held needs me"},
		{"Work", "/work", "G B", "square-kanban", identity.ActWorkRead, "work board tasks kanban workspace"},
		{"Workspaces", "/workspaces", "", "layers", identity.ActWorkRead, "workspaces new workspace archive"},
		{"Chat", "/chat", "G C", "message-square", identity.ActChatRead, "chat threads messages"},
		{"Journal", "/journal", "G J", "scroll-text", identity.ActJournalRead, "journal events record audit"},
		{"New thread", "/chat?new=1", "C", "plus", identity.ActMessageSend, "new thread write message ask agent"},
		{"Held messages", "/inbox?kind=held", "", "mail", identity.ActInboxRead, "held messages unknown senders"},
		{"Failures and unknown effects", "/inbox?kind=failure", "", "triangle-alert", identity.ActInboxRead, "failures unknown effects parked"},
		{"Verify the chain", "/journal", "V", "link-2", identity.ActAuditVerify, "verify chain hash proof"},
		{"Events with outside bytes", "/journal?outside=1", "", "scroll-text", identity.ActJournalRead, "outside taint events"},
	}
}

// search is the palette as a page: exact ids first, then places and verbs, then
// what stands in the newest records.
func (c *Console) search(k *call) error {
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	typed := strings.TrimSpace(k.r.URL.Query().Get("q"))
	v := ui.SearchView{}
	if err := c.view(k, func(r *reader) error {
		waits, err := r.queue(held)
		if err != nil {
			return err
		}
		for _, f := range []func(string, queue) (ui.SearchGroup, error){r.byID, r.byCommand, r.byText} {
			g, err := f(typed, waits)
			if err != nil {
				return err
			}
			if len(g.Hits) > 0 {
				v.Groups = append(v.Groups, g)
			}
		}
		v.Shell, err = c.shell(k, r, waits, "", ui.Crumb{Text: "Search"})
		v.Shell.Query = typed
		return err
	}); err != nil {
		return err
	}
	c.send(k, http.StatusOK, ui.Search(v))
	return nil
}

// byID finds exactly what an id, a key or a number names.
func (r *reader) byID(typed string, _ queue) (ui.SearchGroup, error) {
	g := ui.SearchGroup{Name: "Exactly that"}
	key := strings.ToUpper(strings.TrimPrefix(typed, "#"))
	if strings.HasPrefix(key, "AP-") {
		a, err := r.Policy.GetApprovalByKey(r.tx, key)
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
			return g, err
		}
		if err == nil {
			g.Hits = append(g.Hits, r.approvalHit(a))
		}
	}
	if _, _, ok := work.ParseKey(key); ok {
		t, err := r.Work.TaskByKey(r.tx, r.me(), key)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return g, err
		}
		if err == nil {
			g.Hits = append(g.Hits, ui.SearchHit{Icon: "square-kanban", Link: ui.Link{Key: t.Key(), Text: clip(t.Title, 80), Href: taskPath(t)}, Note: statusWord(t.Status)})
		}
	}
	name := strings.ReplaceAll(strings.TrimPrefix(typed, "#"), ",", "")
	_, notSeq := strconv.ParseInt(name, 10, 64)
	on, notID := id.Parse(name)
	if notSeq == nil || notID == nil {
		e, err := r.eventAt(name)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return g, err
		}
		if err == nil && e.Seq > 0 {
			g.Hits = append(g.Hits, ui.SearchHit{Icon: "scroll-text", Link: ui.Link{Key: "#" + grouped(e.Seq), Text: string(e.Type), Href: eventPath(e.ID)}, Note: r.describe(e)})
		}
	}
	if notID == nil {
		a, err := r.Policy.GetApproval(r.tx, on)
		if err == nil {
			g.Hits = append(g.Hits, r.approvalHit(a))
		} else if !fault.Is(err, fault.NotFound) {
			return g, err
		}
		t, err := r.Agents.Store.GetThread(r.tx, on)
		if err == nil {
			g.Hits = append(g.Hits, ui.SearchHit{Icon: "message-square", Link: ui.Link{Text: "Thread", Key: short(t.ID.String()), Href: "/chat/" + t.ID.String()}})
		} else if !fault.Is(err, fault.NotFound) {
			return g, err
		}
	}
	return g, nil
}

func (r *reader) approvalHit(a policy.Approval) ui.SearchHit {
	return ui.SearchHit{Icon: "shield", Link: ui.Link{Key: a.Key, Text: a.Request.Skill, Href: "/inbox/" + a.ID.String()}, Note: string(a.State) + ", " + r.people.actor(a.Request.Actor).Name}
}

func (r *reader) byCommand(typed string, _ queue) (ui.SearchGroup, error) {
	g := ui.SearchGroup{Name: "Places and commands"}
	want := strings.ToLower(strings.TrimPrefix(typed, ">"))
	for _, c := range commands() {
		if want != "" && !strings.Contains(strings.ToLower(c.text+" "+c.words), strings.TrimSpace(want)) {
			continue
		}
		h := ui.SearchHit{Icon: c.icon, Link: ui.Link{Text: c.text, Href: c.href}, Key: c.key}
		if !r.may(c.act) {
			h.Off, h.Note = true, "not with the role "+string(r.who.Role)
		}
		g.Hits = append(g.Hits, h)
	}
	return g, nil
}

// byText looks through what waits and through the newest threads.
func (r *reader) byText(typed string, waits queue) (ui.SearchGroup, error) {
	g := ui.SearchGroup{Name: "In the records"}
	want := strings.ToLower(typed)
	if want == "" {
		return g, nil
	}
	for _, w := range waits.list {
		row, err := r.row(w)
		if err != nil {
			return g, err
		}
		if strings.Contains(strings.ToLower(row.Title+" "+row.Actor.Name), want) {
			g.Hits = append(g.Hits, ui.SearchHit{Icon: "inbox", Link: ui.Link{Text: row.Title, Href: row.Href}, Note: "waits for a person"})
		}
	}
	var v ui.ChatView
	if _, err := r.threadList(&v, nil, queue{}); err != nil {
		return g, err
	}
	for _, group := range v.Groups {
		for _, t := range group.Threads {
			if strings.Contains(strings.ToLower(t.Title+" "+t.Last), want) {
				g.Hits = append(g.Hits, ui.SearchHit{Icon: "message-square", Link: ui.Link{Text: t.Title, Href: t.Href}, Note: group.Name})
			}
		}
	}
	g.Hits = append(g.Hits, ui.SearchHit{Icon: "scroll-text", Link: ui.Link{Text: "Events with “" + clip(typed, 40) + "”", Href: readFilter(nil).address("/journal", func(q url.Values) { q.Set("q", typed) })}, Note: "in the journal"})
	return g, nil
}
