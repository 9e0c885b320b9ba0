package assets

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/console/assets/bundle"
)

func zipped(t *testing.T, data []byte) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// TestBudgets holds the sizes of DESIGN §2, gzipped but for the fonts, which are
// compressed already.
func TestBudgets(t *testing.T) {
	t.Parallel()
	b, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	fonts := 0
	for name, f := range b.files {
		if strings.HasSuffix(name, ".woff2") {
			fonts += len(f.data)
		}
	}
	for _, tt := range []struct {
		name      string
		got, most int
	}{
		{"app.js", zipped(t, b.files["app.js"].data), 120 << 10},
		{"app.css", zipped(t, b.files["app.css"].data), 12 << 10},
		{"fonts", fonts, 160 << 10},
	} {
		t.Logf("%-8s %6d of %6d bytes", tt.name, tt.got, tt.most)
		if tt.got > tt.most || tt.got == 0 {
			t.Errorf("%s is %d bytes, the budget is %d", tt.name, tt.got, tt.most)
		}
	}
}

// TestBundleIsFresh builds the bundle again and compares every byte.
func TestBundleIsFresh(t *testing.T) {
	t.Parallel()
	want, err := bundle.Build("src")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range want {
		if !bytes.Equal(data, b.files[name].data) {
			t.Errorf("%s is stale: run go generate ./internal/console/assets", name)
		}
	}
	for name := range b.files {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is embedded and made by nothing", name)
		}
	}
}

// TestNothingIsFetchedFromElsewhere: the bundle names no other origin.
func TestNothingIsFetchedFromElsewhere(t *testing.T) {
	t.Parallel()
	b, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range b.files {
		if strings.HasSuffix(name, ".woff2") {
			continue
		}
		text := strings.ReplaceAll(string(f.data), "http://www.w3.org/2000/svg", "")
		for _, bad := range []string{"http://", "https://", "eval(", "new Function", "outerHTML", "document.write", "insertAdjacentHTML"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		if regexp.MustCompile(`innerHTML\s*=[^=]`).MatchString(text) {
			t.Errorf("%s writes markup from a string", name)
		}
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	b, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		code int
		kind string
	}{
		{b.URL("app.css"), http.StatusOK, "text/css; charset=utf-8"},
		{b.URL("app.js"), http.StatusOK, "text/javascript; charset=utf-8"},
		{b.URL("inter.woff2"), http.StatusOK, "font/woff2"},
		{b.URL("icon.svg"), http.StatusOK, "image/svg+xml"},
		{Prefix + "000000000000/app.css", http.StatusNotFound, ""},
		{b.URL("app.css") + "/../../secret", http.StatusNotFound, ""},
		{Prefix, http.StatusNotFound, ""},
	} {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
		if w.Code != tt.code {
			t.Errorf("%s: %d, want %d", tt.path, w.Code, tt.code)
		}
		if tt.code == http.StatusOK {
			if got := w.Header().Get("Content-Type"); got != tt.kind {
				t.Errorf("%s: type %q", tt.path, got)
			}
			if !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s may not be cached", tt.path)
			}
		}
	}
	if b.URL("nothing") != "" {
		t.Error("an unknown file has an address")
	}
}

// TestLicences: what is vendored carries its licence.
func TestLicences(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{"inter": "SIL Open Font License", "jetbrains-mono": "SIL Open Font License", "lucide": "ISC License"} {
		data, err := os.ReadFile("../../../third_party/" + dir + "/LICENSE")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), want) {
			t.Errorf("%s: no %q in its licence", dir, want)
		}
	}
}
