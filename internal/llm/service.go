package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Budgets bound what an account's agents spend in a day. A zero bound is none.
type Budgets struct {
	Day   Amount            // all of the account
	Agent Amount            // each agent
	Named map[string]Amount // an agent by name, in place of Agent
	Zone  *time.Location    // whose midnight begins a day; UTC by default
	// CountUnknownAsZero lets a model without a known price run under a money
	// bound, as if it were free. Otherwise it is refused there.
	CountUnknownAsZero bool
}

// ServiceConfig is what a Service needs.
type ServiceConfig struct {
	Store    Store
	Registry *Registry
	Prices   Prices
	Budgets  Budgets
	Clock    clock.Clock
	// Origin may say llm.request and llm.response.
	Origin event.Origin
}

// Service records and budgets model calls: Begin in one transaction, Ask outside
// of any, End in another. A process that dies in between leaves the call asked
// and its budget held; the same call may then be asked again and ended.
type Service struct{ c ServiceConfig }

// NewService returns a service, or an Invalid error that names what is missing.
func NewService(c ServiceConfig) (*Service, error) {
	switch {
	case c.Store == nil:
		return nil, fault.New(fault.Invalid, "no store").On("store")
	case c.Registry == nil:
		return nil, fault.New(fault.Invalid, "no registry").On("registry")
	}
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.Budgets.Zone == nil {
		c.Budgets.Zone = time.UTC
	}
	return &Service{c}, nil
}

// Call is one call to be made.
type Call struct {
	ID     id.ID
	Key    string // of a queued call; "" for others
	RunID  id.ID  // zero outside a run
	Step   int
	Agent  string // "" outside an agent
	Role   string
	Prompt string // NAME@N
	Target Target // who is meant to answer
	// Request names the target's model, temperature and seed.
	Request Request
	Run     Amount // the run's own bounds
	// encoded is Request as Begin records it, once Encode was called.
	encoded json.RawMessage
	digest  string
	// Draft is the envelope of llm.request: stream, subject, causes, label.
	// llm.response bears the same, caused by llm.request.
	Draft event.Draft
}

// Encode checks and encodes the request. Call it before the transaction of Begin,
// once the request is whole: encoding a long one inside holds up other writers.
func (c *Call) Encode() error {
	err := c.Request.Check()
	if err == nil {
		c.encoded, c.digest, err = RequestDigest(c.Request)
	}
	return err
}

// Reply is what came of a call.
type Reply struct {
	Response Response
	Target   Target // that answered or failed last
	Attempts int
	Latency  time.Duration
	Cost     int64 // micro-USD
	Known    bool  // whether the price is known
	Err      error // nil for a reply
}

// Route returns who answers a role at this moment; false when nobody is configured.
func (s *Service) Route(role string) (Target, bool) {
	t, ok := s.c.Registry.Route(role)
	if !ok {
		return Target{}, false
	}
	return t[0], true
}

// limits returns the bounds that a call is under, sorted by key.
func (s *Service) limits(c Call, now time.Time) []Limit {
	day := now.In(s.c.Budgets.Zone).Format(time.DateOnly)
	out := []Limit{{Scope: "day", Period: day, Tokens: s.c.Budgets.Day.Tokens, USDMicro: s.c.Budgets.Day.USDMicro}}
	if c.Agent != "" {
		a, ok := s.c.Budgets.Named[c.Agent]
		if !ok {
			a = s.c.Budgets.Agent
		}
		out = append(out, Limit{Scope: "agent:" + c.Agent, Period: day, Tokens: a.Tokens, USDMicro: a.USDMicro})
	}
	if !c.RunID.IsZero() {
		out = append(out, Limit{Scope: "run:" + c.RunID.String(), Tokens: c.Run.Tokens, USDMicro: c.Run.USDMicro})
	}
	slices.SortFunc(out, func(a, b Limit) int { return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Period, b.Period)) })
	return out
}

// worst returns what a call may come to at most, over its target and fallbacks,
// and a model without a known price among them, if there is one.
func (s *Service) worst(c Call, bodyBytes int) (Amount, string) {
	u := Usage{Input: EstimateTokens(bodyBytes), Output: c.Request.MaxTokens}
	out := Amount{Tokens: addSat(u.Input, u.Output)}
	targets, _ := s.c.Registry.Route(c.Role)
	unknown := ""
	for _, t := range append([]Target{c.Target}, targets...) {
		p, ok := s.c.Prices.Of(t.Provider, t.Model)
		if !ok {
			unknown = cmp.Or(unknown, t.Provider+" "+t.Model)
		}
		out.USDMicro = max(out.USDMicro, p.Cost(u))
	}
	return out, unknown
}

// Begin reserves the budget and emits llm.request. When a bound is met nothing is
// reserved or emitted, and it says which. It is Conflict for a call that is there.
func (s *Service) Begin(tx event.Tx, c Call) (event.Event, *event.BudgetMet, error) {
	if c.encoded == nil {
		if err := c.Encode(); err != nil {
			return event.Event{}, nil, err
		}
	}
	body, digest := c.encoded, c.digest
	limits := s.limits(c, tx.Now())
	ask, unknown := s.worst(c, len(body))
	if unknown != "" && !s.c.Budgets.CountUnknownAsZero && slices.ContainsFunc(limits, func(l Limit) bool { return l.USDMicro > 0 }) {
		return event.Event{}, nil, NewFailure(c.Target.Provider, OverBudget, "the price of %s is not known, so that no money budget can be kept", unknown).
			On("prices").WithFix("give its price in models.prices, or say price: free for a provider that charges nothing")
	}
	keys := make([]SpendKey, len(limits))
	for i, l := range limits {
		keys[i] = l.Key()
	}
	spends, err := s.c.Store.LockSpends(tx, keys)
	if err != nil {
		return event.Event{}, nil, err
	}
	held, met := Hold(limits, spends, ask)
	if met != nil {
		return event.Event{}, met, nil
	}
	e, err := s.request(tx, c, body, digest, ask)
	if err != nil {
		return event.Event{}, nil, err
	}
	added, err := s.c.Store.AddCall(tx, CallRecord{
		ID: c.ID, Key: c.Key, RunID: c.RunID, Step: c.Step, Agent: c.Agent, Role: c.Role,
		Provider: c.Target.Provider, Model: c.Target.Model, Prompt: c.Prompt, Rendered: digest,
		MaxTokens: c.Request.MaxTokens, TemperatureMicros: c.Request.TemperatureMicros, Seed: c.Request.Seed,
		Held: ask, Limits: keys, Status: CallAsked, RequestEvent: e.ID, AskedAt: tx.Now(),
	})
	if err == nil && !added {
		err = fault.New(fault.Conflict, "call %s was asked already", c.ID)
	}
	if err == nil {
		err = s.c.Store.SaveSpends(tx, held)
	}
	return e, nil, err
}

func (s *Service) request(tx event.Tx, c Call, body json.RawMessage, digest string, ask Amount) (event.Event, error) {
	d := c.Draft
	d.Payload = event.LLMRequest{
		CallID: c.ID, RunID: c.RunID, Step: c.Step, Role: c.Role, Provider: c.Target.Provider, Model: c.Target.Model,
		Prompt: c.Prompt, Rendered: digest, Request: body, Reserved: ask.USDMicro, MaxTokens: int(c.Request.MaxTokens),
	}
	return tx.Emit(s.origin(c.Agent), d)
}

func (s *Service) origin(agent string) event.Origin {
	if agent == "" {
		return s.c.Origin
	}
	return s.c.Origin.As(agent)
}

// Ask asks the role's models and writes nothing.
func (s *Service) Ask(ctx context.Context, c Call, onText func(string)) Reply {
	begin := s.c.Clock.Now()
	a, err := s.c.Registry.Ask(ctx, c.Role, c.Request, onText)
	r := Reply{
		Response: a.Response, Target: a.Target, Attempts: a.Attempts, Err: err,
		Latency: max(0, s.c.Clock.Now().Sub(begin)), // a clock may go back
	}
	p, ok := s.c.Prices.Of(a.Target.Provider, a.Target.Model)
	r.Known = ok
	if err == nil && r.Response.Usage.Reported {
		r.Cost = p.Cost(r.Response.Usage)
	}
	return r
}

// End settles the budget and emits llm.response, caused by request. A reply
// without counts settles at what was reserved, and so does a failure after which
// the provider may charge. Tries that failed before another one answered are not
// counted: no provider says what they cost. It is Conflict for a call that ended.
func (s *Service) End(tx event.Tx, c Call, request event.Ref, r Reply) (event.Event, error) {
	rec, err := s.c.Store.LockCall(tx, c.ID)
	if err != nil {
		return event.Event{}, err
	}
	if rec.Status != CallAsked {
		return event.Event{}, fault.New(fault.Conflict, "call %s has ended already", c.ID)
	}
	used := r.used(rec.Held)
	spends, err := s.c.Store.LockSpends(tx, rec.Limits)
	if err != nil {
		return event.Event{}, err
	}
	if err := s.c.Store.SaveSpends(tx, Settle(spends, rec.Held, used)); err != nil {
		return event.Event{}, err
	}
	p, err := r.payload(c, used)
	if err != nil {
		return event.Event{}, err
	}
	d := c.Draft
	d.Payload, d.Summary, d.Causes, d.Label, d.Raise = p, "", []event.Ref{request}, event.Label{}, event.Raise{}
	e, err := tx.Emit(s.origin(c.Agent), d)
	if err != nil {
		return event.Event{}, err
	}
	rec.Status, rec.Held = CallAnswered, Amount{}
	if r.Err != nil {
		rec.Status = CallFailed
	}
	if r.Target.Provider != "" {
		rec.Provider, rec.Model = r.Target.Provider, r.Target.Model
	}
	rec.Usage, rec.Cost, rec.Known = r.Response.Usage, used.USDMicro, r.Known
	rec.Latency, rec.Attempts, rec.Stop, rec.ErrorKind = r.Latency, r.Attempts, StopReason(p.Stop), p.ErrorKind
	rec.ResponseEvent, rec.EndedAt = e.ID, tx.Now()
	return e, s.c.Store.SaveCall(tx, rec)
}

// used returns what a call settles at.
func (r Reply) used(held Amount) Amount {
	u := r.Response.Usage
	switch {
	case r.Err == nil && u.Reported:
		return Amount{Tokens: u.Input + u.Output, USDMicro: r.Cost}
	case r.Err == nil:
		return held
	case r.Attempts == 0:
		return Amount{} // nothing was sent
	case ReasonOf(r.Err).billed() || ReasonOf(r.Err) == "":
		return held
	}
	return Amount{}
}

// payload returns llm.response.
func (r Reply) payload(c Call, used Amount) (event.LLMResponse, error) {
	p := event.LLMResponse{
		CallID: c.ID, RunID: c.RunID, Step: c.Step, Cost: used.USDMicro, CostKnown: r.Known,
		LatencyUS: r.Latency.Microseconds(), Attempts: r.Attempts,
	}
	if r.Err != nil {
		p.ErrorKind, p.Error = fault.KindOf(r.Err).String(), r.Err.Error()
		return p, nil //nolint:nilerr // the failure is what the payload says
	}
	u := r.Response.Usage
	p.Stop, p.TokensIn, p.TokensOut = string(r.Response.Stop), u.Input, u.Output
	var err error
	p.Response, p.Digest, err = ResponseDigest(r.Response)
	return p, err
}
