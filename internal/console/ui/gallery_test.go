package ui

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGallery writes every sample page to the folder named by WITAN_GALLERY, in both
// themes, to be looked at in a browser beside the embedded assets.
func TestGallery(t *testing.T) {
	dir := os.Getenv("WITAN_GALLERY")
	if dir == "" {
		t.Skip("WITAN_GALLERY names no folder")
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
