package app

import (
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/llm"
)

// TestAModelOfOnesOwnIsFreeWhenTheConfigurationSaysSo: nothing is guessed from an
// address, and what is said goes before the list.
func TestAModelOfOnesOwnIsFreeWhenTheConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	cfg := Default()
	if err := ParseConfig([]byte(`
models:
  providers:
    local: {kind: openai, base_url: "http://127.0.0.1:11434/v1", price: free}
    unsaid: {kind: openai, base_url: "http://127.0.0.1:8080/v1"}
    openai: {kind: openai}
  prices:
    unsaid/small: {input: 0, output: "0"}
    unsaid/hf/large: {input: 0.2, output: "1.5"}
    openai/gpt-4o: {input: "1", output: "2", cached: "0.5"}
  day_usd: "1.00"
`), &cfg); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	own, err := cfg.Models.ownPrices()
	if err != nil {
		t.Fatal(err)
	}
	table, err := llm.NewPrices(own...)
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]llm.Price{
		"local/llama3.2": {}, "local/hf.co/some/model": {}, "unsaid/small": {},
		"unsaid/hf/large": {Input: 200_000, Output: 1_500_000, Cached: 200_000, CacheWrite: 200_000},
		"openai/gpt-4o":   {Input: 1_000_000, Output: 2_000_000, Cached: 500_000, CacheWrite: 1_000_000},
	} {
		provider, model, _ := strings.Cut(ref, "/")
		if got, ok := table.Of(provider, model); !ok || got != want {
			t.Errorf("%s: %+v %v", ref, got, ok)
		}
	}
	if _, ok := table.Of("unsaid", "other"); ok {
		t.Error("a price was guessed from an address")
	}
	for name, c := range map[string]struct{ text, want string }{
		"a price that is none": {"{providers: {a: {kind: openai, price: cheap}}}", "models.providers.a.price"},
		"no number":            {"{providers: {a: {kind: openai}}, prices: {a/m: {input: much, output: 1}}}", "models.prices.a/m.input"},
		"half a price":         {"{providers: {a: {kind: openai}}, prices: {a/m: {input: 1}}}", "models.prices.a/m.output"},
		"a negative one":       {"{providers: {a: {kind: openai}}, prices: {a/m: {input: 1, output: -1}}}", "models.prices.a/m.output"},
		"a provider unknown":   {"{prices: {b/m: {input: 1, output: 1}}}", "models.prices"},
		"a provider, no model": {"{providers: {a: {kind: openai}}, prices: {a: {input: 1, output: 1}}}", "models.prices"},
	} {
		cfg := Default()
		err := ParseConfig([]byte("models: "+c.text+"\n"), &cfg)
		if err == nil {
			err = cfg.Check()
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want+":") {
			t.Errorf("%s: %v, want it on %s", name, err, c.want)
		}
	}
}

// TestTheExampleRunsUnderItsBudget: every model of the documented example has a
// price.
func TestTheExampleRunsUnderItsBudget(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-example-0123456789")
	cfg := Default()
	if err := ParseConfig([]byte(exampleModels), &cfg); err != nil {
		t.Fatal(err)
	}
	own, err := cfg.Models.ownPrices()
	if err != nil {
		t.Fatal(err)
	}
	table, err := llm.NewPrices(own...)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range cfg.Models.Roles["default"] {
		provider, model, _ := strings.Cut(ref, "/")
		if _, ok := table.Of(provider, model); !ok {
			t.Errorf("%s has no price", ref)
		}
	}
}
