package harness_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// answerMode is how the fake provider answers one request.
type answerMode string

const (
	answerWell    answerMode = "well"
	answerHang    answerMode = "hang"          // nothing, until the provider gives up
	answerTooMany answerMode = "429"           // with Retry-After: 1
	answerCut     answerMode = "cut"           // half a stream
	answerGarbage answerMode = "garbage"       // 200 with what is no stream
	answerUnknown answerMode = "unknown"       // calls a tool that nobody offered
	answerBadArgs answerMode = "bad"           // calls a tool with arguments that are no JSON
	answerSlowly  answerMode = "slowly"        // well, a word every 20 ms
	answerEcho401 answerMode = "echo 401"      // refuses, and repeats all it was sent
	answerEcho422 answerMode = "echo 422"      //
	answerEcho500 answerMode = "echo 500"      //
	hangFor                  = 2 * time.Second // how long a provider hangs before it drops the line
	slowWord                 = 20 * time.Millisecond
	slowWords                = 25
)

// fakeModel is a provider of the OpenAI wire (and, for its refusals, of any
// wire) that misbehaves on demand.
type fakeModel struct {
	*httptest.Server
	mu    sync.Mutex
	modes []answerMode // for requests to come; then well; guarded by mu
	calls int          // guarded by mu
	sent  []string     // headers and bodies as they came; guarded by mu
}

func newFakeModel(t testing.TB) *fakeModel {
	t.Helper()
	f := &fakeModel{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() { f.Server.CloseClientConnections(); f.Server.Close() })
	return f
}

// tell queues modes for the requests to come.
func (f *fakeModel) tell(modes ...answerMode) {
	f.mu.Lock()
	f.modes = append(f.modes, modes...)
	f.mu.Unlock()
}

func (f *fakeModel) asked() int { f.mu.Lock(); defer f.mu.Unlock(); return f.calls }

func (f *fakeModel) take() answerMode {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if len(f.modes) == 0 {
		return answerWell
	}
	m := f.modes[0]
	f.modes = f.modes[1:]
	return m
}

var errandName = regexp.MustCompile(`Please (?:do|one|say) ([a-z0-9.-]+)`)

// ServeHTTP implements http.Handler.
func (f *fakeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	seen := fmt.Sprintf("%s %s %v %s", r.Method, r.URL, r.Header, raw)
	mode := f.take()
	f.mu.Lock()
	f.sent = append(f.sent, seen)
	f.mu.Unlock()
	name := "nothing"
	if all := errandName.FindAllStringSubmatch(string(raw), -1); len(all) > 0 {
		name = all[len(all)-1][1]
	}
	chunk := func(v string) {
		_, _ = io.WriteString(w, "data: "+v+"\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	text := func(s string) {
		b, _ := json.Marshal(s)
		chunk(`{"id":"f","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{"index":0,"delta":{"role":"assistant","content":` + string(b) + `},"finish_reason":null}]}`)
	}
	end := func(reason string) {
		chunk(`{"id":"f","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
		chunk(`{"id":"f","object":"chat.completion.chunk","created":1,"model":"fake","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`)
		chunk(`[DONE]`)
	}
	switch mode {
	case answerHang:
		select {
		case <-r.Context().Done():
		case <-time.After(hangFor):
		}
		panic(http.ErrAbortHandler)
	case answerTooMany:
		w.Header().Set("Retry-After", "1")
		http.Error(w, `{"error":{"message":"too many","type":"rate_limit"}}`, http.StatusTooManyRequests)
		return
	case answerGarbage:
		_, _ = io.WriteString(w, "<html>It works!</html>")
		return
	case answerEcho401, answerEcho422, answerEcho500:
		status := map[answerMode]int{answerEcho401: 401, answerEcho422: 422, answerEcho500: 500}[mode]
		b, _ := json.Marshal(map[string]any{"error": map[string]string{"message": "cannot take: " + seen, "type": "echo"}, "message": seen})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(b)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	switch mode {
	case answerCut:
		text("did ")
		panic(http.ErrAbortHandler)
	case answerUnknown, answerBadArgs:
		tool, args := "no.such.tool", `{}`
		if mode == answerBadArgs {
			tool, args = "harness_idempotent", `{"name": `
		}
		b, _ := json.Marshal(args)
		chunk(`{"id":"f","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"` + tool + `","arguments":` + string(b) + `}}]},"finish_reason":null}]}`)
		end("tool_calls")
	case answerSlowly:
		for range slowWords {
			text("so ")
			<-time.After(slowWord)
		}
		fallthrough
	default:
		text("did " + strings.TrimSuffix(name, ".") + ".")
		end("stop")
	}
}
