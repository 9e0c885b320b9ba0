package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/witan-run/witan/internal/console/ui"
)

const themeCookie = "witan_theme"

func (c *Console) head(k *call, title string) ui.Head {
	h := ui.Head{Title: title, CSS: c.bundle.URL("app.css"), JS: c.bundle.URL("app.js"), Icon: c.bundle.URL("icon.svg")}
	if t, err := k.r.Cookie(themeCookie); err == nil && (t.Value == "light" || t.Value == "dark") {
		h.Theme = t.Value
	}
	return h
}

// send renders a page with an ETag over its bytes. The same page asked for again
// is 304; a page is private and asked about each time.
func (c *Console) send(k *call, status int, page templ.Component) {
	var b bytes.Buffer
	if err := page.Render(k.ctx, &b); err != nil {
		c.Log.ErrorContext(k.ctx, "a page could not be drawn", "route", k.route.Path, "error", err)
		http.Error(k.w, "The page could not be drawn.", http.StatusInternalServerError)
		return
	}
	h := k.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Cookie")
	sum := sha256.Sum256(b.Bytes())
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
	h.Set("ETag", tag)
	if status == http.StatusOK && k.r.Method == http.MethodGet && matches(k.r.Header.Get("If-None-Match"), tag) {
		k.w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	k.w.WriteHeader(status)
	_, _ = k.w.Write(b.Bytes()) // the reader went away; there is nobody to tell
}

// matches reads If-None-Match (RFC 9110 §13.1.2); weak tags match for GET.
func matches(header, tag string) bool {
	for _, t := range strings.Split(header, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag {
			return true
		}
	}
	return false
}
