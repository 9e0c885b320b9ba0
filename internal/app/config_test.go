package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/witan-run/witan/internal/kit/fault"
)

func TestConfigRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key":             {"listne: 127.0.0.1:1\n", "listne"},
		"a nested one":               {"log:\n  fromat: json\n", "fromat"},
		"a wrong type":               {"models:\n  day_tokens: many\n", "[2:15]"},
		"a secret in clear":          {"models:\n  providers:\n    a:\n      kind: openai\n      key: sk-live-0123456789abcdef\n", "in clear"},
		"an unset variable":          {"account: ${WITAN_NO_SUCH_VARIABLE}\n", "WITAN_NO_SUCH_VARIABLE"},
		"a missing file":             {"database: file:/no/such/file\n", "no such file"},
		"a bad listen":               {"listen: here\n", "HOST:PORT"},
		"an unknown role's provider": {"models:\n  roles:\n    respond: [x/y]\n", "PROVIDER/MODEL"},
		"an unknown kind":            {"models:\n  providers:\n    a:\n      kind: magic\n", "magic"},
		"a webhook unsigned":         {"channels:\n  http:\n    a:\n      webhook: https://example.org\n", "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := Default()
			err := ParseConfig([]byte(c.text), &cfg)
			if err == nil {
				err = cfg.Check()
			}
			if err == nil {
				t.Fatal("accepted")
			}
			_, field, fix := fault.Public(err)
			if all := err.Error() + " " + field + " " + fix; !strings.Contains(all, c.want) {
				t.Fatalf("%q does not say %q", all, c.want)
			}
			if strings.Contains(err.Error(), "sk-live-0123456789abcdef") {
				t.Fatal("the error shows the secret")
			}
		})
	}
}

func TestConfigExpandsValuesAndKeepsSecretsAsReferences(t *testing.T) {
	t.Setenv("WITAN_T_NAME", "Home: {evil: yaml}")
	t.Setenv("WITAN_T_KEY", "sk-canary-0123456789")
	cfg := Default()
	if err := ParseConfig([]byte("account: The ${WITAN_T_NAME}\nmodels:\n  providers:\n    a: {kind: openai, key: \"${WITAN_T_KEY}\"}\n"), &cfg); err != nil {
		t.Fatal(err)
	}
	if cfg.Account != "The Home: {evil: yaml}" {
		t.Fatalf("account = %q", cfg.Account)
	}
	if got := cfg.Models.Providers["a"].Key.Reveal().Reveal(); got != "sk-canary-0123456789" {
		t.Fatalf("key = %q", got)
	}
	out, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte("canary")) || !bytes.Contains(out, []byte("${WITAN_T_KEY}")) {
		t.Fatalf("printed:\n%s", out)
	}
}

func TestLogsHideSecrets(t *testing.T) {
	t.Parallel()
	canaries := map[string]string{
		"our token": "wtn_0123456789abcdefghjk", "openai": "sk-proj-abcdefghijklmnop1234", "anthropic": "sk-ant-api03-abcdefghijklmnop",
		"aws": "AKIAIOSFODNN7EXAMPLE", "github": "ghp_abcdefghijklmnopqrstuvwxyz012345", "slack": "xoxb-1234567890-abcdef",
		"bearer": "Bearer eyJhbGciOi.payload.signature", "query": "GET /x?token=hunter2hunter2", "dsn": "postgres://witan:hunter2hunter2@db/witan",
	}
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log, err := NewLogger(&b, LogConfig{Format: format, Level: "debug"})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range canaries {
			log.Info("message with " + c)
			log.With("given", c).Warn("x", "detail", c, "error", fault.New(fault.Internal, "call %s failed", c))
			log.Info("x", "password", name+"-canary-value")
		}
		for name, c := range canaries {
			secretPart := c[strings.LastIndexAny(c, " =:")+1:]
			secretPart = strings.TrimSuffix(secretPart, "@db/witan")
			if strings.Contains(b.String(), secretPart) || strings.Contains(b.String(), name+"-canary-value") {
				t.Errorf("%s: %s leaks:\n%s", format, name, b.String())
				return
			}
		}
	}
}
