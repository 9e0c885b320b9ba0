package llm

import (
	_ "embed"
	"fmt"
	"math"
	"math/bits"
	"path"

	"github.com/goccy/go-yaml"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Price is what a model costs, in micro-USD per million tokens: $3.00 per million
// is 3,000,000.
type Price struct {
	Input      int64 `yaml:"input"`
	Output     int64 `yaml:"output"`
	Cached     int64 `yaml:"cached"`      // input read from the provider's cache
	CacheWrite int64 `yaml:"cache_write"` // input written to it
}

// PriceRow gives a price to the models of a provider. Patterns are those of
// path.Match; the first row that fits wins.
type PriceRow struct {
	Provider string `yaml:"provider"`
	Model    string `yaml:"model"`
	Price    `yaml:",inline"`
}

// Prices is a price table. A model that no row fits has no known price.
type Prices struct {
	rows []PriceRow
}

//go:embed prices.yaml
var listPrices []byte

// maxPrice bounds a row at $1,000 a thousand tokens: beyond is a slip of units.
const maxPrice = 1_000_000_000_000

// NewPrices returns a table of own rows, then the published list prices that the
// program carries, for the providers that bear these names.
func NewPrices(own ...PriceRow) (Prices, error) {
	var list struct {
		AsOf string     `yaml:"as_of"`
		Rows []PriceRow `yaml:"rows"`
	}
	if err := yaml.UnmarshalWithOptions(listPrices, &list, yaml.Strict()); err != nil {
		return Prices{}, fault.Wrap(fault.Internal, err, "read the list prices")
	}
	p := Prices{rows: append(own[:len(own):len(own)], list.Rows...)}
	for i, r := range p.rows {
		at := fmt.Sprintf("prices[%d]", i)
		for _, pattern := range []string{r.Provider, r.Model} {
			if _, err := path.Match(pattern, "x"); err != nil || pattern == "" {
				return Prices{}, fault.New(fault.Invalid, "%q is not a pattern", pattern).On(at)
			}
		}
		for _, n := range []int64{r.Input, r.Output, r.Cached, r.CacheWrite} {
			if n < 0 || n > maxPrice {
				return Prices{}, fault.New(fault.Invalid, "want micro-USD per million tokens, 0 to %d", int64(maxPrice)).On(at)
			}
		}
	}
	return p, nil
}

// Of returns the price of a model; false if it is not known.
func (p Prices) Of(provider, model string) (Price, bool) {
	for _, r := range p.rows {
		if fits(r.Provider, provider) && fits(r.Model, model) {
			return r.Price, true
		}
	}
	return Price{}, false
}

// fits is path.Match, but for a single star that is all: names of models hold
// slashes.
func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil || pattern == "*"
}

// Cost returns the price of a usage in micro-USD, each part rounded up, so that
// no call with tokens at a price is free.
func (p Price) Cost(u Usage) int64 {
	fresh := max(0, u.Input-u.Cached-u.CacheWrite)
	var sum int64
	for _, x := range []struct{ tokens, price int64 }{
		{fresh, p.Input}, {u.Cached, p.Cached}, {u.CacheWrite, p.CacheWrite}, {u.Output, p.Output},
	} {
		sum = addSat(sum, perMillion(x.tokens, x.price))
	}
	return sum
}

// perMillion returns tokens × price / 1e6, rounded up; what does not fit is the
// largest number.
func perMillion(tokens, price int64) int64 {
	if tokens <= 0 || price <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	const million = 1_000_000
	if hi >= million {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, million)
	if rest > 0 {
		q++
	}
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q)
}

func addSat(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// EstimateTokens returns what a request will be counted as, before anybody has
// counted it: a third of its bytes, which is above what European languages and
// code come to. The provider's count replaces it.
func EstimateTokens(requestBytes int) int64 { return int64(requestBytes)/3 + 1 }
