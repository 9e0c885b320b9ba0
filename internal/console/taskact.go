package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// moveTask moves a task along the status graph. What the graph does not have is
// refused with its reason, on the page where it was asked.
func (c *Console) moveTask(k *call) error {
	f := k.r.PostForm
	seen, _ := strconv.ParseInt(f.Get("revision"), 10, 64)
	to := work.Status(f.Get("to"))
	var t work.Task
	err := c.change(k.ctx, func(tx event.Tx) (err error) {
		if t, err = c.taskIn(k, tx); err != nil {
			return err
		}
		if !to.Valid() {
			return fault.New(fault.Invalid, "that is no status").On("status")
		}
		_, err = c.Work.MoveTask(tx, worker(k.who), work.Move{Task: t.ID, To: to, Seen: max(seen, 0)})
		return err
	})
	if err == nil {
		k.see(k.back(workspacePath(t.WorkspaceID)))
		return nil
	}
	if !refused(err) {
		return err
	}
	msg, _, fix := fault.Public(err)
	why := &ui.Refusal{Key: t.Key(), Text: sentence(msg), Fix: sentence(fix)}
	status := fault.EdgeOf(fault.KindOf(err)).HTTP
	if f.Get("on") == "task" {
		return c.taskPage(k, redo{status: status, refused: why})
	}
	back, _ := url.Parse(k.back(workspacePath(t.WorkspaceID)))
	if back == nil {
		back = &url.URL{Path: workspacePath(t.WorkspaceID)}
	}
	return c.boardPage(k, notMoved{status: status, on: t.WorkspaceID, query: back.Query(), path: back.RequestURI(), why: why})
}

// replyTask writes into a task's thread. The same form sent twice is one message.
func (c *Console) replyTask(k *call) error {
	text := strings.TrimSpace(unbreak(k.r.PostForm.Get("text")))
	if text == "" {
		return c.taskPage(k, redo{status: fault.EdgeOf(fault.Invalid).HTTP, reply: ui.Reply{Error: "Write something first."}})
	}
	seen, _ := strconv.ParseInt(k.r.PostForm.Get("seen"), 10, 64)
	var t work.Task
	err := c.change(k.ctx, func(tx event.Tx) (err error) {
		if t, err = c.taskIn(k, tx); err != nil {
			return err
		}
		since, err := c.Work.ListMessages(tx, worker(k.who), work.MessagePage{Task: t.ID, After: max(seen, 0), Newest: true, Limit: 8})
		if err != nil {
			return err
		}
		for _, m := range since {
			if m.Author == k.who.By() && m.Text == text && k.now.Sub(m.At) < timeout {
				return nil
			}
		}
		_, err = c.Work.AddMessage(tx, worker(k.who), work.NewMessage{Task: t.ID, Text: text})
		return err
	})
	if err != nil && refused(err) {
		return c.taskPage(k, redo{status: fault.EdgeOf(fault.KindOf(err)).HTTP, reply: ui.Reply{Text: text, Error: sentence(msgOf(err))}})
	}
	if err != nil {
		return err
	}
	k.see(taskPath(t))
	return nil
}

// answerTask answers a question in a task's thread, once.
func (c *Console) answerTask(k *call) error {
	answer := k.r.PostForm.Get("answer")
	return c.act(k, func(tx event.Tx, t work.Task) error {
		if answer != "allow" && answer != "deny" {
			return fault.New(fault.Invalid, "allow it or deny it")
		}
		_, err := c.Work.AnswerMessage(tx, worker(k.who), id.Nil, t.ID, k.r.PostForm.Get("request"), answer)
		return err
	}, func(t work.Task, why ui.Refusal) redo { return redo{refused: &why} })
}

// blockTask lets a task wait for another, named by its key.
func (c *Console) blockTask(k *call) error {
	key := strings.ToUpper(strings.TrimSpace(k.r.PostForm.Get("key")))
	return c.act(k, func(tx event.Tx, t work.Task) error {
		b, err := c.Work.TaskByKey(tx, worker(k.who), key)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.Invalid, "there is no task with this key")
		}
		if err != nil {
			return err
		}
		_, err = c.Work.AddBlocker(tx, worker(k.who), id.Nil, t.ID, b.ID)
		return err
	}, func(_ work.Task, why ui.Refusal) redo {
		return redo{block: ui.BlockForm{Key: key, Error: why.Text + after(" ", why.Fix)}}
	})
}

// unblockTask lets a task wait for another no more.
func (c *Console) unblockTask(k *call) error {
	return c.act(k, func(tx event.Tx, t work.Task) error {
		b, err := id.Parse(k.r.PostForm.Get("blocker"))
		if err != nil {
			return fault.New(fault.Invalid, "that names no task")
		}
		_, err = c.Work.DropBlocker(tx, worker(k.who), id.Nil, t.ID, b)
		return err
	}, func(_ work.Task, why ui.Refusal) redo { return redo{refused: &why} })
}

// act does one thing to a task and goes back to its page, or shows there why not.
func (c *Console) act(k *call, do func(tx event.Tx, t work.Task) error, again func(work.Task, ui.Refusal) redo) error {
	var t work.Task
	err := c.change(k.ctx, func(tx event.Tx) (err error) {
		if t, err = c.taskIn(k, tx); err != nil {
			return err
		}
		return do(tx, t)
	})
	if err == nil {
		k.see(taskPath(t))
		return nil
	}
	if !refused(err) || t.ID.IsZero() {
		return err
	}
	msg, _, fix := fault.Public(err)
	p := again(t, ui.Refusal{Key: t.Key(), Text: sentence(msg), Fix: sentence(fix)})
	if p.status = fault.EdgeOf(fault.KindOf(err)).HTTP; p.status == 0 {
		p.status = http.StatusConflict
	}
	return c.taskPage(k, p)
}
