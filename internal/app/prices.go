package app

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input  string `yaml:"input" doc:"US dollars per million tokens that are read, like 0.20. Say 0 for nothing."`
	Output string `yaml:"output" doc:"US dollars per million tokens that are written."`
	Cached string `yaml:"cached" doc:"US dollars per million tokens read from the provider's cache; empty means as input."`
}

// free is the price of a provider that charges nothing: a server of one's own.
// It is said, never guessed from an address: a server on this machine may well
// pass what it is asked on to one that charges.
const free = "free"

// ownPrices are the configured prices: models first, then whole providers.
func (m Models) ownPrices() (out []llm.PriceRow, err error) {
	for _, ref := range slices.Sorted(maps.Keys(m.Prices)) {
		p, at := m.Prices[ref], "models.prices."+ref
		r := llm.PriceRow{}
		r.Provider, r.Model, _ = strings.Cut(ref, "/")
		if _, known := m.Providers[r.Provider]; !known || r.Model == "" {
			return nil, fault.New(fault.Invalid, "%q names no configured provider and model", ref).On("models.prices").
				WithFix("write PROVIDER/MODEL with a name from models.providers")
		}
		for _, x := range []struct {
			field, text string
			to          *int64
		}{{"input", p.Input, &r.Input}, {"output", p.Output, &r.Output}, {"cached", cmp.Or(p.Cached, p.Input), &r.Cached}} {
			if *x.to, err = dollars(x.text); err != nil {
				return nil, fault.New(fault.Invalid, "%q is no amount of money", x.text).On(at + "." + x.field).WithFix("write US dollars per million tokens, like 0.20")
			}
		}
		r.CacheWrite = r.Input
		out = append(out, r)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		if m.Providers[name].Price == free {
			out = append(out, llm.PriceRow{Provider: name, Model: "*"})
		}
	}
	return out, nil
}

// dollars reads an amount like 5.00 into micro-USD.
func dollars(text string) (int64, error) {
	whole, frac, _ := strings.Cut(text, ".")
	frac = (frac + "000000")[:6]
	w, err := strconv.ParseUint(whole, 10, 31)
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseUint(frac, 10, 32)
	return int64(w)*1_000_000 + int64(f), err
}
