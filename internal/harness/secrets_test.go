package harness_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// canaries are six kinds of secrets of a configuration, and three that Witan
// hands out. None looks like a vendor's key: a filter by form would not do.
func canaries() map[string]string {
	return map[string]string{
		"openai key":     "canary-Oa.7f3c91d25e",
		"anthropic key":  "canary-An.1b08d4ce97",
		"aws secret key": "canary/Aw+5562e90fa1",
		"aws session":    "canary-Se.9d7716c03b",
		"webhook secret": "canary-Wh.40ac8b6e12f7d935",
		"database":       "canary-Db.e3f2719c08",
	}
}

// TestReport37NoSecretLeavesItsPlace is the log half of it: providers refuse with 401, 422 and 500 and
// repeat every header and byte that they were sent, while Witan logs at debug
// level. No secret stands in logs, in the opened journal, in what streams and in
// error bodies, in metrics, or in the data folder outside its keyring.
func TestReport37NoSecretLeavesItsPlace(t *testing.T) {
	t.Parallel()
	c := canaries()
	fake := newFakeModel(t)
	s := newSink(t)
	h := newHouse(t, "postgres", "")
	h.url += "&password=" + url.QueryEscape(c["database"])
	h.env = append(h.env, "C_OA="+c["openai key"], "C_SK="+c["aws secret key"], "C_SE="+c["aws session"], "C_WH="+c["webhook secret"])
	h.write("anthropic.key", c["anthropic key"]+"\n")
	h.env = h.env[1:] // the database without its password
	h.configure(fmt.Sprintf(`
models:
  providers:
    oa: {kind: openai, base_url: %[1]q, key: '${C_OA}'}
    an: {kind: anthropic, base_url: %[1]q, key: 'file:%[2]s'}
    be: {kind: bedrock, base_url: %[1]q, region: eu-central-1, access_key: 'file:%[3]s', secret_key: '${C_SK}', session_token: '${C_SE}'}
    script: {kind: script, script: %[4]q}
  roles: {default: [oa/a, an/b, be/c, script/harness]}
channels:
  http:
    bridge: {trust: high, webhook: %[5]q, secret: '${C_WH}', loopback: true}
`, fake.URL, filepath.Join(h.dir, "anthropic.key"), filepath.Join(h.dir, "access.key"), filepath.Join(h.dir, "script.yaml"), s.URL))
	h.write("access.key", "AKIDHARNESS0001\n")
	text, err := os.ReadFile(h.config())
	if err != nil {
		t.Fatal(err)
	}
	h.write("witan.yaml", strings.Replace(string(text), "level: warn", "level: debug, format: json", 1))
	p := h.start()
	h.settle(2)
	c["person's token"], c["password"], c["owner's token"] = h.tokens[0], password, h.owner
	pieces := map[string][]byte{}
	stream, cancel := context.WithCancel(t.Context())
	streamed := make(chan []byte, 1)
	go func() { // ends with stream
		var b bytes.Buffer
		if req, err := http.NewRequestWithContext(stream, http.MethodGet, "http://"+h.addr+"/api/v1/stream?after=1-0&token="+url.QueryEscape(h.owner), http.NoBody); err == nil {
			if res, err := h.client.Do(req); err == nil {
				_, _ = io.Copy(&b, res.Body)
				_ = res.Body.Close()
			}
		}
		streamed <- b.Bytes()
	}()
	var l *load
	for n, mode := range []answerMode{answerEcho401, answerEcho422, answerEcho500} {
		modes := make([]answerMode, 40) // as often as each wire tries
		for i := range modes {
			modes[i] = mode
		}
		fake.tell(modes...)
		before := fake.asked()
		l = single(h, "one", fmt.Sprint("r", n))
		l.say(t.Context(), t)
		l.awaitAll(t.Context(), t, 120*time.Second)
		if fake.asked() == before {
			t.Errorf("%s: no provider was asked", mode)
		}
		pieces["answer to "+string(mode)] = fmt.Append(nil, l.errands[0].answers, l.errands[0].state)
		fake.mu.Lock()
		fake.modes = nil
		fake.mu.Unlock()
	}
	seen := strings.Join(fake.sent, "\n")
	for _, name := range []string{"openai key", "anthropic key", "aws session"} {
		if !strings.Contains(seen, c[name]) {
			t.Errorf("the providers never saw the %s: the test provokes nothing", name)
		}
	}
	// Errors of our own, with secrets in every place that a client may get wrong.
	for n, wrong := range []struct{ token, method, path string }{
		{"wtn_" + c["openai key"], "GET", "/api/v1/inbox"},
		{h.tokens[0] + "x", "GET", "/api/v1/inbox"},
		{h.tokens[0], "GET", "/api/v1/events?after=" + url.QueryEscape(c["database"])},
		{h.tokens[0], "GET", "/api/v1/nothing?token=" + url.QueryEscape(h.owner)},
		{h.tokens[0], "PUT", "/api/v1/policy"},
	} {
		err := h.ask(t.Context(), wrong.token, wrong.method, wrong.path, map[string]string{"key": c["webhook secret"]}, nil)
		if err == nil {
			t.Errorf("request %d passed", n)
			continue
		}
		pieces[fmt.Sprint("error body ", n)] = []byte(err.Error())
	}
	for name, path := range map[string]string{"metrics": "/metrics", "events": "/api/v1/events?limit=200", "usage": "/api/v1/usage", "effects": "/api/v1/effects"} {
		pieces[name] = h.read(h.owner, path)
	}
	zipped := h.read(h.owner, "/api/v1/audit/export?open=true")
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	if pieces["opened journal"], err = io.ReadAll(z); err != nil || !bytes.Contains(pieces["opened journal"], []byte("llm.response")) {
		t.Fatalf("the opened journal holds no model call: %v", err)
	}
	<-time.After(100 * time.Millisecond)
	cancel()
	pieces["stream"] = <-streamed
	h.stop(p)
	cmd := exec.CommandContext(t.Context(), witan(t), "config", "print", "--effective", "--config", h.config())
	cmd.Env = append(os.Environ(), h.env...)
	if pieces["config print"], err = cmd.CombinedOutput(); err != nil {
		t.Errorf("config print: %v\n%s", err, pieces["config print"])
	}
	pieces["logs"] = []byte(h.log.String())
	if !bytes.Contains(pieces["logs"], []byte(`"level":"DEBUG"`)) {
		t.Error("nothing was logged at debug level")
	}
	if err := filepath.WalkDir(h.data(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "keyring" {
			return err
		}
		raw, err := os.ReadFile(path)
		pieces["file "+d.Name()] = raw
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for where, text := range pieces {
		for name, secret := range c {
			for form, needle := range forms(secret) {
				if at := bytes.Index(text, needle); at >= 0 {
					t.Errorf("%s hold the %s (%s): ...%s...", where, name, form, text[max(0, at-80):min(len(text), at+len(needle)+20)])
				}
			}
		}
	}
}

// forms are the ways in which a secret may stand somewhere.
func forms(secret string) map[string][]byte {
	return map[string][]byte{
		"as it is": []byte(secret), "in hex": []byte(hex.EncodeToString([]byte(secret))), "in a URL": []byte(url.QueryEscape(secret)),
		"in base64": []byte(base64.StdEncoding.EncodeToString([]byte(secret))[:len(secret)]),
	}
}

// read returns a body as it is.
func (h *house) read(token, path string) []byte {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.addr+path, http.NoBody)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		h.t.Fatalf("GET %s: %s, %v\n%s", path, res.Status, err, raw)
	}
	return raw
}
