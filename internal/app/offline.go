package app

import (
	"context"

	"github.com/goccy/go-yaml"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

// Print renders the configuration as YAML. Secrets stand as the references
// they were given by, never as texts.
func (c Config) Print() (string, error) {
	b, err := yaml.Marshal(c)
	return string(b), err
}

// Migrate opens the store, which brings the schema up to date, and closes it.
func Migrate(ctx context.Context, c Config, d Deps) error {
	d, err := d.fill(c)
	if err != nil {
		return err
	}
	db, _, err := openStore(ctx, c, d)
	if err == nil {
		db.Close()
	}
	return err
}

// offline builds the parts for one act on a data folder that nobody serves.
func offline(ctx context.Context, c *Config, d Deps, f func(p *parts) error) error {
	if err := c.Check(); err != nil {
		return err
	}
	d, err := d.fill(*c)
	if err != nil {
		return err
	}
	p, err := build(ctx, *c, d)
	if err != nil {
		return err
	}
	defer p.db.Close()
	return f(p)
}

// CreatePerson adds a person offline and returns the link with which they set a
// way to sign in. Access to the data folder is the authority.
func CreatePerson(ctx context.Context, c Config, d Deps, name, signIn, role string) (link string, err error) {
	err = offline(ctx, &c, d, func(p *parts) error {
		_, l, err := p.identity.CreatePerson(ctx, p.account, identity.Machine(p.account), identity.NewPerson{Name: name, SignIn: signIn, Role: identity.Role(role)})
		link = l.URL(c.PublicURL)
		return err
	})
	return link, err
}

// ResetLink makes a reset link offline for a person who cannot sign in.
func ResetLink(ctx context.Context, c Config, d Deps, signIn string) (link string, err error) {
	err = offline(ctx, &c, d, func(p *parts) error {
		m := identity.Machine(p.account)
		person, err := p.identity.FindPerson(ctx, p.account, m, signIn)
		if err != nil {
			return err
		}
		l, err := p.identity.NewResetLink(ctx, p.account, m, person.ID)
		link = l.URL(c.PublicURL)
		return err
	})
	return link, err
}

// RestoreOptions say what is restored.
type RestoreOptions struct {
	From     string
	Promoted bool // the database is a promoted replica: only a new epoch begins
}

// RestoreReport says what a restore did.
type RestoreReport struct {
	Epoch    int
	FromSeq  int64
	Held     int
	Sessions int
}

// Restore loads a backup into an empty data folder or database and begins a new
// epoch in every account.
func Restore(ctx context.Context, c Config, d Deps, o RestoreOptions) (r RestoreReport, err error) {
	if err := c.Check(); err != nil {
		return r, err
	}
	if d, err = d.fill(c); err != nil {
		return r, err
	}
	if (o.From == "") != o.Promoted {
		return r, fault.New(fault.Invalid, "give the folder of a backup, or --promoted").On("from")
	}
	var at int64
	if o.From != "" {
		m, err := store.ReadBackup(o.From)
		if err != nil {
			return r, err
		}
		at = m.At.UnixMicro()
		if !c.Database.Set() {
			p := Paths{c.Data}
			if err := store.RestoreSQLite(ctx, o.From, p.Database(), p.Keyring(), p.extra()); err != nil {
				return r, err
			}
		} else if err := store.RestoreKeys(o.From, Paths{c.Data}.Keyring()); err != nil {
			return r, err
		}
	}
	db, _, err := openStore(ctx, c, d)
	if err != nil {
		return r, err
	}
	if o.From != "" && c.Database.Set() {
		err = db.LoadPostgres(ctx, o.From)
	}
	db.Close()
	if err != nil {
		return r, err
	}
	err = offline(ctx, &c, d, func(p *parts) error {
		accounts, err := store.Accounts(ctx, p.db)
		if err != nil {
			return err
		}
		for _, a := range accounts {
			if err := p.beginEpoch(ctx, a, at, &r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && o.From != "" { // a second restore is refused, and all work of the past is held
		err = fault.New(fault.KindOf(err), "the backup is in its place, but no new epoch began: %w", err).
			WithFix("put that right, then run: witan restore --promoted")
	}
	return r, err
}

func (p *parts) beginEpoch(ctx context.Context, account id.ID, at int64, r *RestoreReport) error {
	var old bus.Tip
	head := func(tx event.Tx) (err error) { old, _, err = store.HeadOf(tx); return err }
	if err := p.db.View(ctx, account, head); err != nil {
		return err
	}
	if err := p.db.BeginEpoch(ctx, account, at, p.origins.audit, p.identity.EndAll); err != nil {
		return err
	}
	for after := old.Seq; ; { // many sessions may have ended before it, many effects be held after it
		var evs []event.Event
		if err := p.db.View(ctx, account, func(tx event.Tx) (err error) {
			evs, err = store.EventsAfter(tx, after, 200)
			return err
		}); err != nil || len(evs) == 0 {
			return err
		}
		for _, e := range evs {
			if started, ok := e.Payload.(event.EpochStarted); ok {
				r.Epoch, r.FromSeq = started.Epoch, started.FromSeq
				r.Held += started.Held
				r.Sessions += started.Sessions
				return nil
			}
			after = e.Seq
		}
	}
}
