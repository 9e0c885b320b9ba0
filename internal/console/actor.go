package console

import (
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/kit/id"
)

// people knows the names of the account's people.
type people map[id.ID]string

// people lists them once a page.
func (c *Console) people(k *call) (people, error) {
	list, err := c.Identity.ListPeople(k.ctx, c.Account, k.who)
	if err != nil {
		return nil, err
	}
	out := people{}
	for _, p := range list {
		out[p.ID] = p.Name
	}
	return out, nil
}

// person is somebody of the account, by id.
func (p people) person(who id.ID) ui.Actor {
	if name := p[who]; name != "" {
		return ui.Actor{Kind: ui.ActorPerson, Name: name}
	}
	return ui.Actor{Kind: ui.ActorPerson, Name: "somebody"}
}

// actor is a principal as a page draws it.
func (p people) actor(principal string) ui.Actor {
	kind, name, _ := strings.Cut(principal, ":")
	switch kind {
	case "person":
		if who, err := id.Parse(name); err == nil {
			return p.person(who)
		}
		return ui.Actor{Kind: ui.ActorPerson, Name: "somebody"}
	case "contact":
		return ui.Actor{Kind: ui.ActorPerson, Name: "a contact"}
	case "agent":
		return ui.Actor{Kind: ui.ActorAgent, Name: name}
	case "mind":
		return ui.Actor{Kind: ui.ActorMind, Name: name}
	case "worker":
		return ui.Actor{Kind: ui.ActorWorker, Name: name}
	}
	if name == "" {
		name = principal
	}
	return ui.Actor{Kind: ui.ActorSystem, Name: name}
}

// source is who said an event, by its source id ("agent/scribe", "policy").
func source(s string) ui.Actor {
	class, name, found := strings.Cut(s, "/")
	if class == "agent" && found {
		return ui.Actor{Kind: ui.ActorAgent, Name: name}
	}
	return ui.Actor{Kind: ui.ActorSystem, Name: s}
}
