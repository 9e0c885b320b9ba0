package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/witan-run/witan/internal/api/client"
	"github.com/witan-run/witan/internal/kit/fault"
)

// chatCmd talks to an agent.
type chatCmd struct {
	Message string `short:"m" help:"Say one thing, wait for the answer, and end." placeholder:"TEXT"`
	Thread  string `help:"Go on in this thread." placeholder:"ID"`
	Agent   string `help:"Talk to this agent." placeholder:"NAME"`
	Wait    int    `help:"Seconds to wait for an answer." default:"120"`
}

func (c *chatCmd) Help() string {
	return `  witan chat -m "remember that the office closes at six"
  witan chat                       (one line at a time; end with Ctrl-D)`
}

type accepted struct {
	MessageID string `json:"messageId"`
	ThreadID  string `json:"threadId"`
}

type answer struct {
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Answers []struct {
		Text    string `json:"text"`
		IsError bool   `json:"isError"`
	} `json:"answers"`
}

// Run implements the command.
func (c *chatCmd) Run(s *session) error {
	cl, err := s.client()
	if err != nil {
		return err
	}
	if c.Message != "" {
		return c.say(s, cl, c.Message)
	}
	in := bufio.NewScanner(s.in)
	in.Buffer(make([]byte, 64<<10), 1<<20)
	for {
		fmt.Fprint(s.err, "you> ")
		if !in.Scan() {
			fmt.Fprintln(s.err)
			return in.Err()
		}
		if strings.TrimSpace(in.Text()) == "" {
			continue
		}
		if err := c.say(s, cl, in.Text()); err != nil {
			if s.ctx.Err() != nil {
				return err
			}
			s.report(err) // one failed line does not end the talk
		}
	}
}

func (c *chatCmd) say(s *session, cl *client.Client, text string) error {
	var a accepted
	in := map[string]any{"text": text, "channel": "cli"}
	if c.Thread != "" {
		in["threadId"] = c.Thread
	}
	if c.Agent != "" {
		in["agent"] = c.Agent
	}
	if err := cl.Do(s.ctx, "POST", "/api/v1/messages", in, &a); err != nil {
		return err
	}
	c.Thread = a.ThreadID
	var got answer
	asked := false
	for left := c.Wait; left > 0; left -= 20 {
		if err := cl.Do(s.ctx, "GET", fmt.Sprintf("/api/v1/messages/%s?wait=%d", url.PathEscape(a.MessageID), min(left, 20)), nil, &got); err != nil {
			return err
		}
		if len(got.Answers) > 0 || got.State == "held" || got.State == "rejected" {
			break
		}
		if !asked {
			asked = true
			fmt.Fprintln(s.err, "waiting… (witan inbox shows whether a person is needed)")
		}
	}
	switch {
	case s.globals.JSON:
		return cl.Do(s.ctx, "GET", "/api/v1/messages/"+url.PathEscape(a.MessageID), nil, nil)
	case got.State == "held" || got.State == "rejected":
		return fault.New(fault.Denied, "the message was %s: %s", got.State, got.Reason)
	case len(got.Answers) == 0:
		return fault.New(fault.Timeout, "no answer within %d seconds; it will stand in thread %s", c.Wait, a.ThreadID)
	}
	for _, x := range got.Answers {
		if err := s.say("%s", x.Text); err != nil {
			return err
		}
		if x.IsError {
			err := fault.New(fault.Unavailable, "the agent could not do it")
			return err
		}
	}
	return nil
}

// inboxCmd shows what needs a person.
type inboxCmd struct{}

type approvalView struct {
	ID        string            `json:"id"`
	Key       string            `json:"key"`
	State     string            `json:"state"`
	Title     string            `json:"title"`
	Skill     string            `json:"skill"`
	Actor     string            `json:"actor"`
	Risk      string            `json:"risk"`
	Rule      string            `json:"rule"`
	Digest    string            `json:"digest"`
	Reasons   []string          `json:"reasons"`
	ExpiresAt string            `json:"expiresAt"`
	Arguments map[string]any    `json:"arguments"`
	Extra     map[string]string `json:"-"`
}

type inboxView struct {
	Approvals []approvalView `json:"approvals"`
	Held      []struct {
		ID     string `json:"id"`
		Sender string `json:"sender"`
		Reason string `json:"reason"`
		Text   string `json:"text"`
	} `json:"held"`
	Effects []struct {
		ID     string `json:"id"`
		Skill  string `json:"skill"`
		State  string `json:"state"`
		Reason string `json:"reason"`
	} `json:"effects"`
}

// Run implements the command.
func (c *inboxCmd) Run(s *session) error {
	return call(s, "GET", "/api/v1/inbox", nil, func(v inboxView) error {
		var rows [][]string
		for _, a := range v.Approvals {
			title := a.Title
			if title == "" {
				title = a.Skill
			}
			rows = append(rows, []string{a.Key, a.Risk, title, a.Actor, a.Rule})
		}
		for _, h := range v.Held {
			rows = append(rows, []string{h.ID, "held", clip(h.Text, 60), h.Sender, h.Reason})
		}
		for _, e := range v.Effects {
			rows = append(rows, []string{e.ID, e.State, e.Skill, "", e.Reason})
		}
		return s.table("Nothing needs you.", []string{"ID", "RISK", "WHAT", "WHO", "WHY"}, rows)
	})
}

func clip(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// approveCmd allows one exact call.
type approveCmd struct {
	Approval string `arg:"" help:"Key or id of the approval, like AP-3."`
	Digest   string `help:"Refuse unless the call is still this one." placeholder:"HEX"`
	Yes      bool   `short:"y" help:"Do not show the call and ask first."`
}

func (c *approveCmd) Help() string {
	return `Shows the exact call and asks before it says yes. The answer binds to what was
shown: if the call changed meanwhile, nothing is allowed.`
}

// Run implements the command.
func (c *approveCmd) Run(s *session) error {
	return answerApproval(s, c.Approval, c.Digest, c.Yes, map[string]any{"answer": "allow", "scope": "once"})
}

// denyCmd denies a call.
type denyCmd struct {
	Approval string `arg:"" help:"Key or id of the approval, like AP-3."`
	Reason   string `help:"Why not; the agent is told." placeholder:"TEXT"`
}

// Run implements the command.
func (c *denyCmd) Run(s *session) error {
	return answerApproval(s, c.Approval, "", true, map[string]any{"answer": "deny", "reason": c.Reason})
}

func answerApproval(s *session, approval, digest string, yes bool, in map[string]any) error {
	cl, err := s.client()
	if err != nil {
		return err
	}
	var a approvalView
	if err := cl.Do(s.ctx, "GET", "/api/v1/approvals/"+url.PathEscape(approval), nil, &a); err != nil {
		return err
	}
	if digest != "" && !strings.HasPrefix(a.Digest, digest) {
		return fault.New(fault.Conflict, "the call is another one now: %s", a.Digest)
	}
	if !yes {
		fmt.Fprintf(s.err, "%s  %s  %s (risk %s, %s)\n", a.Key, a.Actor, a.Skill, a.Risk, a.Rule)
		for k, v := range a.Arguments {
			fmt.Fprintf(s.err, "  %s = %v\n", k, v)
		}
		fmt.Fprint(s.err, "Allow exactly this call? [y/N] ")
		line, err := bufio.NewReader(s.in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if w := strings.ToLower(strings.TrimSpace(line)); w != "y" && w != "yes" {
			return s.say("Nothing was allowed.")
		}
	}
	in["digest"] = a.Digest
	return call(s, "POST", "/api/v1/approvals/"+url.PathEscape(a.ID)+"/answer", in, func(v approvalView) error {
		return s.say("%s is %s.", v.Key, v.State)
	})
}

// haltCmd stops things.
type haltCmd struct {
	Scope  string `arg:"" optional:"" default:"account" help:"account, agent:NAME or workspace:ID."`
	Reason string `help:"Why; it stands in the journal." placeholder:"TEXT"`
}

// Run implements the command.
func (c *haltCmd) Run(s *session) error {
	return call(s, "POST", "/api/v1/halt", map[string]string{"scope": c.Scope, "reason": c.Reason}, func(map[string]any) error {
		return s.say("%s is halted. Nothing new leaves. Lift it with: witan resume %s", c.Scope, c.Scope)
	})
}

// resumeCmd lifts a stop.
type resumeCmd struct {
	Scope string `arg:"" optional:"" default:"account" help:"account, agent:NAME or workspace:ID."`
}

// Run implements the command.
func (c *resumeCmd) Run(s *session) error {
	return call(s, "DELETE", "/api/v1/halt?scope="+url.QueryEscape(c.Scope), nil, func(map[string]any) error {
		return s.say("%s goes on.", c.Scope)
	})
}

// releaseCmd lets go on what is held.
type releaseCmd struct{}

// Help implements kong.HelpProvider.
func (releaseCmd) Help() string {
	return `A restore holds all work of the past, because it may have been done after the
backup was made. Look at the Inbox first. Effects are not let go by this: each
waits there for its own answer. Runs and deliveries that were held because they
failed time after time are tried again.`
}

// Run implements the command.
func (c *releaseCmd) Run(s *session) error {
	return call(s, "POST", "/api/v1/held-work/release", nil, func(v struct{ Work, Timers int64 }) error {
		return s.say("%d runs and deliveries and %d timers go on. Effects wait for their own answers in the Inbox.", v.Work, v.Timers)
	})
}
