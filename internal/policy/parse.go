package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

func asFault(err error, e **fault.Error) bool { return errors.As(err, e) }

// Parse reads a document from YAML or JSON, strictly: an unknown key, a key
// twice, an anchor, a second document or a broken rule is fault.Invalid, with
// its line. The text has at most 256 KiB.
func Parse(text []byte) (d Document, err error) {
	if len(text) > maxDocument {
		return Document{}, fault.New(fault.Limited, "a policy has at most %d bytes", maxDocument)
	}
	if err := shallow(text); err != nil {
		return Document{}, err
	}
	// The reader is not ours: a panic in it is a text that cannot be read.
	defer func() {
		if p := recover(); p != nil {
			d, err = Document{}, fault.New(fault.Invalid, "the text cannot be read as YAML")
		}
	}()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Document{}, lined(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return Document{}, fault.New(fault.Invalid, "a policy is one document")
	}
	body := file.Docs[0].Body
	var v plain
	if ast.Walk(&v, body); v.bad != nil {
		return Document{}, fault.New(fault.Invalid, "line %d: anchors, aliases, merges, tags and fractions are not read here", v.bad.GetToken().Position.Line)
	}
	if err := yaml.NodeToValue(body, &d, yaml.Strict()); err != nil {
		return Document{}, lined(err)
	}
	// What has no canonical form could not be stored, and a rule that does not
	// compile could not be applied.
	if _, err := d.JSON(); err != nil {
		return Document{}, err
	}
	if _, err := Compile(0, d); err != nil {
		return Document{}, withLine(err, file)
	}
	return d, nil
}

// shallow refuses deep nesting before the reader recurses into it.
func shallow(text []byte) error {
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > canon.MaxDepth {
			return fault.New(fault.Invalid, "the text is nested too deep")
		}
	}
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimLeft(line, " -?")
		if len(line)-len(trimmed) > 4*canon.MaxDepth {
			return fault.New(fault.Invalid, "the text is nested too deep")
		}
	}
	return nil
}

// plain finds a node that makes a document more than it looks.
type plain struct{ bad ast.Node }

// Visit implements ast.Visitor.
func (p *plain) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType, ast.TagType, ast.FloatType, ast.InfinityType, ast.NanType:
		p.bad = n
	}
	if p.bad != nil {
		return nil
	}
	return p
}

// lined turns an error of the reader into one sentence with its line.
func lined(err error) error {
	var at interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		return fault.New(fault.Invalid, "line %d: %s", at.GetToken().Position.Line, first(at.GetMessage()))
	}
	return fault.New(fault.Invalid, "the policy cannot be read: %s", first(err.Error()))
}

func first(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// withLine adds the line on which a broken field, or its rule, stands.
func withLine(err error, file *ast.File) error {
	var e *fault.Error
	if !asFault(err, &e) || e.Field == "" {
		return err
	}
	field, _, _ := strings.Cut(e.Field, "./") // an argument's pointer is no path
	for field != "" {
		if path, perr := yaml.PathString("$." + field); perr == nil {
			if n, perr := path.FilterFile(file); perr == nil && n != nil && n.GetToken() != nil {
				return fault.New(e.Kind, "line %d: %s", n.GetToken().Position.Line, e.Message).On(e.Field).WithFix("%s", e.Fix)
			}
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return fmt.Errorf("policy: %w", err)
}
