package console

import (
	"strconv"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/skill"
)

// roleRespond is the model role that answers people.
const roleRespond = "respond"

// shell surrounds a page. q is the queue, which every page counts.
func (c *Console) shell(k *call, r *reader, q queue, here ui.Place, crumbs ...ui.Crumb) (ui.Shell, error) {
	name := here.Label()
	if len(crumbs) > 0 {
		name = crumbs[len(crumbs)-1].Text
	}
	s := ui.Shell{Head: c.head(k, name), Here: here, Crumbs: crumbs, Path: k.r.URL.RequestURI(), Query: k.r.URL.Query().Get("q"),
		Me: ui.Me{Name: k.who.Name, Role: string(k.who.Role)}}
	if here == ui.PlaceJournal {
		s.Query = ""
	}
	n := q.count()
	s.Places = []ui.PlaceLink{{Place: ui.PlaceInbox, Count: n, Need: n > 0}, {Place: ui.PlaceWork}, {Place: ui.PlaceChat}, {Place: ui.PlaceJournal}}
	s.Live = ui.Live{State: ui.LiveOn, Stream: c.Stream, Position: strconv.FormatInt(r.tip.Epoch, 10) + "-" + strconv.FormatInt(r.tip.Seq, 10)}
	if r.tip.Seq > 0 {
		s.Live.Seq = grouped(r.tip.Seq)
	}
	s.Halt = ui.Halt{CanHalt: r.may(identity.ActHaltSet), CanResume: r.may(identity.ActHaltClear)}
	for _, stop := range r.stops {
		s.Halt.On = s.Halt.On || stop.Scope == "account"
	}
	s.Foot = c.foot(r)
	if err := c.stops(r, &s); err != nil {
		return s, err
	}
	return s, nil
}

// foot holds at most four facts that can fail.
func (c *Console) foot(r *reader) []ui.FootFact {
	var out []ui.FootFact
	if c.Facts.Demo {
		out = append(out, ui.FootFact{Icon: "flask-conical", Config: true, Fact: ui.Fact{Text: "Demo, temporary folder"}})
	}
	if !c.Models(roleRespond) {
		out = append(out, ui.FootFact{Icon: "power-off", Config: true, Fact: ui.Fact{Text: "No model: plain commands only"}})
	} else if c.Facts.Demo {
		out = append(out, ui.FootFact{Icon: "sparkles", Config: true, Fact: ui.Fact{Text: "Scripted model, network off"}})
	}
	if f, ok := c.chain.foot(r); ok {
		out = append(out, f)
	}
	return out
}

// stops fills what Halt would stop and what Resume lets go, and the one banner.
func (c *Console) stops(r *reader, s *ui.Shell) error {
	var all []ui.Banner
	running, err := r.Skills.Effects(r.tx, skill.Filter{State: skill.Dispatching, Limit: 200})
	if err != nil {
		return err
	}
	s.Halt.Running = len(running)
	if s.Halt.On {
		waiting, err := r.Skills.Effects(r.tx, skill.Filter{State: skill.Intended, Limit: 20})
		if err != nil {
			return err
		}
		for _, e := range waiting {
			line, err := r.effectTitle(e)
			if err != nil {
				return err
			}
			s.Halt.Waiting = append(s.Halt.Waiting, line)
		}
		b, err := c.haltBanner(r)
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	if c.Facts.DiskLow != nil && c.Facts.DiskLow() {
		all = append(all, ui.Banner{Kind: ui.BannerDisk, Note: "deciding and halting still work"})
	}
	held, err := c.heldBanners(r)
	if err != nil {
		return err
	}
	all = append(all, held...)
	if c.Facts.Demo {
		all = append(all, ui.Banner{Kind: ui.BannerDemo, Note: "end it with Ctrl-C",
			Text: "A scripted agent read your message and wants to write one file in " + c.Facts.DemoFolder + ". Nothing leaves this machine."})
	}
	s.Banner = ui.ChooseBanner(all...)
	return nil
}

// look is how far back a page looks for the event behind a banner.
const look = 200

func (c *Console) haltBanner(r *reader) (ui.Banner, error) {
	b := ui.Banner{Kind: ui.BannerHalted}
	recent, err := r.recent()
	if err != nil {
		return b, err
	}
	for _, e := range recent {
		if h, ok := e.Payload.(event.HaltSet); ok && h.Scope == "account" {
			b.Text = r.people.actor(h.By).Name + " halted it at " + c.at(e.RecordedAt, r.now) + ". Deciding goes on."
			b.Ref = ref(e)
			break
		}
	}
	return b, nil
}

// recent reads the newest events once a page.
func (r *reader) recent() ([]event.Event, error) {
	if r.latest != nil {
		return r.latest, nil
	}
	list, err := r.Record.Before(r.tx, r.tip.Seq+1, look)
	if err != nil {
		return nil, err
	}
	r.latest = list
	for _, e := range list {
		r.events[e.ID] = e
	}
	return list, nil
}

// shellAlone is the shell of a page that reads nothing else: an error, a search.
func (c *Console) shellAlone(k *call) (s ui.Shell, err error) {
	held, err := c.outside(k)
	if err != nil {
		return s, err
	}
	err = c.view(k, func(r *reader) error {
		q, err := r.queue(held)
		if err != nil {
			return err
		}
		s, err = c.shell(k, r, q, "")
		return err
	})
	return s, err
}
