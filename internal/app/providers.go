package app

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/anthropic"
	"github.com/witan-run/witan/internal/llm/bedrock"
	"github.com/witan-run/witan/internal/llm/openai"
	"github.com/witan-run/witan/internal/llm/script"
)

// vendor addresses, used when a provider names none.
const (
	openaiBase    = "https://api.openai.com/v1"
	anthropicBase = "https://api.anthropic.com"
)

// newModel builds the wire of one configured provider.
func newModel(name string, p Provider, c clock.Clock) (llm.Model, error) {
	wire := llm.WireConfig{Clock: c, Jitter: rand.N[time.Duration]}
	switch p.Kind {
	case "openai":
		return openai.New(openai.Config{Name: name, Base: cmp.Or(p.BaseURL, openaiBase), Key: p.Key.Reveal(), Wire: wire})
	case "anthropic":
		return anthropic.New(anthropic.Config{Name: name, Base: cmp.Or(p.BaseURL, anthropicBase), Key: p.Key.Reveal(), Wire: wire})
	case "bedrock":
		return bedrock.New(bedrock.Config{Name: name, Region: p.Region, Base: p.BaseURL, Key: p.Key.Reveal(), Wire: wire,
			Credentials: func(context.Context) (bedrock.Credentials, error) {
				return bedrock.Credentials{AccessKeyID: p.AccessKey.Reveal().Reveal(), SecretAccessKey: p.SecretKey.Reveal(), SessionToken: p.Session.Reveal()}, nil
			}})
	case "script":
		text, err := os.ReadFile(p.Script)
		if err != nil {
			return nil, fault.New(fault.NotFound, "read the script: %w", err).On("models.providers." + name + ".script")
		}
		s, err := script.Parse(text)
		if err != nil {
			return nil, err
		}
		return script.New(s, nil), nil
	}
	return nil, fault.New(fault.Invalid, "%q is no kind of provider", p.Kind).On("models.providers." + name + ".kind")
}

// newRegistry maps roles to the configured models. own are models that the
// program brings itself; each stands in for the configured provider of its name.
func newRegistry(m Models, c clock.Clock, own map[string]llm.Model) (*llm.Registry, error) {
	cfg := llm.RegistryConfig{Models: map[string]llm.Model{}, Routes: map[string][]llm.Target{}}
	for name, model := range own {
		cfg.Models[name] = model
	}
	for name, p := range m.Providers {
		if own[name] != nil {
			continue
		}
		model, err := newModel(name, p, c)
		if err != nil {
			return nil, err
		}
		cfg.Models[name] = model
	}
	for role, list := range m.Roles {
		for _, ref := range list {
			provider, model, _ := strings.Cut(ref, "/")
			cfg.Routes[role] = append(cfg.Routes[role], llm.Target{Provider: provider, Model: model})
		}
	}
	return llm.NewRegistry(cfg)
}

// dayBudget reads the configured money and token bounds of a day.
func dayBudget(m Models) (llm.Amount, error) {
	out := llm.Amount{Tokens: m.DayTokens}
	if m.DayUSD == "" {
		return out, nil
	}
	micro, err := dollars(m.DayUSD)
	if err != nil {
		return out, fault.New(fault.Invalid, "%q is no amount of money", m.DayUSD).On("models.day_usd").WithFix("write like 5.00")
	}
	out.USDMicro = micro
	return out, nil
}
