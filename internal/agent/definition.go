package agent

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Definition is what an agent is, as its YAML file says (seed 000 "Agents").
type Definition struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	// ModelRole is the role of the registry that answers for it; "respond" if empty.
	ModelRole string `yaml:"model_role"`
	// Prompt is the name of the prompt that is its system text; its own name if empty.
	Prompt string `yaml:"prompt"`
	// Skills is the allow-list: exact names, nothing else is offered or accepted.
	Skills []string `yaml:"skills"`
	Memory Memory   `yaml:"memory"`
	// Channels are those it answers on; empty means all.
	Channels []string `yaml:"channels"`
	Budgets  Budgets  `yaml:"budgets"`
	// Autonomy is the dial that policy starts from, 0 to 100; nil means 75.
	Autonomy *int `yaml:"autonomy"`
	// Split keeps texts below the requester's label out of its context: it plans
	// over their handles only (architecture §7).
	Split bool `yaml:"split"`
	// PlainCommands lets it answer the plain grammar while no model is set.
	PlainCommands bool `yaml:"plain_commands"`
}

// Memory names the scopes that the agent's memory skills may use.
type Memory struct {
	Scopes []string `yaml:"scopes"` // account, agent, workspace:ID
}

// Budgets bound one run. Zero fields take the default.
type Budgets struct {
	Tokens   int64 `yaml:"tokens"`    // in and out, of all model calls of a run; 200,000
	USDMicro int64 `yaml:"usd_micro"` // millionths of a US dollar per run; no bound, as the price of a model may not be known
	Steps    int   `yaml:"steps"`     // model replies per run; 20
	Context  int   `yaml:"context"`   // estimated tokens of thread history in a request; 16,000
	Answer   int64 `yaml:"answer"`    // tokens of one reply; 4,096
}

// Bounds of a definition.
const (
	maxDefinitionBytes = 64 << 10
	maxSkills          = 128
	maxSteps           = 200
	defaultAutonomy    = 75
)

var (
	agentName  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	dottedName = regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]{0,99}$`)
	scopeName  = regexp.MustCompile(`^(account|agent|workspace:[0-9a-z]{26})$`)
)

// ParseDefinition reads one definition. Unknown and double keys, anchors and
// further documents are errors that name their line; defaults are filled in.
// file is used in messages only.
func ParseDefinition(file string, text []byte) (Definition, error) {
	var d Definition
	if len(text) > maxDefinitionBytes {
		return d, fault.New(fault.Limited, "%s has %d bytes; a definition has at most %d", file, len(text), maxDefinitionBytes)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return d, located(file, err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return d, fault.New(fault.Invalid, "%s: want one YAML document", file)
	}
	var alias aliasFinder
	ast.Walk(&alias, tree.Docs[0].Body)
	if alias.line > 0 {
		return d, fault.New(fault.Invalid, "%s:%d: anchors and aliases are not read here", file, alias.line).WithFix("write the value out")
	}
	dec := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := dec.Decode(&d); err != nil && !errors.Is(err, io.EOF) {
		return d, located(file, err)
	}
	if err := d.fill(); err != nil {
		var f *fault.Error
		if errors.As(err, &f) {
			f = fault.New(f.Kind, "%s:%d: %s", file, lineOf(tree, f.Field), f.Message).On(f.Field)
			return d, f
		}
		return d, err
	}
	return d, nil
}

// fill checks d and puts the defaults in.
func (d *Definition) fill() error {
	bad := func(field, format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	if !agentName.MatchString(d.Name) {
		return bad("name", "want a lower-case name of at most 40 letters, digits and -, starting with a letter")
	}
	if d.Description == "" {
		return bad("description", "say in one sentence what the agent is for")
	}
	if d.ModelRole == "" {
		d.ModelRole = "respond"
	}
	if d.Prompt == "" {
		d.Prompt = d.Name
	}
	for _, v := range []struct{ field, is string }{{"model_role", d.ModelRole}, {"prompt", d.Prompt}} {
		if !dottedName.MatchString(v.is) {
			return bad(v.field, "%q is not a name", v.is)
		}
	}
	if len(d.Skills) > maxSkills {
		return bad("skills", "at most %d skills", maxSkills)
	}
	if err := names("skills", d.Skills, dottedName); err != nil {
		return err
	}
	if err := names("channels", d.Channels, dottedName); err != nil {
		return err
	}
	if err := names("memory.scopes", d.Memory.Scopes, scopeName); err != nil {
		return err
	}
	for _, b := range []struct {
		field           string
		is              *int64
		otherwise, most int64
	}{
		{"budgets.tokens", &d.Budgets.Tokens, 200_000, 1 << 40},
		{"budgets.usd_micro", &d.Budgets.USDMicro, 0, 1 << 40},
		{"budgets.answer", &d.Budgets.Answer, 4096, 1 << 20},
	} {
		if *b.is == 0 {
			*b.is = b.otherwise
		}
		if *b.is < 0 || *b.is > b.most {
			return bad(b.field, "want at most %d", b.most)
		}
	}
	if d.Budgets.Steps == 0 {
		d.Budgets.Steps = 20
	}
	if d.Budgets.Steps < 1 || d.Budgets.Steps > maxSteps {
		return bad("budgets.steps", "want 1 to %d", maxSteps)
	}
	if d.Budgets.Context == 0 {
		d.Budgets.Context = 16_000
	}
	if d.Budgets.Context < 500 || d.Budgets.Context > 4_000_000 {
		return bad("budgets.context", "want 500 to 4000000")
	}
	if d.Autonomy == nil {
		n := defaultAutonomy
		d.Autonomy = &n
	}
	if *d.Autonomy < 0 || *d.Autonomy > 100 {
		return bad("autonomy", "want 0 to 100")
	}
	return nil
}

// Holds reports whether the allow-list names skill.
func (d Definition) Holds(skill string) bool { return slices.Contains(d.Skills, skill) }

// AnswersOn reports whether the agent answers on a channel.
func (d Definition) AnswersOn(channel string) bool {
	return len(d.Channels) == 0 || slices.Contains(d.Channels, channel)
}

func names(field string, list []string, want *regexp.Regexp) error {
	for i, n := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		if !want.MatchString(n) {
			return fault.New(fault.Invalid, "%q is not a name", n).On(at)
		}
		if slices.Index(list, n) != i {
			return fault.New(fault.Invalid, "%q is there twice", n).On(at)
		}
	}
	return nil
}

// definitionDigest is the digest of a definition's text: what makes a version.
func definitionDigest(text []byte) string {
	sum := canon.Digest("witan/agent", text)
	return hex.EncodeToString(sum[:])
}
