package console

import (
	"net/http"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

func (c *Console) resetView(k *call, code string) (ui.ResetView, error) {
	v := ui.ResetView{Head: c.head(k, "Set a password"), Address: c.origin(k.r), Code: code, MinPassword: identity.MinPassword, Errors: map[string]string{}}
	info, err := c.Identity.LookLink(k.ctx, c.Account, identity.LinkReset, secret.New(code))
	switch {
	case fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.Invalid):
		v.Gone = true
		return v, nil
	case err != nil:
		return v, err
	}
	v.Name, v.SignInName, v.EndsIn = info.Name, info.SignIn, span(info.ExpiresAt.Sub(k.now))
	return v, nil
}

func (c *Console) resetPage(k *call) error {
	v, err := c.resetView(k, k.r.URL.Query().Get("code"))
	if err != nil {
		return err
	}
	c.send(k, http.StatusOK, ui.Reset(v))
	return nil
}

func (c *Console) reset(k *call) error {
	f := k.r.PostForm
	var in identity.SignedIn
	var err error
	if f.Get("password") != f.Get("password2") {
		err = fault.New(fault.Invalid, "the two passwords are not the same").On("password2")
	} else {
		in, err = c.Identity.ResetWithPassword(k.ctx, c.Account, secret.New(f.Get("code")), secret.New(f.Get("password")), c.client(k.r))
	}
	if err == nil {
		c.welcome(k, in, "/inbox")
		return nil
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Unauthorized) {
		return err
	}
	v, verr := c.resetView(k, f.Get("code"))
	if verr != nil {
		return verr
	}
	msg, field, fix := fault.Public(err)
	v.Errors[formField(field)] = sentence(msg) + after(" ", sentence(fix))
	c.send(k, fault.EdgeOf(fault.KindOf(err)).HTTP, ui.Reset(v))
	return nil
}
