package agent

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// Source is one definition with the text it was read from.
type Source struct {
	File       string
	Text       []byte
	Definition Definition
}

//go:embed builtin
var builtinFiles embed.FS

// Coordinator is the name of the agent that answers what no route names.
const Coordinator = "coordinator"

// ReadSource parses one definition and keeps its text.
func ReadSource(file string, text []byte) (Source, error) {
	d, err := ParseDefinition(file, text)
	return Source{File: file, Text: text, Definition: d}, err
}

// ReadDir reads every *.yaml and *.yml of a folder, not of its sub-folders, in
// the order of their names. Two files that define one agent are an error.
func ReadDir(files fs.FS, dir string) ([]Source, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, fault.New(fault.Invalid, "read agents from %s: %w", dir, err)
	}
	var out []Source
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)) {
			continue
		}
		text, err := fs.ReadFile(files, path.Join(dir, name))
		if err != nil {
			return nil, fault.New(fault.Invalid, "read agent %s: %w", name, err)
		}
		s, err := ReadSource(name, text)
		if err != nil {
			return nil, err
		}
		for _, other := range out {
			if other.Definition.Name == s.Definition.Name {
				return nil, fault.New(fault.Conflict, "%s and %s both define %s", other.File, s.File, s.Definition.Name)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// WithBuiltins returns own definitions and those of the program that they do not
// replace by name.
func WithBuiltins(own []Source) ([]Source, error) {
	builtin, err := ReadDir(builtinFiles, "builtin")
	if err != nil {
		return nil, err
	}
	out := slices.Clone(own)
	for _, b := range builtin {
		if !slices.ContainsFunc(own, func(s Source) bool { return s.Definition.Name == b.Definition.Name }) {
			out = append(out, b)
		}
	}
	return out, nil
}

// ShippedPrompts returns the prompts of the agents of the program, for
// llm.Prompts.Seed. They hold instructions only, no input.
func ShippedPrompts() ([]llm.Prompt, error) {
	var out []llm.Prompt
	for _, n := range []string{Coordinator, summarisePrompt} {
		file := n + ".md"
		text, err := fs.ReadFile(builtinFiles, "builtin/"+file)
		if err != nil {
			return nil, fault.New(fault.Internal, "read prompt %s: %w", n, err)
		}
		p, err := llm.ParsePrompt(file, text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
