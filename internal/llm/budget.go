package llm

import (
	"github.com/witan-run/witan/internal/event"
)

// Amount is tokens and money, together.
type Amount struct {
	Tokens   int64
	USDMicro int64
}

// Limit bounds what a scope may spend in a period. A zero bound is no bound.
type Limit struct {
	Scope    string // run:ID, agent:NAME, day
	Period   string // the day (2006-01-02) for agent and day; "" for a run
	Tokens   int64
	USDMicro int64
}

// Key names the row of a limit.
func (l Limit) Key() SpendKey { return SpendKey{Scope: l.Scope, Period: l.Period} }

// SpendKey names a row of spending.
type SpendKey struct {
	Scope  string
	Period string
}

// Spend is what a scope has spent in a period, and what calls under way hold.
type Spend struct {
	SpendKey
	Spent Amount
	Held  Amount
}

// Units of a BudgetMet.
const (
	UnitTokens   = "tokens"
	UnitUSDMicro = "usd_micro"
)

// Hold reserves an amount under every limit at once, or under none: spends[i]
// belongs to limits[i]. It returns the rows as they become, or which limit was
// met. What is held counts as spent, so that calls side by side cannot pass a
// limit together.
func Hold(limits []Limit, spends []Spend, ask Amount) ([]Spend, *event.BudgetMet) {
	out := make([]Spend, len(spends))
	for i, s := range spends {
		l := limits[i]
		for _, u := range []struct {
			unit                     string
			limit, spent, held, asks int64
		}{
			{UnitTokens, l.Tokens, s.Spent.Tokens, s.Held.Tokens, ask.Tokens},
			{UnitUSDMicro, l.USDMicro, s.Spent.USDMicro, s.Held.USDMicro, ask.USDMicro},
		} {
			used := addSat(u.spent, u.held)
			if u.limit > 0 && addSat(used, u.asks) > u.limit {
				scope := l.Scope
				if l.Period != "" {
					scope += ":" + l.Period
				}
				return nil, &event.BudgetMet{Scope: scope, Unit: u.unit, Limit: u.limit, Spent: used, Asked: u.asks}
			}
		}
		s.Held = s.Held.plus(ask)
		out[i] = s
	}
	return out, nil
}

// Settle turns what a call held into what it used, which may be more.
func Settle(spends []Spend, held, used Amount) []Spend {
	out := make([]Spend, len(spends))
	for i, s := range spends {
		s.Held = Amount{Tokens: max(0, s.Held.Tokens-held.Tokens), USDMicro: max(0, s.Held.USDMicro-held.USDMicro)}
		s.Spent = s.Spent.plus(used)
		out[i] = s
	}
	return out
}

func (a Amount) plus(b Amount) Amount {
	return Amount{Tokens: addSat(a.Tokens, b.Tokens), USDMicro: addSat(a.USDMicro, b.USDMicro)}
}

// billed reports whether a call that failed so may cost money: a reply had begun,
// or may have. Such a call settles at what it held.
func (r Reason) billed() bool {
	switch r {
	case Slow, Stalled, TooLong, Truncated, Malformed, TooLarge, Gone, BadOutput:
		return true
	}
	return false
}
