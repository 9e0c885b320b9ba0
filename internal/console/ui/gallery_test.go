package ui

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGallery renders every sample page in both themes; into the folder named by
// WITAN_GALLERY, they are to be looked at in a browser beside the embedded assets.
func TestGallery(t *testing.T) {
	dir := os.Getenv("WITAN_GALLERY")
	if dir == "" {
		dir = t.TempDir() // every page renders, also when nobody looks
	}
	for _, s := range gallery() {
		for _, theme := range []string{"light", "dark"} {
			h := Head{Theme: theme, CSS: "/dist/app.css", JS: "/dist/app.js", Icon: "/dist/icon.svg"}
			var b bytes.Buffer
			if err := s.page(h).Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, s.name+"-"+theme+".html"), b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
