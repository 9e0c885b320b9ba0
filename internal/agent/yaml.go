package agent

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/witan-run/witan/internal/kit/fault"
)

// located turns an error of the YAML library into ours: file, line, what.
func located(file string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		t := y.GetToken()
		return fault.New(fault.Invalid, "%s:%d: %s", file, t.Position.Line, y.GetMessage()).On(strings.TrimSpace(t.Value))
	}
	return fault.New(fault.Invalid, "%s: %s", file, err.Error())
}

// lineOf returns the line of a field named as in our errors ("skills[2]"), or
// the first line for one that is not there.
func lineOf(f *ast.File, field string) int {
	path, err := yaml.PathString("$." + field)
	if err != nil {
		return 1
	}
	n, err := path.FilterFile(f)
	if err != nil || n == nil || n.GetToken() == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

// aliasFinder finds the first anchor or alias: a definition is short, and an
// alias can make a short text large.
type aliasFinder struct{ line int }

// Visit implements ast.Visitor.
func (a *aliasFinder) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		if a.line == 0 {
			a.line = n.GetToken().Position.Line
		}
	}
	return a
}
