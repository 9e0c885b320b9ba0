package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Contract is the compiled input and output schema of a skill. It is read-only
// and safe for concurrent use; compiling costs, so callers keep it by hash.
type Contract struct {
	input, output *jsonschema.Schema // nil accepts anything
	arguments     []string           // names in the input schema's properties
	open          bool               // the input schema allows further names
}

func (c *Contract) has(name string) bool { return slices.Contains(c.arguments, name) }

// Arguments returns the names the input schema declares, sorted.
func (c *Contract) Arguments() []string { return slices.Clone(c.arguments) }

// noLoader refuses every reference out of the schema: a manifest must not make
// us read a file or a URL.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("a schema may not refer to " + url)
}

// Contract compiles the schemas. The input schema must be an object schema.
// A schema that is no valid JSON Schema (draft 2020-12 unless it says other) is
// fault.Invalid on "input" or "output".
func (m Manifest) Contract() (*Contract, error) {
	c := &Contract{}
	var err error
	if c.input, err = compile("input", m.Input); err != nil {
		return nil, err
	}
	if c.output, err = compile("output", m.Output); err != nil {
		return nil, err
	}
	if m.Input != nil {
		var top struct {
			Type       any                        `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Additional any                        `json:"additionalProperties"`
		}
		if err := json.Unmarshal(m.Input, &top); err != nil || top.Type != "object" {
			return nil, fault.New(fault.Invalid, `the input schema's type must be "object"`).On("input")
		}
		for name := range top.Properties {
			c.arguments = append(c.arguments, name)
		}
		slices.Sort(c.arguments)
		c.open = top.Additional != false
	}
	return c, nil
}

func compile(field string, raw json.RawMessage) (*jsonschema.Schema, error) {
	if raw == nil {
		return nil, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fault.New(fault.Invalid, "schema is no JSON: %w", err).On(field)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	url := "witan:///" + field
	if err := c.AddResource(url, doc); err != nil {
		return nil, fault.New(fault.Invalid, "schema: %w", err).On(field)
	}
	s, err := c.Compile(url)
	if err != nil {
		return nil, fault.New(fault.Invalid, "schema: %w", err).On(field)
	}
	return s, nil
}

// CheckInput returns fault.Invalid, with the argument's pointer as its field,
// when the arguments break the input schema. A skill without an input schema
// takes no arguments.
func (c *Contract) CheckInput(arguments []byte) error {
	doc, err := decodeAny(arguments)
	if err != nil {
		return fault.New(fault.Invalid, "arguments are no JSON").On("arguments")
	}
	obj, ok := doc.(map[string]any)
	if !ok {
		return fault.New(fault.Invalid, "arguments must be an object").On("arguments")
	}
	if c.input == nil {
		if len(obj) > 0 {
			return fault.New(fault.Invalid, "this skill takes no arguments").On("arguments")
		}
		return nil
	}
	return check(c.input, doc, true)
}

// CheckOutput returns fault.Invalid when an output breaks the output schema.
// The message never repeats the output: it may hold what must not be recorded.
func (c *Contract) CheckOutput(output []byte) error {
	if c.output == nil {
		return nil
	}
	doc, err := decodeAny(output)
	if err != nil {
		return fault.New(fault.Invalid, "output is no JSON").On("output")
	}
	return check(c.output, doc, false)
}

func check(s *jsonschema.Schema, doc any, detail bool) error {
	err := s.Validate(doc)
	if err == nil {
		return nil
	}
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return fault.New(fault.Invalid, "does not match its schema")
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	where := "/" + strings.Join(v.InstanceLocation, "/")
	if !detail {
		return fault.New(fault.Invalid, "breaks %q of its schema", strings.Join(v.ErrorKind.KeywordPath(), "/")).On(where)
	}
	msg := v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	const most = 300
	if len(msg) > most {
		msg = strings.ToValidUTF8(msg[:most], "") + "…"
	}
	return fault.New(fault.Invalid, "%s", msg).On(where)
}
