package dispatch

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func TestABucketNeverGivesMoreThanItsRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{rapid.Int64Range(1, maxRate).Draw(t, "burst"), rapid.Int64Range(1, maxRate).Draw(t, "per minute")}
		start := rapid.Int64Range(0, 1<<52).Draw(t, "start")
		b, now, taken := r.Full(start), start, int64(0)
		for _, step := range rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour/time.Microsecond)), 1, 60).Draw(t, "steps") {
			now += step
			var ok bool
			if b, ok = b.Take(now, r); ok {
				taken++
			}
			if b.Level < 0 || b.Level > r.capacity() {
				t.Fatalf("level %d outside 0..%d", b.Level, r.capacity())
			}
			// What was given is at most the burst and what flowed in since.
			if most := r.Burst + (now-start)/60_000_000*r.PerMinute + (now-start)%60_000_000*r.PerMinute/60_000_000; taken > most {
				t.Fatalf("%d taken, at most %d", taken, most)
			}
			if full := b.FullAt(r); full < now {
				t.Fatalf("full at %d, before now %d", full, now)
			} else if f := (Bucket{b.Level, b.At}); full-b.At < 1<<40 {
				if got, _ := f.Take(full, r); got.Level != r.capacity()-unitsPerToken {
					t.Fatalf("not full when it said: %d", got.Level)
				}
			}
		}
	})
}

func TestABucketRefillsExactly(t *testing.T) {
	t.Parallel()
	r := Rate{Burst: 2, PerMinute: 6} // one in ten seconds
	b := r.Full(0)
	at := func(s float64) int64 { return int64(s * 1e6) }
	for _, tt := range []struct {
		at   int64
		want bool
	}{
		{at(0), true}, {at(0), true}, {at(0), false}, {at(9.999999), false}, {at(10), true}, {at(10), false},
		{at(40), true}, {at(40), true}, {at(40), false}, // no more than the burst gathers
		{at(20), false}, // the clock went back: nothing is given
		{at(30), true},  // and nothing is forgotten: ten seconds later there is one
		{at(30), false},
	} {
		var ok bool
		if b, ok = b.Take(tt.at, r); ok != tt.want {
			t.Errorf("at %d µs: %v, want %v", tt.at, ok, tt.want)
		}
	}
}

func TestTheTrustScoreIsTheDocumentedFormula(t *testing.T) {
	t.Parallel()
	w := DefaultWeights()
	for _, tt := range []struct{ channel, contact, risk, want int32 }{
		{1_000_000, 1_000_000, 0, 800_000},     // a person at the console: the highest there is
		{300_000, 0, 0, 120_000},               // a stranger by mail: below the floor
		{600_000, 0, 0, 240_000},               // a stranger on a medium channel
		{300_000, 800_000, 0, 440_000},         // a confirmed contact by mail
		{300_000, 800_000, 1_000_000, 240_000}, // the same, with an injection
		{0, 0, 1_000_000, 0},                   // clamped
		{2_000_000_000, -5, 0, 400_000},        // inputs are clamped as well
	} {
		if got := w.Score(tt.channel, tt.contact, tt.risk).Score; got != tt.want {
			t.Errorf("Score(%d, %d, %d) = %d, want %d", tt.channel, tt.contact, tt.risk, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.Int32Range(0, micro)
		a, b, c := g.Draw(t, "channel"), g.Draw(t, "contact"), g.Draw(t, "risk")
		s := w.Score(a, b, c).Score
		more := func(v int32) int32 { return rapid.Int32Range(v, micro).Draw(t, "more") }
		if s < 0 || s > micro || w.Score(more(a), b, c).Score < s || w.Score(a, more(b), c).Score < s || w.Score(a, b, more(c)).Score > s {
			t.Fatalf("not monotonic or out of range at (%d, %d, %d)", a, b, c)
		}
	})
}

func TestAClaimIsNoIdentity(t *testing.T) {
	t.Parallel()
	p := id.ID{1}
	ann := &Contact{Status: Confirmed, Confidence: confidenceConfirmed}
	owner := &Contact{Status: Confirmed, PersonID: p, Confidence: micro}
	blocked := &Contact{Status: Blocked}
	for name, tt := range map[string]struct {
		m    event.InboundMessage
		c    *Contact
		want Standing
	}{
		"a signed-in person":              {event.InboundMessage{PersonID: p, Proof: "session"}, owner, StandingPerson},
		"a token of a person":             {event.InboundMessage{PersonID: p, Proof: "token"}, owner, StandingPerson},
		"a person without proof":          {event.InboundMessage{PersonID: p, Proof: "none"}, owner, StandingUnproven},
		"the owner's address, unproven":   {event.InboundMessage{Proof: "none"}, owner, StandingUnproven},
		"the owner's address by DMARC":    {event.InboundMessage{Proof: "signature"}, owner, StandingConfirmed},
		"a confirmed contact, unproven":   {event.InboundMessage{Proof: "none"}, ann, StandingUnproven},
		"a confirmed contact, no proof":   {event.InboundMessage{Proof: ""}, ann, StandingUnproven},
		"a confirmed contact, by a token": {event.InboundMessage{Proof: "token"}, ann, StandingConfirmed},
		"a blocked one, unproven":         {event.InboundMessage{Proof: "none"}, blocked, StandingBlocked},
		"a blocked one, proven":           {event.InboundMessage{Proof: "signature"}, blocked, StandingBlocked},
		"nobody":                          {event.InboundMessage{Proof: "signature"}, nil, StandingUnknown},
	} {
		if got := Stand(tt.m, tt.c); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	s := sender{message: event.InboundMessage{Proof: "signature"}, contact: owner, standing: StandingConfirmed}
	if got := s.principal(); got[:8] != "contact:" {
		t.Errorf("mail from the owner's address acts for %s: it must not be the person", got)
	}
}

func TestOnlyAllowLetsADoubtfulSenderPass(t *testing.T) {
	t.Parallel()
	for _, s := range []Standing{StandingUnknown, StandingProvisional, StandingUnproven, "some new standing"} {
		for _, a := range []Action{Allow, Hold, Reject, ""} {
			r := byStanding(s, ChannelPolicy{Unknown: a, Provisional: a, Unproven: a, OverRate: a})
			want := map[Action]Outcome{Allow: "", Hold: InHold, Reject: Rejected, "": InHold}[a]
			if s == "some new standing" {
				want = InHold
			}
			if r.outcome != want {
				t.Errorf("%s with %q: %q, want %q", s, a, r.outcome, want)
			}
		}
	}
	if r := byStanding(StandingBlocked, ChannelPolicy{Unknown: Allow, Provisional: Allow, Unproven: Allow}); r.outcome != Rejected {
		t.Error("a blocked sender passed")
	}
}

type later struct{ after time.Duration }

func (later) Error() string               { return "later" }
func (l later) RetryAfter() time.Duration { return l.after }
func (later) Unwrap() error               { return fault.New(fault.Limited, "429") }

func TestTheWaitGrowsToItsCap(t *testing.T) {
	t.Parallel()
	for _, jitter := range []func(int64) int64{func(int64) int64 { return 0 }, func(n int64) int64 { return n - 1 }} {
		d := &Dispatcher{config: DefaultConfig(), ports: Ports{Jitter: jitter}}
		last := time.Duration(0)
		for n := 1; n < 100; n++ {
			full := min(time.Second<<min(n-1, 20), d.config.Delivery.Cap)
			w := d.wait(n, fault.New(fault.Unavailable, "503"))
			if w < full/2 || w >= full+time.Microsecond || w < last/2 {
				t.Fatalf("attempt %d waits %s, want %s to %s", n, w, full/2, full)
			}
			last = w
		}
		if w := d.wait(1, later{time.Hour}); w != time.Hour {
			t.Errorf("the medium asked for an hour, we wait %s", w)
		}
		if w := d.wait(1, later{time.Millisecond}); w < 500*time.Millisecond {
			t.Errorf("the medium asked for less than our own wait, we wait %s", w)
		}
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	if err := DefaultConfig().check(); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*Config){
		"dispatch.default_agent":     func(c *Config) { c.DefaultAgent = "" },
		"dispatch.max_message_bytes": func(c *Config) { c.MaxMessageBytes = 0 },
		"dispatch.rates.outsiders":   func(c *Config) { c.Outsiders.Burst = 0 },
		"dispatch.rates.person":      func(c *Config) { c.Person.PerMinute = maxRate + 1 },
		"dispatch.trust":             func(c *Config) { c.Trust.Floor = -1 },
		"dispatch.delivery":          func(c *Config) { c.Delivery.Cap = 0 },
		"channels.mail.policy.unknown": func(c *Config) {
			c.Channels = map[string]ChannelPolicy{"mail": {Provisional: Hold, Unproven: Hold, OverRate: Hold}}
		},
		"channels.mail.policy.over_rate": func(c *Config) {
			c.Channels = map[string]ChannelPolicy{"mail": {Unknown: Hold, Provisional: Hold, Unproven: Hold, OverRate: Allow}}
		},
	} {
		c := DefaultConfig()
		change(&c)
		if _, got, _ := fault.Public(c.check()); got != field {
			t.Errorf("want %s refused, got %q", field, got)
		}
	}
}
