package console

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// say takes what a person wrote, into a new thread or one of theirs.
func (c *Console) say(k *call) error {
	var thread id.ID
	if k.r.PathValue("id") != "" {
		var err error
		if thread, err = k.pathID(); err != nil {
			return err
		}
	}
	f := k.r.PostForm
	text := strings.TrimSpace(unbreak(f.Get("text")))
	again := written{thread: thread, text: text, agent: f.Get("agent")}
	if text == "" {
		again.status, again.err = fault.EdgeOf(fault.Invalid).HTTP, "Write something first."
		return c.chatPage(k, again)
	}
	// The same form with the same words is one message, however often it is sent.
	sum := sha256.Sum256([]byte(text))
	got, err := c.Intake.Accept(k.ctx, c.Speak(Said{Account: c.Account, PersonID: k.who.PersonID, Name: k.who.Name, ThreadID: thread,
		Text: text, Agent: f.Get("agent"), Key: clipKey(f.Get("key")) + "-" + hex.EncodeToString(sum[:8])}))
	if kind := fault.KindOf(err); err != nil && (kind == fault.Invalid || kind == fault.Limited || kind == fault.Conflict) {
		again.status = fault.EdgeOf(kind).HTTP
		again.err = sentence(msgOf(err))
		return c.chatPage(k, again)
	}
	if err != nil {
		return err
	}
	k.see("/chat/" + got.ThreadID.String())
	return nil
}

// clipKey bounds what a form may call itself.
func clipKey(s string) string {
	if len(s) > 120 {
		return s[:120]
	}
	return s
}

// cancel ends a run at a person's word.
func (c *Console) cancel(k *call) error {
	run, err := k.pathID()
	if err != nil {
		return err
	}
	err = c.Agents.Cancel(k.ctx, c.Account, k.who.By(), run)
	if err != nil && !fault.Is(err, fault.Conflict) { // it is over already: nothing to cancel
		return err
	}
	back := refererPath(k.r)
	if !strings.HasPrefix(back, "/chat/") {
		back = "/chat"
	}
	k.see(back)
	return nil
}
