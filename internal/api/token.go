package api

import (
	"context"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) tokenRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/tokens", identity.ActSelfRead, "One's own API tokens, newest first.", a.listTokens),
		on("POST", "/api/v1/tokens", identity.ActTokenCreate, "Make an API token for oneself; its secret is in this answer and nowhere else.", a.makeToken, status(http.StatusCreated)),
		on("DELETE", "/api/v1/tokens/{id}", identity.ActTokenRevoke, "Revoke one's own token.", a.revokeToken),
	}
}

type tokenView struct {
	ID         id.ID     `json:"id"`
	Name       string    `json:"name"`
	Prefix     string    `json:"prefix"`
	Role       string    `json:"role,omitempty"` // that it is narrowed to; that of its person, if left out
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"` // to the hour
	RevokedAt  time.Time `json:"revokedAt,omitzero"`
}

func viewToken(t identity.Token) tokenView {
	return tokenView{ID: t.ID, Name: t.Name, Prefix: t.Prefix, Role: string(t.Narrowed), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt, RevokedAt: t.RevokedAt}
}

func (a *API) listTokens(ctx context.Context, c *call, _ none) (list[tokenView], error) {
	all, err := a.Identity.ListTokens(ctx, a.Account, c.who, c.who.PersonID)
	return listOf(all, viewToken), err
}

// mostSeconds is a hundred years.
const mostSeconds = 100 * 365 * 24 * 3600

type tokenIn struct {
	Body struct {
		Name      string    `json:"name" required:"true"`
		Role      string    `json:"role,omitempty" doc:"a role no higher than one's own"`
		ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"never, if left out"`
		Life      int64     `json:"lifeSeconds,omitempty" doc:"instead of expiresAt"`
	}
}

type newTokenView struct {
	tokenView
	Secret string `json:"secret"`
}

func (a *API) makeToken(ctx context.Context, c *call, in tokenIn) (newTokenView, error) {
	b := in.Body
	if b.Life != 0 && (!b.ExpiresAt.IsZero() || b.Life < 0 || b.Life > mostSeconds) {
		return newTokenView{}, fault.New(fault.Invalid, "it takes 1 to %d seconds, without expiresAt", mostSeconds).On("lifeSeconds")
	}
	if b.Life > 0 {
		b.ExpiresAt = a.Clock.Now().Add(time.Duration(b.Life) * time.Second)
	}
	t, s, err := a.Identity.CreateToken(ctx, a.Account, c.who, identity.NewTokenRequest{Name: b.Name, Narrowed: identity.Role(b.Role), ExpiresAt: b.ExpiresAt})
	if err != nil {
		return newTokenView{}, err
	}
	return newTokenView{viewToken(t), s.Reveal()}, nil
}

func (a *API) revokeToken(ctx context.Context, c *call, in idIn) (none, error) {
	return none{}, a.Identity.RevokeToken(ctx, a.Account, c.who, c.who.PersonID, in.ID)
}
