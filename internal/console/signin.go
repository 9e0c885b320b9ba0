package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

const resetCommand = "witan people reset-link NAME"

// origin is the address of this page as the browser sees it.
func (c *Console) origin(r *http.Request) string {
	if c.https(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// place says whether a passkey can be used at the address of this page.
func (c *Console) place(r *http.Request) ui.PasskeyPlace {
	p := c.Identity.PlaceAt(c.origin(r))
	return ui.PasskeyPlace{OK: p.OK, Host: p.Host, Why: p.Why, Better: p.Better}
}

func (c *Console) signInView(k *call, back string) ui.SignInView {
	v := ui.SignInView{Head: c.head(k, "Sign in"), Address: c.origin(k.r), Back: back, Passkey: c.place(k.r), ResetCommand: resetCommand}
	v.BackName = placeName(back)
	return v
}

// placeName is the name of the page that somebody comes back to.
func placeName(back string) string {
	u, err := url.Parse(back)
	if err != nil {
		return ""
	}
	for _, p := range []ui.Place{ui.PlaceInbox, ui.PlaceChat, ui.PlaceJournal} {
		if u.Path == p.Href() || len(u.Path) > len(p.Href()) && u.Path[:len(p.Href())+1] == p.Href()+"/" {
			return p.Label()
		}
	}
	return ""
}

func (c *Console) signInPage(k *call) error {
	back := local(k.r.URL.Query().Get("back"), "/inbox")
	if !k.who.IsZero() {
		k.see(back)
		return nil
	}
	v := c.signInView(k, back)
	account, err := c.Identity.GetAccount(k.ctx, c.Account)
	if err != nil {
		return err
	}
	if account.SetupClosedAt.IsZero() {
		v.Why = "Nobody owns this instance yet. Open the link that witan serve printed on this machine."
	}
	if !c.session(k.r).Empty() {
		v.Why = "Your session has ended."
	}
	c.send(k, http.StatusOK, ui.SignIn(v))
	return nil
}

func (c *Console) signIn(k *call) error {
	f := k.r.PostForm
	back := local(f.Get("back"), "/inbox")
	in, err := c.Identity.SignIn(k.ctx, c.Account, f.Get("signInName"), secret.New(f.Get("password")), c.client(k.r))
	if err != nil {
		var refused *identity.SignInError
		if !errors.As(err, &refused) && !fault.Is(err, fault.Invalid) {
			return err
		}
		v := c.signInView(k, back)
		v.SignInName = f.Get("signInName")
		v.Error = "That pair is wrong."
		status := http.StatusUnauthorized
		if refused != nil && refused.Left > 0 {
			v.Error += " " + plural(int(refused.Left), "try is", "tries are") + " left."
		}
		if refused != nil && refused.Until.After(k.now) {
			status = http.StatusTooManyRequests
			v.Wait = span(refused.Until.Sub(k.now))
		}
		c.send(k, status, ui.SignIn(v))
		return nil
	}
	c.welcome(k, in, back)
	return nil
}

// welcome puts the fresh session into the cookie and goes on.
func (c *Console) welcome(k *call, in identity.SignedIn, to string) {
	k.w.Header().Add("Set-Cookie", identity.SessionCookie(c.https(k.r), in, k.now).Header())
	k.see(to)
}

func (c *Console) signOut(k *call) error {
	if err := c.Identity.SignOut(k.ctx, c.Account, k.who); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	k.w.Header().Add("Set-Cookie", identity.ClearCookie(c.https(k.r)).Header())
	k.w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	k.see("/signin")
	return nil
}

// preferences keeps the theme in a cookie: it is the browser's, not the person's.
func (c *Console) preferences(k *call) error {
	cookie := http.Cookie{Name: themeCookie, Path: "/", MaxAge: 400 * 24 * 3600, Secure: c.https(k.r), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	switch t := k.r.PostForm.Get("theme"); t {
	case "light", "dark":
		cookie.Value = t
	case "":
		cookie.MaxAge = -1
	default:
		return fault.New(fault.Invalid, "a theme is light, dark or the system's own").On("theme")
	}
	http.SetCookie(k.w, &cookie)
	k.see(k.back("/inbox"))
	return nil
}

func (c *Console) halt(k *call) error {
	if err := c.Policy.Halt(k.ctx, c.Account, k.who.By(), "account", "by the console"); err != nil {
		return err
	}
	k.see(k.back("/inbox"))
	return nil
}

func (c *Console) resume(k *call) error {
	err := c.Policy.Resume(k.ctx, c.Account, k.who.PersonID, "account")
	if err != nil && !fault.Is(err, fault.NotFound) { // somebody else resumed it
		return err
	}
	k.see(k.back("/inbox"))
	return nil
}

func (c *Console) home(k *call) error {
	k.see("/inbox")
	return nil
}
