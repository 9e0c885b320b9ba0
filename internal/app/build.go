package app

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/channel/cli"
	"github.com/witan-run/witan/internal/channel/console"
	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/agentdb"
	"github.com/witan-run/witan/internal/store/blob"
	"github.com/witan-run/witan/internal/store/channeldb"
	"github.com/witan-run/witan/internal/store/dispatchdb"
	"github.com/witan-run/witan/internal/store/identitydb"
	"github.com/witan-run/witan/internal/store/llmdb"
	"github.com/witan-run/witan/internal/store/memorydb"
	"github.com/witan-run/witan/internal/store/policydb"
	"github.com/witan-run/witan/internal/store/skilldb"
	"github.com/witan-run/witan/internal/store/workdb"
	"github.com/witan-run/witan/internal/work"
)

// build opens the store and connects every component. Nothing runs yet.
func build(ctx context.Context, c Config, d Deps) (p *parts, err error) {
	p = &parts{rows: rows{identity: identitydb.New(), policy: policydb.New(), llm: llmdb.New(), skill: skilldb.New(),
		agent: agentdb.New(), dispatch: dispatchdb.New(), channel: channeldb.New(), memory: memorydb.New(), work: workdb.New()}}
	if p.origins, err = newOrigins(); err != nil {
		return nil, err
	}
	if p.db, p.keyring, err = openStore(ctx, c, d); err != nil {
		return nil, err
	}
	db := p.db // a step that fails returns no parts
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	for _, step := range []func(context.Context, Config, Deps) error{
		p.buildIdentity, p.buildModels, p.buildChannels, p.buildSkills, p.buildAgents, p.buildDispatch, p.buildBus, p.firstStart,
	} {
		if err := step(ctx, c, d); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *parts) buildIdentity(ctx context.Context, c Config, d Deps) (err error) {
	if p.identity, err = identity.New(identity.Options{Journal: p.db, Store: p.rows.identity, Keyring: p.keyring, Clock: d.Clock,
		IDs: d.IDs, Origins: p.origins.identity, PublicURL: c.PublicURL, Log: d.Log}); err != nil {
		return err
	}
	people := peopleOf{p.rows.identity, p.rows.agent}
	p.policy = policy.New(policy.Config{Store: p.rows.policy, Journal: p.db, People: people, Origins: p.origins.policy,
		Rewrite: func(tx event.Tx, a policy.Approval, args json.RawMessage) (policy.Request, error) {
			return rewrite(p.skills)(tx, a, args)
		},
		Starts: func(tx event.Tx, actor string) (int, bool, error) { return p.agents.Autonomy(tx, actor) }})
	// The account and its policy come first: everything else belongs to it.
	table, err := bus.NewTable(bus.Reaction{Name: "policy.account", On: types("account.created"), Run: p.policy.OnAccount})
	if err != nil {
		return err
	}
	p.db.SetReactor(table)
	a, _, err := p.identity.EnsureAccount(ctx, identity.DefaultHandle, c.Account)
	p.account = a.ID
	return err
}

func (p *parts) buildModels(_ context.Context, c Config, d Deps) error {
	registry, err := newRegistry(c.Models, d.Clock, d.Models)
	if err != nil {
		return err
	}
	own, err := c.Models.ownPrices()
	if err != nil {
		return err
	}
	prices, err := llm.NewPrices(own...)
	if err != nil {
		return err
	}
	day, err := dayBudget(c.Models)
	if err != nil {
		return err
	}
	zone, err := c.zone()
	if err != nil {
		return err
	}
	p.models, err = llm.NewService(llm.ServiceConfig{Store: p.rows.llm, Registry: registry, Prices: prices,
		Budgets: llm.Budgets{Day: day, Zone: zone}, Clock: d.Clock, Origin: p.origins.model})
	p.prompts = llm.NewPrompts(p.rows.llm, p.origins.prompts)
	return err
}

func (p *parts) buildChannels(_ context.Context, c Config, d Deps) (err error) {
	if p.blobs, err = blob.Open(Paths{c.Data}.Blobs(), d.Clock); err != nil {
		return err
	}
	if p.intake, err = channel.NewIntake(p.db, p.rows.channel, p.blobs, p.origins.channel, channel.DefaultCap()); err != nil {
		return err
	}
	p.disk = newDisk(c.Data, d.Log)
	p.intake.Gate(p.disk.gate)
	adapters := []channel.Adapter{console.New(), cli.New()}
	p.http = map[string]*httpin.Channel{}
	for name, h := range c.Channels.HTTP {
		cfg := httpin.Config{Name: name, Trust: channel.Trust(h.Trust)}
		if h.Secret.Set() {
			cfg.Secrets = []secret.String{h.Secret.Reveal()}
		}
		if h.Webhook != "" {
			cfg.Webhook = &httpin.Webhook{URL: h.Webhook, Insecure: h.Loopback}
		}
		ch, err := httpin.New(cfg, newDialer(h.Loopback), d.Clock)
		if err != nil {
			return err
		}
		p.http[name] = ch
		adapters = append(adapters, ch)
	}
	p.hub, err = channel.NewHub(p.db, p.rows.channel, adapters...)
	return err
}

func (p *parts) buildSkills(_ context.Context, c Config, d Deps) (err error) {
	if p.pano, err = work.NewPano(p.rows.work, p.origins.memory); err != nil {
		return err
	}
	if p.memory, err = memory.New(p.rows.memory, p.origins.memory); err != nil {
		return err
	}
	if p.reminders, err = work.NewReminders(p.rows.work, reminders{p}, p.origins.memory); err != nil {
		return err
	}
	if p.work, err = work.New(p.rows.work, p.origins.work, work.DefaultConfig()); err != nil {
		return err
	}
	if p.registry, err = p.builtins(c, d); err != nil {
		return err
	}
	g := gate{p.policy}
	p.skills, err = skill.New(skill.Config{Journal: p.db, Store: p.rows.skill, Decider: g, Asker: g, Holdings: holdings{p}, People: peopleOf{p.rows.identity, p.rows.agent},
		Deliveries: deliveries{p.db}, Vault: vault{p.identity.Vault()},
		Executables: map[manifest.Kind]skill.Executables{manifest.Builtin: p.registry},
		Permissions: permissions(), Origin: p.origins.skill, Clock: d.Clock, Log: d.Log})
	return err
}

// holdings fills skill.Holdings from agent, which is built after skill.
type holdings struct{ p *parts }

// Held implements skill.Holdings.
func (h holdings) Held(tx event.Tx, actor string) ([]string, error) {
	return h.p.agents.Held(tx, actor)
}

func (p *parts) buildAgents(_ context.Context, c Config, d Deps) error {
	zone, err := c.zone()
	if err != nil {
		return err
	}
	p.agents, err = agent.New(agent.Deps{Journal: p.db, Store: p.rows.agent, Origins: p.origins.agent, Clock: d.Clock, Log: d.Log,
		Models: p.models, Prompts: p.prompts, Catalogue: p.skills, Policy: policyVersion{p.policy}, People: peopleOf{p.rows.identity, p.rows.agent}, Code: Code(), Zone: zone.String()})
	return err
}

func (p *parts) buildDispatch(_ context.Context, c Config, _ Deps) (err error) {
	cfg := dispatch.DefaultConfig()
	cfg.Person, cfg.People = rate(c.Limits.Person), rate(c.Limits.People)
	cfg.Sender, cfg.Outsiders = rate(c.Limits.Sender), rate(c.Limits.Outsiders)
	cfg.Channels = map[string]dispatch.ChannelPolicy{}
	for name, h := range c.Channels.HTTP {
		pol := dispatch.DefaultChannelPolicy()
		if h.Unknown != "" {
			pol.Unknown = dispatch.Action(h.Unknown)
		}
		if pol.Unknown == dispatch.Allow { // their first message made them a contact that nobody confirmed
			pol.Provisional = dispatch.Allow
		}
		cfg.Channels[name] = pol
	}
	p.dispatch, err = dispatch.New(p.db, p.rows.dispatch, dispatch.Ports{Outlet: p.hub, Agents: agentsOf{p.rows.agent},
		People: peopleOf{p.rows.identity, p.rows.agent}, Jitter: rand.Int64N}, p.origins.dispatch, cfg)
	return err
}

// rate lets a fifth of a minute's messages come at once.
func rate(perMinute int64) dispatch.Rate {
	return dispatch.Rate{Burst: max(perMinute/5, min(perMinute, 15)), PerMinute: perMinute}
}

// How often the services look by themselves. Commits wake them; the scans are
// for what a crash left and for other nodes.
const (
	scanEvery   = time.Second
	routerEvery = time.Second
)

// How many workers of a kind one process has.
const (
	runWorkers      = 64
	effectWorkers   = 64
	deliveryWorkers = 16
)

func (p *parts) buildBus(_ context.Context, _ Config, d Deps) (err error) {
	if p.table, err = p.subscriptions(); err != nil {
		return err
	}
	p.db.SetReactor(p.table)
	p.router = bus.NewRouter(p.db, p.table, p.origins.router, routerEvery, d.Log)
	p.timers = bus.NewTimers(p.db, p.origins.timers, scanEvery, d.Log)
	p.tails = bus.NewTails(p.db, d.Log)
	p.pool = bus.NewPool(p.db, p.origins.pool, scanEvery, d.Log,
		bus.Worker{Kind: event.WorkRun, Limit: runWorkers, Work: p.agents.Work, GiveUp: p.agents.GiveUp},
		bus.Worker{Kind: event.WorkEffect, Limit: effectWorkers, Work: p.skills.Work},
		bus.Worker{Kind: event.WorkDelivery, Limit: deliveryWorkers, Work: p.dispatch.Deliver})
	return nil
}

// firstStart gives the account what every account has: prompts, skills, agents.
// Each step changes nothing when it was done before.
func (p *parts) firstStart(ctx context.Context, c Config, d Deps) error {
	shipped, err := agent.ShippedPrompts()
	if err != nil {
		return err
	}
	var differ []string
	if err := p.db.Do(ctx, p.account, func(tx event.Tx) (err error) {
		differ, err = p.prompts.Seed(tx, event.Draft{Label: event.NewLabel(event.House, event.AccountWide()), Summary: "A prompt of the program was saved."}, shipped)
		return err
	}); err != nil {
		return err
	}
	for _, name := range differ {
		d.Log.InfoContext(ctx, "a prompt differs from the one this version brings; the saved one stays", "prompt", name)
	}
	if err := p.seedSkills(ctx); err != nil {
		return err
	}
	if len(p.newer) > 0 {
		d.Log.WarnContext(ctx, "built-in skills changed with this version; a person accepts them with: witan skills accept", "skills", len(p.newer))
	}
	own := d.Agents
	if c.Agents != "" {
		read, err := readAgents(c.Agents)
		if err != nil {
			return err
		}
		own = append(own, read...)
	}
	sources, err := agent.WithBuiltins(own)
	if err != nil {
		return err
	}
	_, err = p.agents.Define(ctx, p.account, sources, agent.SystemStart)
	return err
}

// seedSkills makes the catalogue of a fresh account. Other built-in skills that
// this version brings to an old account wait for a person.
func (p *parts) seedSkills(ctx context.Context) error {
	entries := p.registry.Entries()
	snap, err := p.skills.Seed(ctx, p.account, entries)
	if err != nil {
		return err
	}
	have := map[string]string{}
	for _, it := range snap.Items {
		have[it.Name] = it.Hash
	}
	var changed []manifest.Entry
	for _, e := range entries {
		if have[e.Manifest.Name] != e.Hash {
			changed = append(changed, e)
		}
	}
	p.newer = changed
	return nil
}

// AcceptSkills puts the built-in skills that this version brings into the
// catalogue, for a person: until then the account keeps the manifests that it
// knows, and a changed skill is refused.
func (p *parts) acceptSkills(ctx context.Context, person id.ID) (manifest.Snapshot, error) {
	return p.skills.ChangeCatalogue(ctx, p.account, skill.By{Person: person}, skill.Change{Put: p.newer})
}
