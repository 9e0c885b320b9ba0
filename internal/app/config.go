package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// Config is the one configuration file, witan.yaml. Unknown keys are errors
// with their line. ${NAME} anywhere in a value is replaced from the environment.
type Config struct {
	Data      string    `yaml:"data" doc:"Folder that holds everything: database, keyring, files."`
	Listen    string    `yaml:"listen" doc:"Address of the HTTP server. Loopback unless you say otherwise."`
	PublicURL string    `yaml:"public_url" doc:"Address people type. A passkey belongs to its host name, which cannot be an IP address."`
	Database  Secret    `yaml:"database" doc:"PostgreSQL connection string; empty means SQLite in the data folder."`
	Account   string    `yaml:"account" doc:"Name of the account that the first start makes."`
	Agents    string    `yaml:"agents" doc:"Folder of agent definitions (YAML files)."`
	TimeZone  string    `yaml:"time_zone" doc:"Zone in which times are shown and read, and whose midnight begins a day, like Europe/Vienna. Empty takes the system's."`
	Log       LogConfig `yaml:"log" doc:"What is logged, and how."`
	Models    Models    `yaml:"models" doc:"Model providers, and which role uses which."`
	Channels  Channels  `yaml:"channels" doc:"Outside media. The console and the command line are always there."`
	Limits    Limits    `yaml:"limits" doc:"How many messages are taken in; what is over waits for a person."`
	Fetch     Fetch     `yaml:"fetch" doc:"Limits of the skill http.fetch."`
	Telemetry Telemetry `yaml:"telemetry" doc:"Where traces go. Metrics are always at /metrics."`
}

// LogConfig says how logs look.
type LogConfig struct {
	Format string `yaml:"format" doc:"text or json."`
	Level  string `yaml:"level" doc:"debug, info, warn or error."`
}

// Models are the model providers and roles.
type Models struct {
	Providers map[string]Provider `yaml:"providers" doc:"Providers by a name of your own. The published list prices go with the names anthropic and openai."`
	Roles     map[string][]string `yaml:"roles" doc:"Role to a list of PROVIDER/MODEL: the first that answers is used. The role default stands for all that are not named."`
	Prices    map[string]Price    `yaml:"prices" doc:"PROVIDER/MODEL to its price, for models that the list prices do not have. A model without a known price does not run under a money budget."`
	DayUSD    string              `yaml:"day_usd" doc:"Money that all agents may spend in a day, like 5.00. Empty means no limit."`
	DayTokens int64               `yaml:"day_tokens" doc:"Tokens that all agents may use in a day. 0 means no limit."`
}

// Provider is one place where models answer.
type Provider struct {
	Kind      string `yaml:"kind" doc:"openai (any compatible server), anthropic, bedrock or script."`
	BaseURL   string `yaml:"base_url" doc:"Address of the API, if not the vendor's own."`
	Key       Secret `yaml:"key" doc:"API key, as ${NAME} or file:PATH. A key in clear is refused."`
	Region    string `yaml:"region" doc:"AWS region (bedrock)."`
	AccessKey Secret `yaml:"access_key" doc:"AWS access key id (bedrock)."`
	SecretKey Secret `yaml:"secret_key" doc:"AWS secret access key (bedrock)."`
	Session   Secret `yaml:"session_token" doc:"AWS session token (bedrock), if any."`
	Price     string `yaml:"price" doc:"free if no model of this provider costs anything, as Ollama or llama.cpp on a machine of your own; empty takes models.prices, then the list prices."`
	Script    string `yaml:"script" doc:"File with the scripted answers (script)."`
}

// Channels are the configured outside media.
type Channels struct {
	HTTP map[string]HTTPChannel `yaml:"http" doc:"Channels for outside programs, by name: POST /api/v1/channels/NAME/messages."`
}

// HTTPChannel is a channel that an outside program speaks.
type HTTPChannel struct {
	Trust    string `yaml:"trust" doc:"high, medium or low."`
	Unknown  string `yaml:"unknown" doc:"What happens to an unknown sender: hold, reject or allow."`
	Webhook  string `yaml:"webhook" doc:"Where answers are posted. Empty: the program reads them by GET or SSE."`
	Secret   Secret `yaml:"secret" doc:"Key of the webhook's signature, as ${NAME} or file:PATH."`
	Loopback bool   `yaml:"loopback" doc:"Let the webhook be on this machine."`
}

// Limits bound what is taken in, in messages a minute.
type Limits struct {
	Person    int64 `yaml:"person" doc:"Of one signed-in person."`
	People    int64 `yaml:"people" doc:"Of all people of the account together."`
	Sender    int64 `yaml:"sender" doc:"Of one outside sender."`
	Outsiders int64 `yaml:"outsiders" doc:"Of all outside senders together."`
}

// Fetch limits http.fetch.
type Fetch struct {
	Loopback bool `yaml:"loopback" doc:"Let http.fetch reach this machine. For development only."`
}

// Telemetry says where traces go.
type Telemetry struct {
	OTLP string `yaml:"otlp" doc:"OTLP/HTTP endpoint for traces; empty means none."`
}

// Secret is a configured secret: the reference is kept for printing, the text
// is only revealed at use.
type Secret struct {
	ref   string
	value secret.String
}

// Reveal returns the text.
func (s Secret) Reveal() secret.String { return s.value }

// Set reports whether there is a value.
func (s Secret) Set() bool { return !s.value.Empty() }

// PlainSecret is a secret given on the command line or by a test.
func PlainSecret(v string) Secret { return Secret{ref: "(flag)", value: secret.New(v)} }

// MarshalYAML prints the reference, never the text.
func (s Secret) MarshalYAML() (any, error) {
	if s.ref == "" && s.value.Empty() {
		return "", nil
	}
	return cmp.Or(s.ref, s.value.String()), nil
}

// UnmarshalYAML resolves ${NAME} and file:PATH. A secret in clear is refused:
// it would end up in version control.
func (s *Secret) UnmarshalYAML(unmarshal func(any) error) error {
	var raw string
	if err := unmarshal(&raw); err != nil {
		return err
	}
	if raw == "" {
		return nil
	}
	s.ref = raw
	switch {
	case strings.HasPrefix(raw, "file:"):
		b, err := os.ReadFile(strings.TrimPrefix(raw, "file:"))
		if err != nil {
			return fmt.Errorf("read the secret %s: %w", raw, errors.Unwrap(err))
		}
		s.value = secret.New(strings.TrimRight(string(b), "\r\n"))
	case strings.HasPrefix(raw, "${") && strings.HasSuffix(raw, "}"):
		name := raw[2 : len(raw)-1]
		v, ok := os.LookupEnv(name)
		if !ok {
			return fmt.Errorf("the environment variable %s is not set", name)
		}
		s.value = secret.New(v)
	default:
		return errors.New("a secret stands here in clear; write ${NAME} or file:PATH")
	}
	if s.value.Empty() {
		return fmt.Errorf("the secret %s is empty", raw)
	}
	return nil
}

const maxPerMinute = 1_000_000

// Default returns the configuration of a start without any file.
func Default() Config {
	return Config{
		Data: defaultData(), Listen: "127.0.0.1:7420", Account: "Home",
		Log: LogConfig{Format: "text", Level: "info"}, Limits: Limits{Person: 600, People: 6000, Sender: 15, Outsiders: 100},
	}
}

// defaultData follows the XDG base directory rules.
func defaultData() string {
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "witan")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "witan-data"
	}
	return filepath.Join(home, ".local", "share", "witan")
}

// LoadConfig reads the file at path over the defaults. An empty path means
// witan.yaml in the data folder, which need not exist.
func LoadConfig(path string) (Config, error) {
	c := Default()
	optional := path == ""
	if optional {
		path = filepath.Join(c.Data, "witan.yaml")
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && optional {
		return c, nil
	}
	if err != nil {
		return c, fault.New(fault.NotFound, "read the configuration: %w", err).On("config")
	}
	if err := ParseConfig(b, &c); err != nil {
		return c, err
	}
	return c, nil
}

// ParseConfig decodes YAML strictly over c.
func ParseConfig(b []byte, c *Config) error {
	if err := yaml.UnmarshalWithOptions(b, c, yaml.Strict()); err != nil {
		return fault.New(fault.Invalid, "%s", yaml.FormatError(err, false, false)).On("config").
			WithFix("see docs/config.md for every key")
	}
	return expand(reflect.ValueOf(c).Elem(), "")
}

// Check validates what a decoder cannot, and fills what follows from the rest.
func (c *Config) Check() error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil || port == "" {
		return fault.New(fault.Invalid, "%q is no address", c.Listen).On("listen").WithFix("write HOST:PORT, like 127.0.0.1:7420")
	}
	if c.PublicURL == "" {
		if host == "" || host == "0.0.0.0" || host == "::" || net.ParseIP(host) != nil && net.ParseIP(host).IsLoopback() {
			host = "localhost" // a passkey cannot be made on an IP address
		}
		c.PublicURL = "http://" + net.JoinHostPort(host, port)
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return fault.New(fault.Invalid, "%q is no address that a browser can open", c.PublicURL).On("public_url").
			WithFix("write https://HOST or http://localhost:PORT")
	}
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	switch c.Log.Format {
	case "text", "json":
	default:
		return fault.New(fault.Invalid, "%q is no log format", c.Log.Format).On("log.format").WithFix("text or json")
	}
	if _, err := logLevel(c.Log.Level); err != nil {
		return err
	}
	for field, n := range map[string]int64{"person": c.Limits.Person, "people": c.Limits.People, "sender": c.Limits.Sender, "outsiders": c.Limits.Outsiders} {
		if n < 1 || n > maxPerMinute {
			return fault.New(fault.Invalid, "%d messages a minute is not between 1 and %d", n, int64(maxPerMinute)).On("limits." + field)
		}
	}
	if _, err := c.zone(); err != nil {
		return err
	}
	for name, p := range c.Models.Providers {
		if err := p.check("models.providers." + name); err != nil {
			return err
		}
	}
	if _, err := c.Models.ownPrices(); err != nil {
		return err
	}
	for role, list := range c.Models.Roles {
		for _, ref := range list {
			prov, model, ok := strings.Cut(ref, "/")
			if _, known := c.Models.Providers[prov]; !ok || !known || model == "" {
				return fault.New(fault.Invalid, "%q names no configured provider and model", ref).On("models.roles." + role).
					WithFix("write PROVIDER/MODEL with a name from models.providers")
			}
		}
	}
	for name, h := range c.Channels.HTTP {
		if err := h.check("channels.http." + name); err != nil {
			return err
		}
	}
	return nil
}

func (p Provider) check(at string) error {
	if p.Price != "" && p.Price != free {
		return fault.New(fault.Invalid, "%q is no price of a provider", p.Price).On(at + ".price").WithFix("say free, or give models.prices")
	}
	switch p.Kind {
	case "openai", "anthropic":
		return nil
	case "bedrock":
		if p.Region == "" {
			return fault.New(fault.Invalid, "bedrock needs a region").On(at + ".region")
		}
		return nil
	case "script":
		if p.Script == "" {
			return fault.New(fault.Invalid, "a scripted provider needs a file").On(at + ".script")
		}
		return nil
	}
	return fault.New(fault.Invalid, "%q is no kind of provider", p.Kind).On(at + ".kind").WithFix("openai, anthropic, bedrock or script")
}

func (h HTTPChannel) check(at string) error {
	if h.Webhook != "" && !h.Secret.Set() {
		return fault.New(fault.Invalid, "a webhook needs a secret to sign with").On(at + ".secret")
	}
	for field, v := range map[string][2]string{"trust": {h.Trust, "high medium low"}, "unknown": {h.Unknown, "hold reject allow"}} {
		if v[0] != "" && !strings.Contains(" "+v[1]+" ", " "+v[0]+" ") {
			return fault.New(fault.Invalid, "%q is not one of: %s", v[0], v[1]).On(at + "." + field)
		}
	}
	return nil
}
