package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/console/assets"
	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// timeout bounds one page: reading is fast, and a page that is not is a bug.
const timeout = 20 * time.Second

// call is one request on its way through a handler.
type call struct {
	ctx   context.Context //nolint:containedctx // a call is one request and ends with it
	route *Route
	w     http.ResponseWriter
	r     *http.Request
	who   identity.Principal // zero on public pages without a session
	now   time.Time
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", assets.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if _, pattern := c.mux.Handler(r); pattern == "" {
		c.lost(w, r)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// run is the gate in front of every handler: origin, session, act, size.
func (c *Console) run(route *Route, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), timeout, fault.New(fault.Timeout, "the page took too long"))
	defer cancel()
	k := &call{ctx: ctx, route: route, w: w, r: r, now: c.Clock.Now()}
	if err := c.cross.Check(r); err != nil {
		c.refuse(k, fault.New(fault.Denied, "another site sent this").WithFix("open Witan itself and try there"))
		return
	}
	who, err := c.authenticate(k)
	if err != nil && !fault.Is(err, fault.Unauthorized) {
		c.refuse(k, err)
		return
	}
	k.who = who
	if err := identity.Authorize(k.who, route.Act, k.now); err != nil {
		if fault.Is(err, fault.Unauthorized) {
			c.toSignIn(k)
			return
		}
		c.refuse(k, err)
		return
	}
	if r.Method == http.MethodPost {
		limit := route.Cap
		if limit == 0 {
			limit = capForm
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		if err := parseForm(r); err != nil {
			c.refuse(k, err)
			return
		}
	}
	if err := route.serve(k); err != nil {
		c.refuse(k, err)
	}
}

// parseForm reads a body of one kind only. A form of another type could be sent
// from elsewhere without a question by the browser.
func parseForm(r *http.Request) error {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if media = strings.TrimSpace(strings.ToLower(media)); media != "application/x-www-form-urlencoded" && r.ContentLength != 0 {
		return fault.New(fault.Invalid, "only plain forms are taken here").On("Content-Type")
	}
	if err := r.ParseForm(); err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return fault.New(fault.Limited, "the form has more than %d bytes", big.Limit)
		}
		return fault.New(fault.Invalid, "the form cannot be read")
	}
	return nil
}

// https reports whether the browser sees this request as secure: TLS here, or in
// front of us at the public address.
func (c *Console) https(r *http.Request) bool {
	return r.TLS != nil || c.public.Scheme == "https" && strings.EqualFold(r.Host, c.public.Host)
}

func (c *Console) session(r *http.Request) secret.String {
	k, err := r.Cookie(identity.CookieName(c.https(r)))
	if err != nil {
		return secret.String{}
	}
	return secret.New(k.Value)
}

func (c *Console) authenticate(k *call) (identity.Principal, error) {
	s := c.session(k.r)
	if s.Empty() {
		return identity.Principal{}, nil
	}
	return c.Identity.Authenticate(k.ctx, c.Account, identity.SessionProof(s))
}

func (c *Console) client(r *http.Request) identity.Client {
	address := r.RemoteAddr
	if c.Remote != nil {
		address = c.Remote(r)
	}
	return identity.Client{Address: address, Agent: r.UserAgent(), Session: c.session(r)}
}

// toSignIn sends somebody who is not signed in to the door, and back afterwards.
// A script that re-fetches a region learns it by the status.
func (c *Console) toSignIn(k *call) {
	if k.r.Header.Get("X-Witan-Region") != "" {
		k.w.WriteHeader(http.StatusUnauthorized)
		return
	}
	back := k.r.URL.RequestURI()
	if k.r.Method != http.MethodGet {
		back = refererPath(k.r)
	}
	to := "/signin"
	if back != "" && back != "/" {
		to += "?back=" + url.QueryEscape(back)
	}
	k.see(to)
}

// refererPath is the page that a form was on; "" if it does not say.
func refererPath(r *http.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host {
		return ""
	}
	return u.RequestURI()
}

// see answers a form: go and look there.
func (k *call) see(to string) {
	k.w.Header().Set("Cache-Control", "no-store")
	k.w.Header().Set("Location", to)
	k.w.WriteHeader(http.StatusSeeOther)
}

// local keeps a path that a form names on this origin.
func local(path, otherwise string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return otherwise
	}
	return path
}

func (k *call) back(otherwise string) string { return local(k.r.PostForm.Get("back"), otherwise) }

// pathID reads the id in the path; one that is none names nothing.
func (k *call) pathID() (id.ID, error) {
	v, err := id.Parse(k.r.PathValue("id"))
	if err != nil {
		return id.Nil, fault.New(fault.NotFound, "there is no such page")
	}
	return v, nil
}

// lost answers an address that is none.
func (c *Console) lost(w http.ResponseWriter, r *http.Request) {
	k := &call{ctx: r.Context(), route: &Route{}, w: w, r: r, now: c.Clock.Now()}
	k.who, _ = c.authenticate(k)
	c.refuse(k, fault.New(fault.NotFound, "there is no such page"))
}

// refuse turns an error into a page. Internal text stays in the log.
func (c *Console) refuse(k *call, err error) {
	kind := fault.KindOf(err)
	msg, _, fix := fault.Public(err)
	status := fault.EdgeOf(kind).HTTP
	if kind == fault.Internal || kind == fault.Corrupt {
		c.Log.ErrorContext(k.ctx, "a page failed", "route", k.route.Path, "error", err)
	}
	if k.r.Header.Get("X-Witan-Region") != "" {
		k.w.WriteHeader(status)
		return
	}
	v := ui.ErrorView{Status: status, What: sentence(msg), Fix: sentence(fix), Back: ui.Link{Text: "Go to the Inbox", Href: "/inbox"}}
	if k.r.Method == http.MethodPost {
		v.DidNot = "Nothing was changed."
	}
	v.Shell = ui.Shell{Head: c.head(k, "Not done")}
	if !k.who.IsZero() {
		if shell, serr := c.shellAlone(k); serr == nil {
			v.Shell = shell
			v.Shell.Head = c.head(k, "Not done")
			v.Shell.Crumbs = []ui.Crumb{{Text: "Not done"}}
		}
	} else {
		v.Back = ui.Link{Text: "Sign in", Href: "/signin"}
	}
	c.send(k, status, ui.Error(v))
}
