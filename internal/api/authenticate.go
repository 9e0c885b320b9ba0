package api

import (
	"net/http"
	"strings"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// HeaderAs names, over the local socket only, the person to act as: a sign-in
// name. Without it the only active owner acts.
const HeaderAs = "Witan-As"

// Authenticate says who sends a request: a bearer token, else a session cookie,
// or whoever may open the local socket. Nobody is the zero Principal; a
// credential that does not work is fault.Unauthorized.
func (a *API) Authenticate(r *http.Request) (identity.Principal, error) { return a.identify(r, false) }

func (a *API) identify(r *http.Request, queryToken bool) (identity.Principal, error) {
	ctx := r.Context()
	if isLocal(ctx) {
		return a.Identity.Local(ctx, a.Account, r.Header.Get(HeaderAs))
	}
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, token, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return identity.Principal{}, fault.New(fault.Unauthorized, "only bearer tokens are taken").On("Authorization").WithFix("send Authorization: Bearer TOKEN")
		}
		return a.Identity.Authenticate(ctx, a.Account, identity.TokenProof(secret.New(strings.TrimSpace(token))))
	}
	if queryToken {
		if token := r.URL.Query().Get("token"); token != "" {
			return a.Identity.Authenticate(ctx, a.Account, identity.TokenProof(secret.New(token)))
		}
	}
	if s := a.session(r); !s.Empty() {
		return a.Identity.Authenticate(ctx, a.Account, identity.SessionProof(s))
	}
	return identity.Principal{}, nil
}

// byCookie reports whether a request can only speak through what a browser
// attaches by itself.
func byCookie(r *http.Request, queryToken bool) bool {
	return !isLocal(r.Context()) && r.Header.Get("Authorization") == "" && !(queryToken && r.URL.Query().Has("token"))
}

// session returns the secret in the session cookie, if there is one.
func (a *API) session(r *http.Request) secret.String {
	c, err := r.Cookie(identity.CookieName(a.https(r)))
	if err != nil {
		return secret.String{}
	}
	return secret.New(c.Value)
}

// client is where a request came from, for limits and for the list of sessions.
func (a *API) client(r *http.Request) identity.Client {
	address := r.RemoteAddr
	if a.Remote != nil {
		address = a.Remote(r)
	}
	return identity.Client{Address: address, Agent: r.UserAgent(), Session: a.session(r)}
}
