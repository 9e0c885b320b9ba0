// Package bundle makes the console's browser files out of their sources with esbuild's
// Go API, so that no Node is needed to build Witan. It is used by the generator and by
// the test that proves the committed files fresh; the program does not import it.
//
// It reads the folder it is given and returns bytes; it writes nothing, starts no
// goroutine of its own and imports nothing of Witan.
package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// Build returns the content of each embedded file by name. src is the folder that holds
// css, js, font and icon.svg. The same sources give the same bytes.
func Build(src string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, entry := range map[string]string{
		"app.css": "./css/app.css",
		"app.js":  "./js/main.js",
	} {
		data, err := run(src, entry)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", name, err)
		}
		out[name] = data
	}
	for _, name := range []string{"font/inter.woff2", "font/inter-ext.woff2", "font/mono.woff2", "icon.svg"} {
		data, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		out[filepath.Base(name)] = data
	}
	return out, nil
}

func run(src, entry string) ([]byte, error) {
	abs, err := filepath.Abs(src)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", src, err)
	}
	res := api.Build(api.BuildOptions{
		EntryPoints:       []string{entry},
		AbsWorkingDir:     abs,
		Bundle:            true,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		Charset:           api.CharsetUTF8,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsNone,
		External:          []string{"*.woff2"},
		LogLevel:          api.LogLevelSilent,
	})
	if len(res.Errors) > 0 {
		e := res.Errors[0]
		if e.Location != nil {
			return nil, fmt.Errorf("%s:%d: %s", e.Location.File, e.Location.Line, e.Text)
		}
		return nil, errors.New(e.Text)
	}
	if len(res.OutputFiles) != 1 {
		return nil, fmt.Errorf("want one file, have %d", len(res.OutputFiles))
	}
	return res.OutputFiles[0].Contents, nil
}
