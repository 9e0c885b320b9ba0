package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/policy"
)

func (a *API) passkeyRoutes() []Route {
	const most = 160 << 10
	return []Route{
		on("POST", "/auth/passkey/register/begin", identity.ActSetupClaim, "First half of coming in with a setup or reset code and a new passkey.", a.registerBegin, atMost(most)),
		on("POST", "/auth/passkey/register/finish", identity.ActSetupClaim, "Second half: the passkey is kept, the session comes as a cookie.", a.registerFinish, atMost(most)),
		on("POST", "/auth/passkey/login/begin", identity.ActSignIn, "First half of signing in by passkey.", a.loginBegin, atMost(most)),
		on("POST", "/auth/passkey/login/finish", identity.ActSignIn, "Second half: the session comes as a cookie.", a.loginFinish, atMost(most)),
		on("POST", "/auth/passkey/stepup/begin", identity.ActStepUp, "First half of proving oneself again, for one call.", a.stepUpBegin, atMost(most)),
		on("POST", "/auth/passkey/stepup/finish", identity.ActStepUp, "Second half: a token that goes with the answer to that call.", a.stepUpFinish, atMost(most)),
		on("GET", "/api/v1/passkeys", identity.ActSelfRead, "One's own passkeys.", a.listPasskeys),
		on("POST", "/api/v1/passkeys/begin", identity.ActCredentials, "First half of adding a passkey to oneself.", a.addBegin, atMost(most)),
		on("POST", "/api/v1/passkeys", identity.ActCredentials, "Second half of adding a passkey to oneself.", a.addFinish, status(http.StatusCreated), atMost(most)),
		on("PATCH", "/api/v1/passkeys/{id}", identity.ActCredentials, "Rename one's own passkey.", a.renamePasskey),
		on("DELETE", "/api/v1/passkeys/{id}", identity.ActCredentials, "Remove one's own passkey.", a.removePasskey),
		on("PUT", "/api/v1/password", identity.ActCredentials, "Set or change one's own password; one's other sessions end.", a.setPassword, atMost(16<<10)),
		on("DELETE", "/api/v1/password", identity.ActCredentials, "Remove one's own password.", a.removePassword),
	}
}

// begun is the first half of a ceremony: the browser gets PublicKey, and a
// cookie that scripts cannot read, with the ceremony's token.
type begun struct {
	PublicKey json.RawMessage `json:"publicKey"`
}

type redirect struct {
	Redirect string `json:"redirect"`
}

const ceremonyCookie = "witan-ceremony"

func (a *API) begin(c *call, cer identity.Ceremony, err error) (begun, error) {
	if err != nil {
		return begun{}, err
	}
	var wrapped begun // what the library made is {publicKey: …} already
	if err := json.Unmarshal(cer.Options, &wrapped); err != nil || len(wrapped.PublicKey) == 0 {
		return begun{}, fault.New(fault.Internal, "a ceremony without options: %w", err)
	}
	a.setCeremony(c, cer.Token.Reveal(), int(identity.CeremonyLife/time.Second))
	return wrapped, nil
}

func (a *API) setCeremony(c *call, value string, age int) {
	http.SetCookie(c.w, &http.Cookie{Name: ceremonyCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: a.https(c.r), SameSite: http.SameSiteStrictMode})
}

// ceremony takes the token that begin left with the browser; it works once.
func (a *API) ceremony(c *call) secret.String {
	k, err := c.r.Cookie(ceremonyCookie)
	if err != nil {
		return secret.String{}
	}
	a.setCeremony(c, "", -1)
	return secret.New(k.Value)
}

type registerBeginIn struct {
	Body struct {
		Code   string `json:"code" required:"true"`
		Name   string `json:"name,omitempty"`
		SignIn string `json:"signInName,omitempty"`
	}
}

// registerBegin takes a setup code, or a reset code: then name and sign-in name
// are the person's and what is sent of them does not count.
func (a *API) registerBegin(ctx context.Context, c *call, in registerBeginIn) (begun, error) {
	b := in.Body
	code := secret.New(b.Code)
	if _, err := a.Identity.LookLink(ctx, a.Account, identity.LinkReset, code); err == nil {
		cer, err := a.Identity.BeginReset(ctx, a.Account, code)
		return a.begin(c, cer, err)
	}
	cer, err := a.Identity.BeginClaim(ctx, a.Account, identity.Claim{Code: code, Name: b.Name, SignIn: b.SignIn, Client: a.client(c.r)})
	return a.begin(c, cer, err)
}

type registerFinishIn struct {
	Body struct {
		Code       string          `json:"code" required:"true"`
		Name       string          `json:"name,omitempty"`
		SignIn     string          `json:"signInName,omitempty"`
		Credential json.RawMessage `json:"credential" required:"true"`
		Passkey    string          `json:"passkey,omitempty" doc:"a name for the passkey"`
	}
}

func (a *API) registerFinish(ctx context.Context, c *call, in registerFinishIn) (redirect, error) {
	b := in.Body
	code, token := secret.New(b.Code), a.ceremony(c)
	finish := a.Identity.FinishClaim
	if _, err := a.Identity.LookLink(ctx, a.Account, identity.LinkReset, code); err == nil {
		finish = a.Identity.FinishReset
	}
	name := b.Passkey
	if name == "" {
		name = "Passkey"
	}
	done, err := finish(ctx, a.Account, code, token, b.Credential, name, a.client(c.r))
	if err != nil {
		return redirect{}, err
	}
	a.welcome(c, done)
	return redirect{"/inbox"}, nil
}

type loginBeginIn struct {
	Body struct {
		Back   string `json:"back,omitempty" doc:"the page to go back to"`
		SignIn string `json:"signInName,omitempty"`
	}
}

func (a *API) loginBegin(ctx context.Context, c *call, in loginBeginIn) (begun, error) {
	cer, err := a.Identity.BeginSignIn(ctx, a.Account, in.Body.SignIn, a.client(c.r))
	return a.begin(c, cer, err)
}

type loginFinishIn struct {
	Body struct {
		Credential json.RawMessage `json:"credential" required:"true"`
		Back       string          `json:"back,omitempty"`
	}
}

func (a *API) loginFinish(ctx context.Context, c *call, in loginFinishIn) (redirect, error) {
	done, err := a.Identity.FinishSignIn(ctx, a.Account, a.ceremony(c), in.Body.Credential, a.client(c.r))
	if err != nil {
		return redirect{}, err
	}
	a.welcome(c, done)
	return redirect{back(in.Body.Back)}, nil
}

// back keeps a redirect inside this site: a path, not another host's address in
// any of the spellings that browsers read as one.
func back(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/inbox"
	}
	return to
}

type stepUpBeginIn struct {
	Body struct {
		Approval string `json:"approval" required:"true" doc:"id or key"`
		Digest   string `json:"digest" required:"true" doc:"of the call as it was shown"`
	}
}

func (a *API) stepUpBegin(ctx context.Context, c *call, in stepUpBeginIn) (begun, error) {
	p, err := see(ctx, a, func(tx event.Tx) (policy.Approval, error) { return a.findApproval(tx, in.Body.Approval) })
	if err != nil {
		return begun{}, err
	}
	if p.Digest != in.Body.Digest {
		return begun{}, fault.New(fault.Stale, "%s is about another call than the one that was shown", p.Key).On("digest").WithFix("read it again")
	}
	cer, err := a.Identity.BeginVerify(ctx, a.Account, c.who, purpose(p.ID, p.Digest))
	return a.begin(c, cer, err)
}

type stepUpFinishIn struct {
	Body struct {
		Credential json.RawMessage `json:"credential" required:"true"`
		Approval   string          `json:"approval" required:"true"`
	}
}

type stepUpDone struct {
	Token string `json:"token"`
}

// stepUpFinish looks the digest up again: if the call changed between the two
// halves, the proof was made for another one.
func (a *API) stepUpFinish(ctx context.Context, c *call, in stepUpFinishIn) (stepUpDone, error) {
	p, err := see(ctx, a, func(tx event.Tx) (policy.Approval, error) { return a.findApproval(tx, in.Body.Approval) })
	if err != nil {
		return stepUpDone{}, err
	}
	who, err := a.Identity.FinishVerify(ctx, a.Account, c.who, a.ceremony(c), in.Body.Credential, purpose(p.ID, p.Digest))
	if err != nil {
		return stepUpDone{}, err
	}
	token, err := a.stepUpToken(who, p.ID, p.Digest)
	return stepUpDone{token}, err
}

type passkeyView struct {
	ID         id.ID     `json:"id"`
	Name       string    `json:"name"`
	Host       string    `json:"host"` // where it works
	Synced     bool      `json:"synced"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
}

func viewPasskey(p identity.Passkey) passkeyView {
	return passkeyView{ID: p.ID, Name: p.Name, Host: p.Host, Synced: p.Synced, CreatedAt: p.CreatedAt, LastUsedAt: p.LastUsedAt}
}

func (a *API) listPasskeys(ctx context.Context, c *call, _ none) (list[passkeyView], error) {
	all, err := a.Identity.ListPasskeys(ctx, a.Account, c.who, c.who.PersonID)
	return listOf(all, viewPasskey), err
}

func (a *API) addBegin(ctx context.Context, c *call, _ none) (begun, error) {
	cer, err := a.Identity.BeginPasskey(ctx, a.Account, c.who)
	return a.begin(c, cer, err)
}

type addFinishIn struct {
	Body struct {
		Credential json.RawMessage `json:"credential" required:"true"`
		Name       string          `json:"name" required:"true"`
	}
}

func (a *API) addFinish(ctx context.Context, c *call, in addFinishIn) (passkeyView, error) {
	p, err := a.Identity.FinishPasskey(ctx, a.Account, c.who, a.ceremony(c), in.Body.Credential, in.Body.Name)
	return viewPasskey(p), err
}

type renameIn struct {
	ID   id.ID `path:"id"`
	Body struct {
		Name string `json:"name" required:"true"`
	}
}

func (a *API) renamePasskey(ctx context.Context, c *call, in renameIn) (none, error) {
	return none{}, a.Identity.RenamePasskey(ctx, a.Account, c.who, in.ID, in.Body.Name)
}

func (a *API) removePasskey(ctx context.Context, c *call, in idIn) (none, error) {
	return none{}, a.Identity.RemovePasskey(ctx, a.Account, c.who, in.ID)
}

func (a *API) setPassword(ctx context.Context, c *call, in passwordIn) (none, error) {
	return none{}, a.Identity.SetPassword(ctx, a.Account, c.who, secret.New(in.Body.Password))
}

func (a *API) removePassword(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, a.Identity.RemovePassword(ctx, a.Account, c.who)
}
