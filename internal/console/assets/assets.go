// Package assets holds the console's browser files: one style sheet, one script, three
// fonts and an icon, embedded in the binary. Nothing is fetched from elsewhere.
//
// Invariants: the files in dist are made from src by gen and committed (a test proves
// them fresh); JS ≤ 120 KB and CSS ≤ 12 KB gzipped, fonts ≤ 160 KB (a test measures).
// Addresses carry a digest of the content, so they may be cached for ever.
//
// It imports the standard library only and starts no goroutine.
package assets

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

//go:generate go run ./gen

//go:embed dist
var dist embed.FS

// Prefix is where the bundle is served.
const Prefix = "/assets/"

// Bundle is the embedded files with their types and one digest over all of them.
type Bundle struct {
	build string
	files map[string]file
}

type file struct {
	data []byte
	kind string
}

// Load reads the embedded files. It fails only if the binary was built from a broken
// tree.
func Load() (*Bundle, error) {
	b := &Bundle{files: map[string]file{}}
	sum := sha256.New()
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("read embedded assets: %w", err)
	}
	for _, e := range entries {
		data, err := dist.ReadFile("dist/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read embedded asset %s: %w", e.Name(), err)
		}
		_, _ = fmt.Fprintf(sum, "%s %d ", e.Name(), len(data)) // a hash never fails
		_, _ = sum.Write(data)
		b.files[e.Name()] = file{data: data, kind: kind(e.Name())}
	}
	b.build = hex.EncodeToString(sum.Sum(nil))[:12]
	return b, nil
}

// URL is the address of a file by its name, "/assets/3f2a…/app.css". An unknown name
// gives the empty string, which the pages leave out.
func (b *Bundle) URL(name string) string {
	if _, ok := b.files[name]; !ok {
		return ""
	}
	return Prefix + b.build + "/" + name
}

// ServeHTTP answers GET and HEAD under Prefix. Files of another build answer 404, so an
// old page never mixes with a new script.
func (b *Bundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, Prefix+b.build+"/")
	f, known := b.files[rest]
	if !ok || !known {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	http.ServeContent(w, r, rest, time.Time{}, bytes.NewReader(f.data))
}

func kind(name string) string {
	switch {
	case strings.HasSuffix(name, ".css"):
		return "text/css; charset=utf-8"
	case strings.HasSuffix(name, ".js"):
		return "text/javascript; charset=utf-8"
	case strings.HasSuffix(name, ".woff2"):
		return "font/woff2"
	case strings.HasSuffix(name, ".svg"):
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// Policy is the content security policy under which every console page runs: no inline
// script, no inline style, nothing from elsewhere.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
