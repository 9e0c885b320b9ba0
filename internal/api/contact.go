package api

import (
	"context"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) contactRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/contacts", identity.ActContactRead, "Contacts, in the order in which they were made.", a.listContacts),
		on("GET", "/api/v1/contacts/{id}", identity.ActContactRead, "One contact and its addresses.", a.getContact),
		on("POST", "/api/v1/contacts", identity.ActContactManage, "Make a confirmed contact.", a.addContact, status(http.StatusCreated)),
		on("PATCH", "/api/v1/contacts/{id}", identity.ActContactManage, "Rename, confirm or block a contact.", a.changeContact),
		on("POST", "/api/v1/contacts/{id}/addresses", identity.ActContactManage, "Give a contact an address.", a.addAddress),
		on("DELETE", "/api/v1/contacts/{id}/addresses", identity.ActContactManage, "Take an address from a contact.", a.dropAddress),
		on("GET", "/api/v1/routes", identity.ActChannelRead, "Which agent serves which thread, contact or channel.", a.listRoutes),
		on("PUT", "/api/v1/routes", identity.ActRoutingWrite, "Set which agent serves a thread, contact or channel.", a.putRoute),
		on("DELETE", "/api/v1/routes", identity.ActRoutingWrite, "Remove such a line.", a.dropRoute),
	}
}

type contactView struct {
	ID         id.ID         `json:"id"`
	Name       string        `json:"name"`
	Status     string        `json:"status"` // confirmed, provisional, blocked
	PersonID   id.ID         `json:"personId,omitzero"`
	EntityID   id.ID         `json:"entityId,omitzero"`
	Confidence int32         `json:"confidenceMicro"` // 0 to 1,000,000
	Version    int64         `json:"version"`
	At         time.Time     `json:"at"`
	Addresses  []addressView `json:"addresses,omitempty"`
}

type addressView struct {
	Channel string    `json:"channel"`
	Address string    `json:"address"`
	AddedBy string    `json:"addedBy"`
	At      time.Time `json:"at"`
}

func viewContact(c dispatch.Contact) contactView {
	return contactView{ID: c.ID, Name: c.Name, Status: string(c.Status), PersonID: c.PersonID, EntityID: c.EntityID, Confidence: c.Confidence, Version: c.Version, At: c.At}
}

type contactsIn struct {
	Status string `query:"status"`
	After  id.ID  `query:"after"`
	Limit  int    `query:"limit"`
}

func (a *API) listContacts(ctx context.Context, _ *call, in contactsIn) (list[contactView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[contactView]{}, err
	}
	rows, err := a.Dispatch.Contacts(ctx, a.Account, dispatch.Status(in.Status), in.After, n)
	out := listOf(rows, viewContact)
	if len(rows) == n {
		out.Next = rows[n-1].ID.String()
	}
	return out, err
}

func (a *API) getContact(ctx context.Context, _ *call, in idIn) (contactView, error) {
	c, ids, err := a.Dispatch.Contact(ctx, a.Account, in.ID)
	if err != nil {
		return contactView{}, err
	}
	v := viewContact(c)
	for _, i := range ids {
		v.Addresses = append(v.Addresses, addressView{i.Channel, i.Address, i.AddedBy, i.At})
	}
	return v, nil
}

type contactIn struct {
	Body struct {
		Name    string `json:"name" required:"true"`
		Channel string `json:"channel,omitempty"`
		Address string `json:"address,omitempty"`
	}
}

func (a *API) addContact(ctx context.Context, c *call, in contactIn) (contactView, error) {
	row, err := a.Dispatch.AddContact(ctx, a.Account, c.who.PersonID, dispatch.NewContact{Name: in.Body.Name, Channel: in.Body.Channel, Address: in.Body.Address})
	if err != nil {
		return contactView{}, err
	}
	return a.getContact(ctx, c, idIn{row.ID})
}

type changeContactIn struct {
	ID   id.ID `path:"id"`
	Body struct {
		Version  int64   `json:"version" required:"true" doc:"of the contact that was shown"`
		Name     *string `json:"name,omitempty"`
		Status   *string `json:"status,omitempty"`
		EntityID *id.ID  `json:"entityId,omitempty"`
	}
}

func (a *API) changeContact(ctx context.Context, c *call, in changeContactIn) (contactView, error) {
	b := in.Body
	ch := dispatch.Change{Version: b.Version, Name: b.Name, EntityID: b.EntityID}
	if b.Status != nil {
		s := dispatch.Status(*b.Status)
		ch.Status = &s
	}
	if _, err := a.Dispatch.ChangeContact(ctx, a.Account, c.who.PersonID, in.ID, ch); err != nil {
		return contactView{}, err
	}
	return a.getContact(ctx, c, idIn{in.ID})
}

type addressIn struct {
	ID   id.ID `path:"id"`
	Body struct {
		Channel string `json:"channel" required:"true"`
		Address string `json:"address" required:"true"`
	}
}

func (a *API) addAddress(ctx context.Context, c *call, in addressIn) (contactView, error) {
	if err := a.Dispatch.AddAddress(ctx, a.Account, c.who.PersonID, in.ID, in.Body.Channel, in.Body.Address); err != nil {
		return contactView{}, err
	}
	return a.getContact(ctx, c, idIn{in.ID})
}

type dropAddressIn struct {
	ID      id.ID  `path:"id"`
	Channel string `query:"channel"`
	Address string `query:"address"`
}

// dropAddress looks the contact up first: the address must be this one's.
func (a *API) dropAddress(ctx context.Context, c *call, in dropAddressIn) (contactView, error) {
	v, err := a.getContact(ctx, c, idIn{in.ID})
	if err != nil {
		return contactView{}, err
	}
	for _, ad := range v.Addresses {
		if ad.Channel == in.Channel && ad.Address == in.Address {
			if err := a.Dispatch.DropAddress(ctx, a.Account, c.who.PersonID, in.Channel, in.Address); err != nil {
				return contactView{}, err
			}
			return a.getContact(ctx, c, idIn{in.ID})
		}
	}
	return contactView{}, noAddress()
}

type routeView struct {
	Kind  string `json:"kind" required:"true" doc:"thread, contact, channel"`
	Key   string `json:"key" required:"true" doc:"the id of the thread or contact, or the channel's name"`
	Agent string `json:"agent" required:"true"`
}

func (a *API) listRoutes(ctx context.Context, _ *call, _ none) (list[routeView], error) {
	rows, err := a.Dispatch.Routes(ctx, a.Account)
	return listOf(rows, func(r dispatch.Route) routeView { return routeView{r.Kind, r.Key, r.Agent} }), err
}

type routeIn struct{ Body routeView }

func (a *API) putRoute(ctx context.Context, c *call, in routeIn) (list[routeView], error) {
	r := dispatch.Route{Kind: in.Body.Kind, Key: in.Body.Key, Agent: in.Body.Agent}
	if err := a.Dispatch.SaveRoute(ctx, a.Account, c.who.PersonID, r); err != nil {
		return list[routeView]{}, err
	}
	return a.listRoutes(ctx, c, none{})
}

type dropRouteIn struct {
	Kind string `query:"kind"`
	Key  string `query:"key"`
}

func (a *API) dropRoute(ctx context.Context, c *call, in dropRouteIn) (list[routeView], error) {
	if err := a.Dispatch.DropRoute(ctx, a.Account, c.who.PersonID, in.Kind, in.Key); err != nil {
		return list[routeView]{}, err
	}
	return a.listRoutes(ctx, c, none{})
}
