package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/witan-run/witan/internal/kit/fault"
)

// file is a manifest as people write it. Its keys are the only ones allowed.
type file struct {
	Name        string        `yaml:"name" json:"name"`
	Version     string        `yaml:"version" json:"version"`
	Kind        Kind          `yaml:"kind" json:"kind"`
	Description string        `yaml:"description" json:"description"`
	Title       string        `yaml:"title" json:"title"`
	Input       any           `yaml:"input" json:"input"`
	Output      any           `yaml:"output" json:"output"`
	Risk        Risk          `yaml:"action_risk" json:"action_risk"`
	Access      Access        `yaml:"access" json:"access"`
	Target      []string      `yaml:"target" json:"target"`
	Permissions []Permission  `yaml:"permissions" json:"permissions"`
	Class       Class         `yaml:"effect_class" json:"effect_class"`
	ReadBack    ReadBack      `yaml:"read_back" json:"read_back"`
	TimeoutMS   int           `yaml:"timeout_ms" json:"timeout_ms"`
	Resources   fileResources `yaml:"resources" json:"resources"`
	Secrets     []string      `yaml:"secrets" json:"secrets"`
	OutputLabel string        `yaml:"output_label" json:"output_label"`
	Undoable    bool          `yaml:"undoable" json:"undoable"`
	Sensitive   bool          `yaml:"sensitive" json:"sensitive"`
}

type fileResources struct {
	MoneyMicros int64 `yaml:"money_micros" json:"money_micros"`
	OutputBytes int   `yaml:"output_bytes" json:"output_bytes"`
}

// Parse reads a manifest from YAML or JSON. An unknown key, a key that stands
// twice, a wrong type or a value that breaks a rule is fault.Invalid; its
// message names the line, its Field the key.
func Parse(text []byte) (Manifest, error) {
	var f file
	tree, err := decodeStrict(text, &f)
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Name: f.Name, Version: f.Version, Kind: f.Kind, Description: f.Description, Title: f.Title,
		Risk: f.Risk, Access: f.Access, Target: f.Target, Permissions: f.Permissions, Class: f.Class,
		ReadBack: f.ReadBack, TimeoutMS: f.TimeoutMS, Secrets: f.Secrets, OutputLabel: f.OutputLabel,
		Undoable: f.Undoable, Sensitive: f.Sensitive,
		Resources: Resources{MoneyMicros: f.Resources.MoneyMicros, OutputBytes: f.Resources.OutputBytes}}
	if f.Input != nil {
		if m.Input, err = schemaText(f.Input); err != nil {
			return Manifest{}, fault.New(fault.Invalid, "schema is no JSON: %w", err).On("input")
		}
	}
	if f.Output != nil {
		if m.Output, err = schemaText(f.Output); err != nil {
			return Manifest{}, fault.New(fault.Invalid, "schema is no JSON: %w", err).On("output")
		}
	}
	if err := m.Validate(); err != nil {
		return Manifest{}, atLine(tree, err)
	}
	return m, nil
}

// decodeStrict fills v, which has yaml and json tags of the same names.
func decodeStrict(text []byte, v any) (ast.Node, error) {
	if len(text) > MaxFile {
		return nil, fault.New(fault.Limited, "a manifest has at most %d bytes", MaxFile)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return nil, fault.New(fault.Invalid, "a manifest is one document, not %d", len(tree.Docs))
	}
	// Aliases can expand a small text into a huge value; nobody needs them here.
	a := &anchors{}
	ast.Walk(a, tree.Docs[0].Body)
	if a.line > 0 {
		return nil, fault.New(fault.Invalid, "line %d: anchors, aliases and merge keys are not allowed", a.line)
	}
	if err := yaml.UnmarshalWithOptions(text, v, yaml.Strict()); err != nil {
		return nil, yamlError(err)
	}
	// JSON escapes are not YAML's (surrogate pairs): the values come from the
	// JSON reader, lines and strictness from the pass above.
	if json.Valid(text) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil {
			return nil, fault.New(fault.Invalid, "%w", err)
		}
	}
	return tree.Docs[0].Body, nil
}

type anchors struct{ line int }

// Visit implements ast.Visitor.
func (a *anchors) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		if a.line == 0 {
			a.line = n.GetToken().Position.Line
		}
	default:
	}
	return a
}

// yamlError turns a parser error into one sentence with its line.
func yamlError(err error) error {
	var y yaml.Error
	if !errors.As(err, &y) {
		return fault.New(fault.Invalid, "%w", err)
	}
	msg, _, _ := strings.Cut(y.GetMessage(), "\n")
	if y.GetToken() == nil {
		return fault.New(fault.Invalid, "%s", msg)
	}
	out := fault.New(fault.Invalid, "line %d: %s", y.GetToken().Position.Line, msg)
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		return out.On(unknown.Token.Value).WithFix("remove the key, or look for its right spelling")
	}
	return out
}

// atLine adds the line of the faulty field to a validation error.
func atLine(tree ast.Node, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Field == "" {
		return err
	}
	line := lineOf(tree, strings.Split(f.Field, "."))
	if line == 0 {
		return err
	}
	c := *f
	c.Message = fmt.Sprintf("line %d: %s", line, f.Message)
	return &c
}

// lineOf returns the line of the deepest key of path that the file has.
func lineOf(n ast.Node, path []string) int {
	m, ok := n.(ast.MapNode)
	if !ok || len(path) == 0 {
		return 0
	}
	for it := m.MapRange(); it.Next(); {
		if it.Key().GetToken().Value != path[0] {
			continue
		}
		if deeper := lineOf(it.Value(), path[1:]); deeper > 0 {
			return deeper
		}
		return it.Key().GetToken().Position.Line
	}
	return 0
}
