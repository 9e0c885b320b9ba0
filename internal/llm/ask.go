package llm

import (
	"context"
	"encoding/json"
	"strings"
)

// Answered is what came of asking a role.
type Answered struct {
	Response Response
	Target   Target // who answered, or failed last
	Attempts int    // calls that were sent, over all choices
	Tried    []error
}

// Ask asks the choices of a role in turn until one answers. The next is asked only
// after Unavailable, Limited or Timeout, or an answer that does not fit its
// schema; any other error is ours to repair and ends it. onText, if not nil, gets
// the text as it arrives: what came before a fallback is void, and only the
// returned Response counts. The error is that of the last choice.
func (g *Registry) Ask(ctx context.Context, role string, r Request, onText func(string)) (Answered, error) {
	var out Answered
	targets, ok := g.Route(role)
	if !ok {
		return out, NewFailure(role, NoProvider, "no model is configured for this role").
			WithFix("add a provider and a route for %s or %s", role, DefaultRole)
	}
	var err error
	for _, t := range targets {
		out.Target = t
		out.Response, err = g.askOne(ctx, t, r, onText)
		out.Attempts += attempts(err)
		if err == nil {
			return out, nil
		}
		out.Tried = append(out.Tried, err)
		if !Elsewhere(err) || ctx.Err() != nil {
			break
		}
	}
	return out, err
}

func attempts(err error) int {
	if f := failureOf(err); f != nil && f.Attempts > 0 {
		return f.Attempts
	}
	return 1
}

func (g *Registry) askOne(ctx context.Context, t Target, r Request, onText func(string)) (Response, error) {
	r.Model = t.Model
	if r.TemperatureMicros == nil {
		r.TemperatureMicros = t.TemperatureMicros
	}
	if r.Seed == nil {
		r.Seed = t.Seed
	}
	var out Response
	for e, err := range g.models[t.Provider].Stream(ctx, r) {
		if err != nil {
			return out, err
		}
		if e.Text != "" && onText != nil {
			onText(e.Text)
		}
		out.add(e)
	}
	return out, g.fits(t, r, out)
}

// fits checks an answer that was asked for by a schema. A reply that was cut or
// declined is what it is; the caller sees its Stop.
func (g *Registry) fits(t Target, r Request, a Response) error {
	if r.Output == nil || a.Stop != StopEnd {
		return nil
	}
	text := strings.TrimSpace(a.Text())
	if !json.Valid([]byte(text)) {
		return NewFailure(t.Provider, BadOutput, "the answer to %s is not JSON", r.Output.Name)
	}
	if g.validate == nil {
		return nil
	}
	if err := g.validate(r.Output.Schema, text); err != nil {
		return NewFailure(t.Provider, BadOutput, "the answer to %s does not fit its schema: %v", r.Output.Name, err)
	}
	return nil
}
