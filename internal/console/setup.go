package console

import (
	"encoding/json"
	"net/http"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// setupView fills the first page. What exists is told to who holds the code.
func (c *Console) setupView(k *call, code string) (ui.SetupView, error) {
	v := ui.SetupView{Head: c.head(k, "Claim this instance"), Code: code, Errors: map[string]string{}, Passkey: c.place(k.r),
		MinPassword: identity.MinPassword, Version: c.Version, Instance: short(c.Account.String())}
	info, err := c.Identity.LookLink(k.ctx, c.Account, identity.LinkSetup, secret.New(code))
	switch {
	case fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.Invalid):
		v.Errors["code"] = "This link was used, has ended, or was never one. Start witan serve again, or read the code in the data folder."
		return v, nil
	case err != nil:
		return v, err
	}
	v.EndsIn = span(info.ExpiresAt.Sub(k.now))
	v.Where = []ui.KV{{Key: "Data folder", Value: c.Facts.DataFolder, Mono: true}, {Key: "Database", Value: c.Facts.Database},
		{Key: "Address", Value: c.PublicURL, Mono: true}, {Key: "Leaves this machine", Value: "nothing"}}
	v.Keyring, v.BackupCommand = c.Facts.Keyring, c.Facts.Backup
	return v, c.Journal.View(k.ctx, c.Account, func(tx event.Tx) error {
		tip, _, err := c.Record.Head(tx)
		if err != nil {
			return err
		}
		first, err := c.Record.After(tx, 0, most)
		if err != nil {
			return err
		}
		v.Events = int(tip.Seq)
		v.Exists = c.exists(first)
		if len(first) > 0 {
			v.At = c.at(first[0].RecordedAt, k.now)
		}
		return nil
	})
}

// exists tells what the first start made, each with the event that says so.
func (c *Console) exists(first []event.Event) []ui.SetupFact {
	var out []ui.SetupFact
	add := func(icon, name, text string, e event.Event, proven bool) {
		out = append(out, ui.SetupFact{Icon: icon, Name: name, Fact: ui.Fact{Text: text, Ref: ref(e)}, Proven: proven})
	}
	agents, prompts := 0, 0
	var lastAgent, lastPrompt event.Event
	for _, e := range first {
		switch p := e.Payload.(type) {
		case event.AccountCreated:
			add("users", "Account", p.Name, e, false)
		case event.PolicySaved:
			add("shield", "Policy", "version "+grouped(int64(p.Version))+", "+plural(ruleCount(p.New), "rule", "rules"), e, false)
		case event.CatalogueChanged:
			add("layers", "Skills", plural(len(p.Skills), "skill", "skills")+" that ship with Witan", e, false)
		case event.AgentDefined:
			agents, lastAgent = agents+1, e
		case event.PromptSaved:
			prompts, lastPrompt = prompts+1, e
		default: // not shown to a newcomer
		}
	}
	if agents > 0 {
		add("bot", "Agents", plural(agents, "agent", "agents"), lastAgent, false)
	}
	if prompts > 0 {
		add("sparkles", "Prompts", plural(prompts, "prompt", "prompts"), lastPrompt, false)
	}
	return out
}

func (c *Console) setup(k *call) error {
	account, err := c.Identity.GetAccount(k.ctx, c.Account)
	if err != nil {
		return err
	}
	if !account.SetupClosedAt.IsZero() {
		k.see("/signin")
		return nil
	}
	v, err := c.setupView(k, k.r.URL.Query().Get("code"))
	if err != nil {
		return err
	}
	c.send(k, http.StatusOK, ui.Setup(v))
	return nil
}

func (c *Console) claim(k *call) error {
	f := k.r.PostForm
	code := f.Get("code")
	claim := identity.Claim{Code: secret.New(code), Name: f.Get("name"), SignIn: f.Get("signInName"), Client: c.client(k.r)}
	var in identity.SignedIn
	var err error
	if f.Get("password") != f.Get("password2") {
		err = fault.New(fault.Invalid, "the two passwords are not the same").On("password2")
	} else {
		in, err = c.Identity.ClaimWithPassword(k.ctx, c.Account, claim, secret.New(f.Get("password")))
	}
	switch {
	case err == nil:
		c.welcome(k, in, "/inbox")
		return nil
	case fault.Is(err, fault.Conflict):
		k.see("/signin")
		return nil
	case !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Unauthorized) && !fault.Is(err, fault.Limited):
		return err
	}
	v, verr := c.setupView(k, code)
	if verr != nil {
		return verr
	}
	v.Name, v.SignInName = f.Get("name"), f.Get("signInName")
	msg, field, fix := fault.Public(err)
	v.Errors[formField(field)] = sentence(msg) + after(" ", sentence(fix))
	c.send(k, fault.EdgeOf(fault.KindOf(err)).HTTP, ui.Setup(v))
	return nil
}

// formField is the name of the control that a fault's field belongs to.
func formField(field string) string {
	switch field {
	case "signIn":
		return "signInName"
	case "name", "password", "password2", "code":
		return field
	}
	return ""
}

func after(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

// ruleCount counts the rules of a policy document as it was recorded.
func ruleCount(doc []byte) int {
	var d struct {
		Rules      []json.RawMessage `json:"rules"`
		Guardrails []json.RawMessage `json:"guardrails"`
	}
	if json.Unmarshal(doc, &d) != nil {
		return 0
	}
	return len(d.Rules) + len(d.Guardrails)
}
