package builtin_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill/builtin"
)

// web is a server on this machine's loopback that counts what reaches it.
type web struct {
	*bench
	*http.ServeMux
	url  string
	hits atomic.Int64
}

func serve(t *testing.T, loopback bool) *web {
	t.Helper()
	w := &web{bench: setup(t, builtin.Config{Fetcher: builtin.NewFetcher(builtin.FetcherConfig{Loopback: loopback})}), ServeMux: http.NewServeMux()}
	s := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		w.hits.Add(1)
		w.ServeHTTP(res, req)
	}))
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

func (w *web) page(path, contentType, body string) {
	w.HandleFunc(path, func(res http.ResponseWriter, _ *http.Request) {
		res.Header()["Content-Type"] = nil
		if contentType != "" {
			res.Header().Set("Content-Type", contentType)
		}
		_, _ = io.WriteString(res, body)
	})
}

func (w *web) fetch(t *testing.T, url string) (map[string]any, error) {
	t.Helper()
	got, _, err := w.run(t, "http.fetch", map[string]any{"url": url})
	return got, err
}

func TestAPageBecomesText(t *testing.T) {
	t.Parallel()
	w := serve(t, true)
	w.page("/", "text/html; charset=iso-8859-1", `<!doctype html><html><head><title> A
		page </title><style>p{color:red}</style><script>evil()</script></head><body><h1>Gr`+"\xfc\xdf"+`e</h1>
		<p>One <a href="/two">two</a> <a href="javascript:x()">three</a></p><ul><li>a</li><li>b</li></ul>
		<table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table>
		<img src="data:image/png;base64,AAAA" alt="dot"><noscript>no</noscript><!-- comment --></body></html>`)
	got, err := w.fetch(t, w.url+"/#part")
	if err != nil {
		t.Fatal(err)
	}
	text := got["text"].(string)
	for _, want := range []string{"# Grüße", "[two](" + w.url + "/two)", "- a\n- b", "| 1", "three", "dot"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, no := range []string{"evil", "color", "comment", "javascript", "base64", "no\n"} {
		if strings.Contains(text, no) {
			t.Errorf("%q is in\n%s", no, text)
		}
	}
	if got["title"] != "A page" || got["status"] != 200.0 || got["type"] != "text/html" || got["url"] != w.url+"/" || got["cut"] != false || got["hidden"] != nil {
		t.Errorf("%v", got)
	}
}

func TestWhatNobodySeesIsTakenOutAndSaid(t *testing.T) {
	t.Parallel()
	w := serve(t, true)
	hide := []string{
		`<p hidden>SECRET</p>`, `<div style="display: none">SECRET</div>`, `<div style="DISPLAY:NONE !important"><p>SECRET</p></div>`,
		`<span style="visibility:hidden">SECRET</span>`, `<span style="opacity:0">SECRET</span>`, `<span style="color:red;font-size:0px">SECRET</span>`,
		`<span style="position:absolute;left:-9999px">SECRET</span>`, `<span aria-hidden="true">SECRET</span>`, `<input type="hidden" value="SECRET">`,
		`<p class="a gone">SECRET</p>`, `<p id="off">SECRET</p>`, `<blink>SECRET</blink>`, `<div style="display:/**/none">SECRET</div>`, `<template>SECRET</template>`,
	}
	seen := []string{`<p style="display:block">SEEN1</p>`, `<p class="print">SEEN2</p>`, `<p style="opacity:0.5">SEEN3</p>`, `<p style="font-size:10px;left:-1px">SEEN4</p>`}
	w.page("/", "text/html", `<style>/* .print{display:none} */ .gone, #off{display:none} @media print{.print{display:none}} blink{visibility:hidden} p .print{display:none}</style>`+
		strings.Join(hide, "\n")+strings.Join(seen, "\n")+"<p>ta\U000E0041gs and\u202e order\u200b end</p>")
	got, err := w.fetch(t, w.url+"/")
	if err != nil {
		t.Fatal(err)
	}
	text := got["text"].(string)
	if strings.Contains(text, "SECRET") || !strings.Contains(text, "tags and order end") {
		t.Errorf("%q", text)
	}
	for i := range seen {
		if want := fmt.Sprintf("SEEN%d", i+1); !strings.Contains(text, want) {
			t.Errorf("no %s in %q", want, text)
		}
	}
	if got["hidden"] != "12 hidden elements with 72 characters and 3 unseen characters were taken out" {
		t.Errorf("%v", got["hidden"])
	}
}

func TestTextsComeAsTheyAre(t *testing.T) {
	t.Parallel()
	w := serve(t, true)
	w.page("/json", "application/problem+json", `{"a": "<b>"}`)
	w.page("/plain", "", "just text")
	w.page("/png", "image/png", "\x89PNG")
	w.page("/zip", "application/zip", "PK")
	w.page("/utf16", "text/plain; charset=utf-16le", "h\x00i\x00")
	w.page("/broken", "text/plain", "a\xff\x00b")
	w.HandleFunc("/gone", func(res http.ResponseWriter, _ *http.Request) { http.Error(res, "gone", http.StatusGone) })
	w.HandleFunc("/empty", func(res http.ResponseWriter, _ *http.Request) { res.WriteHeader(http.StatusNoContent) })
	for path, want := range map[string]string{"/json": `{"a": "<b>"}`, "/plain": "just text", "/utf16": "hi", "/gone": "gone\n", "/empty": "", "/broken": "aÿb"} {
		if got, err := w.fetch(t, w.url+path); err != nil || got["text"] != want {
			t.Errorf("%s: %q, %v", path, got["text"], err)
		}
	}
	for _, path := range []string{"/png", "/zip"} {
		_, err := w.fetch(t, w.url+path)
		wantKind(t, err, fault.Invalid)
	}
	if got, err := w.fetch(t, w.url+"/gone"); err != nil || got["status"] != 410.0 {
		t.Errorf("%v: %v", got, err)
	}
}

func TestWithoutTheOptionNothingHereIsReached(t *testing.T) {
	t.Parallel()
	w := serve(t, false)
	w.page("/", "text/plain", "secret")
	_, port, _ := strings.Cut(strings.TrimPrefix(w.url, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.1", "2130706433", "0x7f000001", "017700000001"} {
		_, err := w.fetch(t, "http://"+host+":"+port+"/")
		if !fault.Is(err, fault.Denied) && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Timeout) {
			t.Errorf("%s: %v", host, err)
		}
	}
	_, err := w.fetch(t, w.url+"/")
	wantKind(t, err, fault.Denied)
	if n := w.hits.Load(); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

func TestEveryHopIsChecked(t *testing.T) {
	t.Parallel()
	w := serve(t, true)
	to := func(path, target string, status int) {
		w.HandleFunc(path, func(res http.ResponseWriter, _ *http.Request) {
			res.Header().Set("Location", target)
			res.WriteHeader(status)
		})
	}
	w.page("/end", "text/plain", "end")
	to("/good", "/end", 302)
	to("/twice", "/good", 307)
	to("/loop", "/loop", 302)
	for path, target := range map[string]string{
		"/private": "http://10.0.0.1/", "/metadata": "http://169.254.169.254/latest/meta-data/", "/mapped": "http://[::ffff:10.0.0.1]/", "/six": "http://[fd00::1]/",
		"/file": "file:///etc/passwd", "/gopher": "gopher://127.0.0.1/", "/user": "http://u:p@127.0.0.1/", "/nat64": "http://[64:ff9b::a00:1]/",
	} {
		to(path, target, 302)
		_, err := w.fetch(t, w.url+path)
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", path, err)
		}
	}
	got, err := w.fetch(t, w.url+"/twice")
	if err != nil || got["text"] != "end" || got["url"] != w.url+"/end" || fmt.Sprint(got["redirects"]) != fmt.Sprint([]string{w.url + "/twice", w.url + "/good"}) {
		t.Errorf("%v: %v", got, err)
	}
	before := w.hits.Load()
	_, err = w.fetch(t, w.url+"/loop")
	wantKind(t, err, fault.Limited)
	if n := w.hits.Load() - before; n != 6 {
		t.Errorf("%d requests in a loop", n)
	}
}

func TestNothingOfTheHostGoesAlong(t *testing.T) {
	t.Parallel()
	w := serve(t, true)
	var head http.Header
	w.HandleFunc("/first", func(res http.ResponseWriter, _ *http.Request) {
		http.SetCookie(res, &http.Cookie{Name: "a", Value: "b", Path: "/"})
		res.Header().Set("Location", "/second")
		res.WriteHeader(http.StatusFound)
	})
	w.HandleFunc("/second", func(res http.ResponseWriter, req *http.Request) {
		head = req.Header.Clone()
		_, _ = io.WriteString(res, "x")
	})
	if _, err := w.fetch(t, w.url+"/first"); err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{"Cookie", "Authorization", "Referer", "Proxy-Authorization"} {
		if head.Get(h) != "" {
			t.Errorf("%s: %s", h, head.Get(h))
		}
	}
}

func TestLargeAndSlowPagesAreCut(t *testing.T) {
	t.Parallel()
	w := serve(t, true)
	w.page("/big", "text/plain", strings.Repeat("0123456789", 400_000))
	w.HandleFunc("/bomb", func(res http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range 64 {
			_, _ = z.Write(make([]byte, 1<<20))
		}
		_ = z.Close()
		res.Header().Set("Content-Encoding", "gzip")
		res.Header().Set("Content-Type", "text/plain")
		_, _ = res.Write(b.Bytes())
	})
	w.page("/deep", "text/html", strings.Repeat("<div>", 100_000)+"x")
	w.HandleFunc("/head", func(res http.ResponseWriter, _ *http.Request) { res.Header().Set("X", strings.Repeat("x", 1<<20)) })
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	w.HandleFunc("/hang", func(http.ResponseWriter, *http.Request) { <-release })
	for _, path := range []string{"/big", "/bomb"} {
		got, err := w.fetch(t, w.url+path)
		if err != nil || got["cut"] != true || len(got["text"].(string)) > 150_000 {
			t.Errorf("%s: cut %v, %v", path, got["cut"], err)
		}
	}
	_, err := w.fetch(t, w.url+"/deep")
	wantKind(t, err, fault.Invalid)
	_, err = w.fetch(t, w.url+"/head")
	wantKind(t, err, fault.Unavailable)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := w.regs["http.fetch"]
	c := w.call.Under(r.Manifest)
	c.Arguments = []byte(`{"url":"` + w.url + `/hang"}`)
	_, err = r.Exec.Act(ctx, c)
	wantKind(t, err, fault.Timeout)
}

func TestOnlyWebURLsAreFetched(t *testing.T) {
	t.Parallel()
	w := serve(t, true)
	for _, url := range []string{"ftp://a.example/", "file:///etc/passwd", "http://u@a.example/", "http:a.example", "http:///path", "http://a\\@b.example/", "http://a b.example",
		"javascript:x()//", "http://a\u200b.example/", "https://", "http://[fe80::1%25eth0]/", "http://a.example:99999/"} {
		if _, err := w.fetch(t, url); err == nil || fault.Is(err, fault.Internal) {
			t.Errorf("%q: %v", url, err)
		}
	}
	if n := w.hits.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
	_, err := w.fetch(t, "http://127.0.0.1:1/") // nobody listens
	wantKind(t, err, fault.Unavailable)
	if msg, _, _ := fault.Public(err); strings.Contains(msg, "127.0.0.1") {
		t.Errorf("the message shows what the network said: %s", msg)
	}
}
