package internal_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/witan-run/witan"

// source is one file of the module as the rules see it.
type source struct {
	path      string // from the module root, with slashes
	dir       string // folder of path
	text      []byte
	lines     int
	generated bool

	// For Go files only.
	test    bool
	name    string // package name
	ast     *ast.File
	imports []importOf
}

// importOf is one import of a Go file.
type importOf struct {
	path string // as written
	name string // the name it has in the file
}

// internal returns the path below internal, or "" for another import.
func (i importOf) internal() string {
	rest, _ := strings.CutPrefix(i.path, module+"/internal/")
	if rest == i.path {
		return ""
	}
	return rest
}

// pkg returns the package below internal that the file is in, or "".
func (s source) pkg() string {
	rest, ok := strings.CutPrefix(s.dir, "internal/")
	if !ok {
		return ""
	}
	return rest
}

func (s source) isGo() bool     { return s.ast != nil }
func (s source) external() bool { return s.test && strings.HasSuffix(s.name, "_test") }

// local returns the name that an import path has in the file, or "".
func (s source) local(importPath string) string {
	for _, i := range s.imports {
		if i.path == importPath {
			return i.name
		}
	}
	return ""
}

func generatedLine() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
}

// newSource parses one file. Files that do not parse are reported by the
// compiler; here they are an error of the test.
func newSource(name string, text []byte) (source, error) {
	s := source{path: name, dir: path.Dir(name), text: text}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		s.lines++
	}
	if path.Ext(name) != ".go" {
		return s, nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return s, err
	}
	s.ast, s.name, s.test = f, f.Name.Name, strings.HasSuffix(name, "_test.go")
	s.generated = generatedLine().Match(text)
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return s, err
		}
		i := importOf{path: p, name: path.Base(p)}
		if spec.Name != nil {
			i.name = spec.Name.Name
		}
		s.imports = append(s.imports, i)
	}
	return s, nil
}

// loadModule reads every text file of the repository that people write.
func loadModule(t *testing.T) []source {
	t.Helper()
	kinds := []string{".go", ".md", ".sql", ".templ", ".ts", ".js", ".mjs", ".css", ".sh", ".yml", ".yaml", ".json", ".txtar", ".mod"}
	skip := []string{".git", ".cache", "node_modules", "third_party", "bin", "dist"}
	var out []source
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(skip, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		rel := filepath.ToSlash(strings.TrimPrefix(name, ".."+string(filepath.Separator)))
		plain := strings.HasPrefix(rel, ".ci/") || path.Base(rel) == "Makefile"
		if !plain && !slices.Contains(kinds, path.Ext(rel)) {
			return nil
		}
		if strings.Contains("/"+rel, "/testdata/") && path.Ext(rel) == ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := newSource(rel, text)
		if err != nil {
			return err
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
