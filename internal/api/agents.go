package api

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) agentRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/agents", identity.ActAgentRead, "Resident agents, by name.", a.listAgents),
		on("GET", "/api/v1/agents/{name}", identity.ActAgentRead, "One agent's definition, or one of its versions.", a.getAgent),
		on("PUT", "/api/v1/agents/{name}", identity.ActAgentManage, "Make a YAML text the agent's definition, as its next version.", a.putAgent,
			accepts("application/yaml", "application/x-yaml", "text/yaml", "text/plain"), atMost(256<<10)),
	}
}

type agentView struct {
	Name        string    `json:"name"`
	Version     int       `json:"version"`
	Description string    `json:"description"`
	ModelRole   string    `json:"modelRole"`
	Skills      []string  `json:"skills"`
	Channels    []string  `json:"channels"` // none means all
	Digest      string    `json:"digest"`
	EventID     id.ID     `json:"eventId"`
	At          time.Time `json:"at"`
	YAML        string    `json:"yaml,omitempty"`
}

func viewAgent(v agent.Version) (agentView, error) {
	d, err := agent.ParseDefinition(v.Agent, []byte(v.YAML))
	if err != nil {
		return agentView{}, fault.New(fault.Corrupt, "version %d of %s cannot be read: %w", v.Number, v.Agent, err)
	}
	return agentView{Name: v.Agent, Version: v.Number, Description: d.Description, ModelRole: d.ModelRole, Skills: orEmpty(d.Skills), Channels: orEmpty(d.Channels),
		Digest: v.Digest, EventID: v.EventID, At: v.At}, nil
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func (a *API) listAgents(ctx context.Context, _ *call, _ none) (list[agentView], error) {
	out := list[agentView]{Items: []agentView{}}
	rows, err := see(ctx, a, a.Agents.Store.ListCurrent)
	for _, r := range rows {
		v, err := viewAgent(r)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, v)
	}
	return out, err
}

type agentIn struct {
	Name    string `path:"name"`
	Version int    `query:"version" doc:"the newest, if left out"`
}

func (a *API) getAgent(ctx context.Context, _ *call, in agentIn) (agentView, error) {
	row, err := see(ctx, a, func(tx event.Tx) (agent.Version, error) {
		if in.Version == 0 {
			return a.Agents.Store.CurrentVersion(tx, in.Name)
		}
		return a.Agents.Store.GetVersion(tx, in.Name, in.Version)
	})
	if err != nil {
		return agentView{}, err
	}
	v, err := viewAgent(row)
	v.YAML = row.YAML
	return v, err
}

type putAgentIn struct {
	Name string `path:"name"`
	Body []byte
}

func (a *API) putAgent(ctx context.Context, c *call, in putAgentIn) (agentView, error) {
	src, err := agent.ReadSource(in.Name+".yaml", in.Body)
	if err != nil {
		return agentView{}, err
	}
	if src.Definition.Name != in.Name {
		return agentView{}, fault.New(fault.Invalid, "the text defines another agent than the address names").On("name")
	}
	if _, err := a.Agents.Define(ctx, a.Account, []agent.Source{src}, c.who.By()); err != nil {
		return agentView{}, err
	}
	return a.getAgent(ctx, c, agentIn{Name: in.Name})
}
