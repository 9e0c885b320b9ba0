package api

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

func (a *API) skillRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/skills", identity.ActSkillRead, "The catalogue of skills: the newest number, or another.", a.listSkills),
		on("POST", "/api/v1/skills/accept", identity.ActSkillManage, "Take the built-in skills that this version of the program brings into the catalogue.", a.acceptSkills),
		on("PUT", "/api/v1/skills", identity.ActSkillManage, "Switch skills on or off, everywhere or in a workspace: the next number of the catalogue.", a.switchSkills),
	}
}

type skillView struct {
	Name     string            `json:"name"`
	Hash     string            `json:"hash"`
	Off      bool              `json:"off"`              // switched off, but for except
	Except   []id.ID           `json:"except,omitempty"` // workspaces where it is the other way round
	Manifest manifest.Manifest `json:"manifest"`
	Label    string            `json:"label"` // of the manifest's own text
}

type catalogueView struct {
	Number int         `json:"number"`
	Digest string      `json:"digest"`
	By     string      `json:"by,omitempty"`
	At     time.Time   `json:"at,omitzero"`
	Items  []skillView `json:"items"`
}

type numberIn struct {
	Number int `query:"number" doc:"the newest, if left out"`
}

func (a *API) listSkills(ctx context.Context, _ *call, in numberIn) (catalogueView, error) {
	return see(ctx, a, func(tx event.Tx) (catalogueView, error) {
		snap, err := a.Skills.Head(tx)
		if in.Number > 0 {
			snap, err = a.Skills.Snapshot(tx, in.Number)
		}
		if err != nil {
			return catalogueView{}, err
		}
		v := catalogueView{Number: snap.Number, Digest: snap.Digest, By: snap.By, At: snap.At, Items: []skillView{}}
		for _, it := range snap.Items {
			e, err := a.Skills.Entry(tx, it.Hash)
			if err != nil {
				return catalogueView{}, err
			}
			v.Items = append(v.Items, skillView{Name: it.Name, Hash: it.Hash, Off: it.Off, Except: it.Except, Manifest: e.Manifest, Label: e.Label.String()})
		}
		return v, nil
	})
}

func (a *API) acceptSkills(ctx context.Context, c *call, _ none) (catalogueView, error) {
	if a.Accept != nil {
		if _, err := a.Accept(ctx, c.who.PersonID); err != nil {
			return catalogueView{}, err
		}
	}
	return a.listSkills(ctx, c, numberIn{})
}

type switchIn struct {
	Body struct {
		Switch []switchBody `json:"switch" required:"true"`
	}
}

type switchBody struct {
	Skill       string `json:"skill" required:"true"`
	WorkspaceID id.ID  `json:"workspaceId,omitzero" doc:"everywhere that has no switch of its own, if left out"`
	On          bool   `json:"on"`
}

func (a *API) switchSkills(ctx context.Context, c *call, in switchIn) (catalogueView, error) {
	var ch skill.Change
	for _, s := range in.Body.Switch {
		ch.Switch = append(ch.Switch, skill.Switch{Skill: s.Skill, Workspace: s.WorkspaceID, On: s.On})
	}
	if _, err := a.Skills.ChangeCatalogue(ctx, a.Account, skill.By{Person: c.who.PersonID}, ch); err != nil {
		return catalogueView{}, err
	}
	return a.listSkills(ctx, c, numberIn{})
}
