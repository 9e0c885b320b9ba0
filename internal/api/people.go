package api

import (
	"context"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) peopleRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/people", identity.ActPeopleRead, "The people of the account, oldest first.", a.listPeople),
		on("POST", "/api/v1/people", identity.ActPeopleManage, "Make a person, and the link with which they set a way to sign in.", a.addPerson, status(http.StatusCreated)),
		on("PATCH", "/api/v1/people/{id}", identity.ActPeopleManage, "Change a person's name, sign-in name, role or state.", a.changePerson),
		on("POST", "/api/v1/people/{id}/reset-link", identity.ActPeopleManage, "Make a link with which a person sets a way to sign in again.", a.resetLink, status(http.StatusCreated)),
		on("PATCH", "/api/v1/self", identity.ActSelfWrite, "Change one's own shown name.", a.changeSelf),
	}
}

type personView struct {
	ID        id.ID     `json:"id"`
	Name      string    `json:"name"`
	SignIn    string    `json:"signInName"`
	Role      string    `json:"role"`  // owner, operator, viewer
	State     string    `json:"state"` // active, disabled
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Version   int64     `json:"version"`
}

func viewPerson(p identity.Person) personView {
	return personView{ID: p.ID, Name: p.Name, SignIn: p.SignIn, Role: string(p.Role), State: string(p.State), CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, Version: p.Version}
}

// linkView is a one-time link. It is shown here, once, and kept nowhere.
type linkView struct {
	Link      string    `json:"link"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (a *API) viewLink(l identity.Link) linkView {
	return linkView{Link: l.URL(a.PublicURL), ExpiresAt: l.ExpiresAt}
}

func (a *API) listPeople(ctx context.Context, c *call, _ none) (list[personView], error) {
	all, err := a.Identity.ListPeople(ctx, a.Account, c.who)
	return listOf(all, viewPerson), err
}

type personIn struct {
	Body struct {
		Name   string `json:"name" required:"true"`
		SignIn string `json:"signInName" required:"true"`
		Role   string `json:"role" required:"true" doc:"owner, operator, viewer"`
	}
}

type newPersonView struct {
	linkView
	Person personView `json:"person"`
}

func (a *API) addPerson(ctx context.Context, c *call, in personIn) (newPersonView, error) {
	p, l, err := a.Identity.CreatePerson(ctx, a.Account, c.who, identity.NewPerson{Name: in.Body.Name, SignIn: in.Body.SignIn, Role: identity.Role(in.Body.Role)})
	if err != nil {
		return newPersonView{}, err
	}
	return newPersonView{a.viewLink(l), viewPerson(p)}, nil
}

type changePersonIn struct {
	ID   id.ID `path:"id"`
	Body struct {
		Name    *string `json:"name,omitempty"`
		SignIn  *string `json:"signInName,omitempty"`
		Role    *string `json:"role,omitempty"`
		State   *string `json:"state,omitempty" doc:"active, disabled"`
		Version int64   `json:"version,omitempty" doc:"of the person that was shown; whatever it is, if left out"`
	}
}

func (a *API) changePerson(ctx context.Context, c *call, in changePersonIn) (personView, error) {
	b := in.Body
	ch := identity.PersonChange{Name: b.Name, SignIn: b.SignIn, Version: b.Version}
	if b.Role != nil {
		r := identity.Role(*b.Role)
		ch.Role = &r
	}
	if b.State != nil {
		s := identity.State(*b.State)
		ch.State = &s
	}
	p, err := a.Identity.ChangePerson(ctx, a.Account, c.who, in.ID, ch)
	return viewPerson(p), err
}

// resetLink takes an id or a sign-in name.
func (a *API) resetLink(ctx context.Context, c *call, in wordIn) (linkView, error) {
	person, err := id.Parse(in.ID)
	if err != nil || person.IsZero() {
		p, err := a.Identity.FindPerson(ctx, a.Account, c.who, in.ID)
		if err != nil {
			return linkView{}, err
		}
		person = p.ID
	}
	l, err := a.Identity.NewResetLink(ctx, a.Account, c.who, person)
	if err != nil {
		return linkView{}, err
	}
	return a.viewLink(l), nil
}

type selfIn struct {
	Body struct {
		Name string `json:"name" required:"true"`
	}
}

func (a *API) changeSelf(ctx context.Context, c *call, in selfIn) (personView, error) {
	p, err := a.Identity.ChangePerson(ctx, a.Account, c.who, c.who.PersonID, identity.PersonChange{Name: &in.Body.Name})
	return viewPerson(p), err
}
