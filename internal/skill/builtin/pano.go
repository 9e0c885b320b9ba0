package builtin

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// pano is what the skills of the shared documents have in common.
type pano struct {
	journal event.Journal
	docs    Documents
}

type (
	panoRead   struct{ pano }
	panoWrite  struct{ pano }
	panoList   struct{ pano }
	panoSearch struct{ pano }
)

// document is a revision as results show it.
type document struct {
	Path     string `json:"path"`
	Revision int64  `json:"revision"`
	Digest   string `json:"digest"`
	Size     int64  `json:"size"`
	By       string `json:"by"`
	At       string `json:"at"`
}

func shown(d Document) document {
	return document{d.Path, d.Revision, d.Digest, d.Size, d.By, d.At.UTC().Format(timeForm)}
}

const timeForm = "2006-01-02T15:04:05Z"

// Act implements skill.Executable.
func (p panoRead) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		Path     string `json:"path"`
		Revision int64  `json:"revision"`
	}
	if err := begin(c, manifest.PermitPano, &a); err != nil {
		return skill.Output{}, err
	}
	var d Document
	err := p.journal.View(ctx, c.Account, func(tx event.Tx) (err error) {
		d, err = p.docs.ReadDocument(tx, a.Path, a.Revision, readers(c))
		return err
	})
	return skill.Output{Label: d.Label, Value: struct {
		document
		Text string `json:"text"`
	}{shown(d), d.Text}}, err
}

// Act implements skill.Executable.
func (p panoWrite) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		Path     string `json:"path"`
		Text     string `json:"text"`
		Revision int64  `json:"revision"`
	}
	if err := begin(c, manifest.PermitPano, &a); err != nil {
		return skill.Output{}, err
	}
	out := &document{}
	return skill.Output{Value: out, Commit: func(tx event.Tx) error {
		d, err := p.docs.WriteDocument(tx, DocumentDraft{Path: a.Path, Text: a.Text, Seen: a.Revision, By: c.Actor, Readers: readers(c),
			Subject: c.Subject, Stream: c.Stream}, c.Cause)
		*out = shown(d)
		return err
	}}, nil
}

// Act implements skill.Executable.
func (p panoList) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	a := struct {
		Folder string `json:"folder"`
		After  string `json:"after"`
		Limit  int    `json:"limit"`
	}{Limit: 100}
	if err := begin(c, manifest.PermitPano, &a); err != nil {
		return skill.Output{}, err
	}
	var docs []Document
	err := p.journal.View(ctx, c.Account, func(tx event.Tx) (err error) {
		docs, err = p.docs.ListDocuments(tx, a.Folder, a.After, a.Limit, readers(c))
		return err
	})
	out := []document{}
	for _, d := range docs {
		out = append(out, shown(d))
	}
	return skill.Output{Value: map[string]any{"documents": out}, Label: joined(docs, func(d Document) event.Label { return d.Label })}, err
}

// Act implements skill.Executable.
func (p panoSearch) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	a := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: 10}
	if err := begin(c, manifest.PermitPano, &a); err != nil {
		return skill.Output{}, err
	}
	var found []DocumentMatch
	err := p.journal.View(ctx, c.Account, func(tx event.Tx) (err error) {
		found, err = p.docs.SearchDocuments(tx, a.Query, a.Limit, readers(c))
		return err
	})
	type match struct {
		document
		Words   int    `json:"words"`
		Times   int    `json:"times"`
		Excerpt string `json:"excerpt"`
	}
	out := []match{}
	for _, m := range found {
		out = append(out, match{shown(m.Document), m.Words, m.Times, m.Excerpt})
	}
	return skill.Output{Value: map[string]any{"matches": out}, Label: joined(found, func(m DocumentMatch) event.Label { return m.Label })}, err
}

// begin reads the arguments of a call and sees that its manifest declares what
// the skill is about to use.
func begin(c skill.Call, p manifest.Permission, args any) error {
	if err := c.Permit(p); err != nil {
		return err
	}
	if len(c.Arguments) == 0 {
		return fault.New(fault.Invalid, "there are no arguments").On("arguments")
	}
	return c.Bind(args)
}
