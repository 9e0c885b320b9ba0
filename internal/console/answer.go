package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// answer takes a person's answer to one call: it holds for exactly the call whose
// digest the form carries.
func (c *Console) answer(k *call) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	f := k.r.PostForm
	var a policy.Approval
	var entry manifest.Entry
	if err := c.view(k, func(r *reader) (err error) {
		if a, err = r.Policy.GetApproval(r.tx, on); err != nil {
			return err
		}
		entry, err = r.entry(a.Request.Manifest)
		return err
	}); err != nil {
		return err
	}
	saw, _ := strconv.ParseInt(f.Get("version"), 10, 64)
	req := policy.AnswerRequest{Approval: on, Digest: f.Get("digest"), Via: policy.ViaConsole}
	refused := pressed{on: on}
	switch f.Get("answer") {
	case "allow":
		req.Answer = policy.AnswerAllow
	case "deny":
		req.Answer, req.Reason = policy.AnswerDeny, reasonText(f.Get("reason"), f.Get("text"))
	case "edit":
		req.Answer = policy.AnswerEdit
		refused.args = typedArgs(f)
		var bad map[string]string
		if req.Arguments, bad, err = editedArguments(entry.Manifest.Input, a.Request.Arguments, f); err != nil {
			return err
		}
		if len(bad) > 0 {
			refused.status, refused.fields = http.StatusUnprocessableEntity, bad
			return c.inboxPage(k, refused)
		}
	case "grant":
		req.Answer, req.Scope = policy.AnswerAllow, policy.ScopeGrant
		refused.grant = f
		narrow, err := policy.NarrowestGrant(a.Request)
		if err != nil {
			return err
		}
		spec, err := grantSpec(narrow, targetPointer(a.Request, narrow), f, k.now)
		if err != nil {
			msg, _, fix := fault.Public(err)
			refused.status, refused.scope = http.StatusUnprocessableEntity, sentence(msg)+after(" ", sentence(fix))
			return c.inboxPage(k, refused)
		}
		req.Grant = &spec
	default:
		return fault.New(fault.Invalid, "say allow, deny, edit or grant").On("answer")
	}
	if req.Answer == policy.AnswerAllow && riskOf(a).High() && a.Digest == req.Digest {
		if why := c.prove(k, a, f.Get("stepup"), f.Get("password")); why != "" {
			refused.status, refused.err = http.StatusForbidden, why
			return c.inboxPage(k, refused)
		}
	}
	_, err = c.Policy.Answer(k.ctx, c.Account, k.who.PersonID, req)
	if err != nil {
		return c.refusedAnswer(k, err, refused, saw, req, a)
	}
	to := "/inbox/" + on.String()
	if back := k.back(to); strings.HasPrefix(back, "/chat/") {
		to = back
	}
	k.see(to)
	return nil
}

// prove makes sure of the person behind a call of high risk: the token of a passkey
// that was given for this very call, or the password now. It returns why not.
func (c *Console) prove(k *call, a policy.Approval, token, password string) string {
	if token != "" && c.StepUp != nil {
		if c.StepUp(k.who, a.ID, a.Digest, token) == nil {
			return ""
		}
		return "Nothing ran. The passkey was given for another call, or too long ago."
	}
	if password == "" {
		return "Nothing ran. At this risk you prove that it is you: give your passkey or password beside Allow."
	}
	who, err := c.Identity.VerifyPassword(k.ctx, c.Account, k.who, secret.New(password), c.client(k.r))
	if err != nil {
		var refused *identity.SignInError
		if errors.As(err, &refused) && refused.Until.After(k.now) {
			return "Nothing ran. Too many wrong passwords; try again in " + span(refused.Until.Sub(k.now)) + "."
		}
		return "Nothing ran. That password is wrong."
	}
	k.who = who
	return ""
}

// refusedAnswer shows the item again with what was refused.
func (c *Console) refusedAnswer(k *call, err error, p pressed, saw int64, req policy.AnswerRequest, old policy.Approval) error {
	var live *policy.LiveError
	msg, field, fix := fault.Public(err)
	text := sentence(msg) + after(" ", sentence(fix))
	switch {
	case errors.As(err, &live):
		p.status, p.args, p.grant = http.StatusConflict, nil, nil
		p.stale = &staleness{saw: saw, old: old}
	case fault.Is(err, fault.Invalid) && req.Answer == policy.AnswerEdit:
		p.status = http.StatusUnprocessableEntity
		name, _, _ := strings.Cut(strings.TrimPrefix(field, "/"), "/")
		if name == "" {
			p.err = text
		} else {
			p.fields = map[string]string{name: text}
		}
	case fault.Is(err, fault.Invalid) && req.Scope == policy.ScopeGrant:
		p.status, p.scope = http.StatusUnprocessableEntity, text
	case fault.Is(err, fault.Denied) && req.Answer == policy.AnswerEdit:
		p.status, p.err = http.StatusForbidden, text
	default:
		return err
	}
	return c.inboxPage(k, p)
}

func reasonText(chip, text string) string {
	text = strings.TrimSpace(unbreak(text))
	if chip != "" && text != "" {
		return chip + ". " + text
	}
	return chip + text
}

func typedArgs(f map[string][]string) map[string]string {
	out := map[string]string{}
	for n, v := range f {
		if name, ok := strings.CutPrefix(n, "arg."); ok && len(v) > 0 {
			out[name] = unbreak(v[0])
		}
	}
	return out
}

// undo takes an answer back before it takes effect.
func (c *Console) undo(k *call) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	_, err = c.Policy.Withdraw(k.ctx, c.Account, k.who.PersonID, on)
	var live *policy.LiveError
	if errors.As(err, &live) {
		return c.inboxPage(k, pressed{status: http.StatusConflict, on: on, err: "Too late to take it back: " + sentence(msgOf(err))})
	}
	if err != nil {
		return err
	}
	k.see("/inbox/" + on.String())
	return nil
}

func msgOf(err error) string {
	msg, _, _ := fault.Public(err)
	return msg
}

// stepUpWay is how this person can prove themselves here: passkey, password, or ""
// if they have neither (then nothing of high risk can be allowed by them).
func (c *Console) stepUpWay(k *call) (string, error) {
	if place := c.place(k.r); place.OK {
		keys, err := c.Identity.ListPasskeys(k.ctx, c.Account, k.who, k.who.PersonID)
		if err != nil {
			return "", err
		}
		for _, p := range keys {
			if p.Host == place.Host {
				return "passkey", nil
			}
		}
	}
	return "password", nil
}

// unpark lets a parked stream go on, or gives its event up.
func (c *Console) unpark(k *call) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	skip := false
	switch k.r.PostForm.Get("act") {
	case "again":
	case "skip":
		skip = true
	default:
		return fault.New(fault.Invalid, "say again or skip").On("act")
	}
	var subscriber string
	var stream id.ID
	if err := c.Journal.View(k.ctx, c.Account, func(tx event.Tx) error {
		list, err := c.Record.Parked(tx, perKind)
		for _, p := range list {
			if p.Event == on && p.Subscriber == k.r.PostForm.Get("subscriber") {
				subscriber, stream = p.Subscriber, p.Stream
			}
		}
		return err
	}); err != nil {
		return err
	}
	if subscriber == "" {
		return fault.New(fault.Conflict, "it goes on already")
	}
	if err := c.Unpark(k.ctx, c.Account, k.who.By(), subscriber, stream, skip); err != nil {
		return err
	}
	k.see("/inbox")
	return nil
}
