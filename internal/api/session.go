package api

import (
	"context"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

func (a *API) sessionRoutes() []Route {
	return []Route{
		on("POST", "/api/v1/setup", identity.ActSetupClaim, "Become the first owner with the one-time setup code and a password.", a.claim, status(http.StatusCreated), atMost(16<<10)),
		on("POST", "/api/v1/reset", identity.ActResetUse, "Set a password with a reset link's code.", a.reset, atMost(16<<10)),
		on("POST", "/api/v1/session", identity.ActSignIn, "Sign in by password; the session comes as a cookie.", a.signIn, status(http.StatusCreated), atMost(16<<10)),
		on("GET", "/api/v1/session", identity.ActSelfRead, "Who is acting.", a.whoAmI),
		on("DELETE", "/api/v1/session", identity.ActSignOut, "Sign out.", a.signOut),
		on("POST", "/api/v1/session/verify", identity.ActStepUp, "Prove oneself again by password, inside a session.", a.verifyPassword, atMost(16<<10)),
		on("GET", "/api/v1/sessions", identity.ActSelfRead, "One's own live sessions, newest first.", a.listSessions),
		on("DELETE", "/api/v1/sessions/{id}", identity.ActSessionRevoke, "End one of one's own sessions.", a.revokeSession),
	}
}

// whoView is a principal.
type whoView struct {
	PersonID   id.ID     `json:"personId,omitzero"` // nobody's, for the machine before setup
	Name       string    `json:"name"`
	SignIn     string    `json:"signInName"`
	Role       string    `json:"role"` // owner, operator, viewer; already narrowed, for a token
	Via        string    `json:"via"`  // session, token, machine
	VerifiedAt time.Time `json:"verifiedAt,omitzero"`
	Account    id.ID     `json:"account"`
}

func viewWho(p identity.Principal) whoView {
	return whoView{PersonID: p.PersonID, Name: p.Name, SignIn: p.SignIn, Role: string(p.Role), Via: string(p.Via), VerifiedAt: p.VerifiedAt, Account: p.Account}
}

// welcome sets the session cookie and says who is in.
func (a *API) welcome(c *call, in identity.SignedIn) whoView {
	c.w.Header().Add("Set-Cookie", identity.SessionCookie(a.https(c.r), in, a.Clock.Now()).Header())
	return viewWho(in.Principal)
}

type claimIn struct {
	Body struct {
		Code     string `json:"code" required:"true"`
		Name     string `json:"name" required:"true"`
		SignIn   string `json:"signInName" required:"true"`
		Password string `json:"password" required:"true"`
	}
}

func (a *API) claim(ctx context.Context, c *call, in claimIn) (whoView, error) {
	b := in.Body
	out, err := a.Identity.ClaimWithPassword(ctx, a.Account, identity.Claim{Code: secret.New(b.Code), Name: b.Name, SignIn: b.SignIn, Client: a.client(c.r)}, secret.New(b.Password))
	if err != nil {
		return whoView{}, err
	}
	return a.welcome(c, out), nil
}

type resetIn struct {
	Body struct {
		Code     string `json:"code" required:"true"`
		Password string `json:"password" required:"true"`
	}
}

func (a *API) reset(ctx context.Context, c *call, in resetIn) (whoView, error) {
	out, err := a.Identity.ResetWithPassword(ctx, a.Account, secret.New(in.Body.Code), secret.New(in.Body.Password), a.client(c.r))
	if err != nil {
		return whoView{}, err
	}
	return a.welcome(c, out), nil
}

type signInIn struct {
	Body struct {
		SignIn   string `json:"signInName" required:"true"`
		Password string `json:"password" required:"true"`
	}
}

func (a *API) signIn(ctx context.Context, c *call, in signInIn) (whoView, error) {
	out, err := a.Identity.SignIn(ctx, a.Account, in.Body.SignIn, secret.New(in.Body.Password), a.client(c.r))
	if err != nil {
		return whoView{}, err
	}
	return a.welcome(c, out), nil
}

func (a *API) whoAmI(_ context.Context, c *call, _ none) (whoView, error) { return viewWho(c.who), nil }

func (a *API) signOut(ctx context.Context, c *call, _ none) (none, error) {
	if c.who.Via != identity.ViaSession {
		return none{}, fault.New(fault.Conflict, "there is no session to end").WithFix("a token ends with DELETE /api/v1/tokens/{id}")
	}
	if err := a.Identity.SignOut(ctx, a.Account, c.who); err != nil {
		return none{}, err
	}
	c.w.Header().Add("Set-Cookie", identity.ClearCookie(a.https(c.r)).Header())
	return none{}, nil
}

type passwordIn struct {
	Body struct {
		Password string `json:"password" required:"true"`
	}
}

func (a *API) verifyPassword(ctx context.Context, c *call, in passwordIn) (whoView, error) {
	p, err := a.Identity.VerifyPassword(ctx, a.Account, c.who, secret.New(in.Body.Password), a.client(c.r))
	return viewWho(p), err
}

type sessionView struct {
	ID         id.ID     `json:"id"`
	How        string    `json:"how"` // password, passkey, setup, reset
	Address    string    `json:"address"`
	Agent      string    `json:"agent"` // what the browser says of itself
	CreatedAt  time.Time `json:"createdAt"`
	SeenAt     time.Time `json:"seenAt"` // to the hour
	VerifiedAt time.Time `json:"verifiedAt"`
	EndsAt     time.Time `json:"endsAt"`
	Own        bool      `json:"own"` // the one that asks
}

func (a *API) listSessions(ctx context.Context, c *call, _ none) (list[sessionView], error) {
	all, err := a.Identity.ListSessions(ctx, a.Account, c.who, c.who.PersonID)
	return listOf(all, func(s identity.Session) sessionView {
		return sessionView{ID: s.ID, How: s.How, Address: s.Address, Agent: s.Agent, CreatedAt: s.CreatedAt, SeenAt: s.SeenAt,
			VerifiedAt: s.VerifiedAt, EndsAt: s.EndsAt, Own: s.ID == c.who.SessionID}
	}), err
}

// idIn is the input of a route about one thing.
type idIn struct {
	ID id.ID `path:"id"`
}

func (a *API) revokeSession(ctx context.Context, c *call, in idIn) (none, error) {
	return none{}, a.Identity.RevokeSession(ctx, a.Account, c.who, c.who.PersonID, in.ID)
}
