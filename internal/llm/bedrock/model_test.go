package bedrock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/bedrock"
	"github.com/witan-run/witan/internal/llm/llmtest"
)

func credentials() bedrock.Credentials {
	return bedrock.Credentials{AccessKeyID: testID, SecretAccessKey: secret.New(testSecret), SessionToken: secret.New(testToken)}
}

func newModel(t *testing.T, c bedrock.Config) llm.Model {
	t.Helper()
	c.Region, c.Wire.Clock = testRegion, clock.NewFake(testTime)
	if c.Credentials == nil && c.Key.Empty() {
		c.Credentials = bedrock.Static(credentials())
	}
	m, err := bedrock.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wire(whole bool) llmtest.Wire {
	w := llmtest.Wire{
		New: func(t *testing.T, c *http.Client, w llm.WireConfig) llm.Model {
			return newModel(t, bedrock.Config{Client: c, Wire: w, Whole: whole})
		},
		Fake:     func(t *testing.T) http.Handler { return fake{t: t, whole: whole} },
		Complete: complete,
	}
	if whole {
		w.Complete = nil
	}
	return w
}

func TestScenarioOnTheWire(t *testing.T) {
	t.Parallel()
	t.Run("ConverseStream", func(t *testing.T) { llmtest.Suite(t, wire(false)) })
	t.Run("Converse", func(t *testing.T) { llmtest.Suite(t, wire(true)) })
}

func TestUnknownEventsAndFieldsArePassedOver(t *testing.T) {
	t.Parallel()
	tp := &llmtest.Transport{Handler: fake{t: t, extra: true}}
	tr, err := llmtest.Play(t.Context(), newModel(t, bedrock.Config{Client: tp.Client()}))
	if err != nil {
		t.Fatal(err)
	}
	llmtest.Check(t, tr, true)
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	llmtest.Timeouts(t, wire(false))
}

func TestScenarioOverASocket(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(fake{t: t})
	defer s.Close()
	tr, err := llmtest.Play(t.Context(), newModel(t, bedrock.Config{Base: s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	llmtest.Check(t, tr, true)
}

// ask answers one request with frames.
func ask(t *testing.T, frames ...[]byte) (llm.Response, error) {
	t.Helper()
	tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, f := range frames {
			_, _ = w.Write(f)
		}
	})}
	m := newModel(t, bedrock.Config{Client: tp.Client(), Wire: llm.WireConfig{Limits: llm.Limits{Attempts: 1}}})
	return llm.Collect(m.Stream(t.Context(), llmtest.Request()))
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.StopReason{
		"end_turn": llm.StopEnd, "max_tokens": llm.StopMaxTokens, "stop_sequence": llm.StopSequence, "guardrail_intervened": llm.StopRefusal,
		"content_filtered": llm.StopRefusal, "model_context_window_exceeded": llm.StopContext, "malformed_tool_use": llm.StopOther,
	} {
		r, err := ask(t, event("messageStop", obj{"stopReason": word}))
		if err != nil || r.Stop != want || r.Usage.Reported {
			t.Errorf("%s: %+v %v", word, r, err)
		}
	}
}

func TestRepliesThatLie(t *testing.T) {
	t.Parallel()
	start := event("contentBlockStart", obj{"contentBlockIndex": 0, "start": obj{"toolUse": obj{"toolUseId": "a", "name": "x"}}})
	stop := event("messageStop", obj{"stopReason": "tool_use"})
	damaged := event("messageStop", obj{"stopReason": "end_turn"})
	damaged[len(damaged)-1] ^= 1
	for name, c := range map[string]struct {
		frames [][]byte
		want   llm.Reason
	}{
		"throttled in the stream":    {[][]byte{exception("throttlingException", "slow down")}, llm.RateLimited},
		"unavailable in the stream":  {[][]byte{exception("serviceUnavailableException", "x")}, llm.Overloaded},
		"invalid in the stream":      {[][]byte{exception("validationException", "x")}, llm.BadRequest},
		"the model broke":            {[][]byte{exception("modelStreamErrorException", "x")}, llm.ServerError},
		"unknown exception":          {[][]byte{exception("newException", "x")}, llm.ServerError},
		"error below the service":    {[][]byte{frame([][2]string{{":message-type", "error"}, {":error-code", "InternalError"}, {":error-message", "x"}}, nil)}, llm.ServerError},
		"damaged":                    {[][]byte{damaged}, llm.Malformed},
		"not JSON":                   {[][]byte{frame([][2]string{{":message-type", "event"}, {":event-type", "messageStop"}}, []byte("{"))}, llm.Malformed},
		"SSE in place of frames":     {[][]byte{[]byte("data: {\"type\":\"message_start\"}\n\n")}, llm.Malformed},
		"nothing":                    {nil, llm.Truncated},
		"input for no call":          {[][]byte{event("contentBlockDelta", obj{"contentBlockIndex": 4, "delta": obj{"toolUse": obj{"input": "{"}}})}, llm.Malformed},
		"the same block twice":       {[][]byte{start, start}, llm.Malformed},
		"the end inside a call":      {[][]byte{start, stop}, llm.Malformed},
		"calls announced, none made": {[][]byte{stop}, llm.Malformed},
		"no stop reason":             {[][]byte{event("messageStop", obj{})}, llm.Malformed},
		"a frame too large":          {[][]byte{event("contentBlockDelta", obj{"delta": obj{"text": strings.Repeat("x", 2<<20)}})}, llm.TooLarge},
	} {
		if _, err := ask(t, c.frames...); llm.ReasonOf(err) != c.want {
			t.Errorf("%s: want %s, got %v", name, c.want, err)
		}
	}
}

// TestModelIDsAreEscaped sends an ARN, whose colons and slashes must arrive as one
// path segment under a signature that holds.
func TestModelIDsAreEscaped(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.x-v1:0"
	hit := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		if _, err := r.Body.Read(body); err != nil && len(body) == 0 {
			t.Error(err)
		}
		if err := signed(r, body); err != nil {
			t.Error(err)
		}
		hit = r.URL.Path == "/gateway/model/"+arn+"/converse-stream" &&
			r.URL.EscapedPath() == "/gateway/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Ainference-profile%2Feu.x-v1%3A0/converse-stream"
		_, _ = w.Write(event("messageStop", obj{"stopReason": "end_turn"}))
	}))
	defer s.Close()
	r := llmtest.Request()
	r.Model = arn
	if _, err := llm.Collect(newModel(t, bedrock.Config{Base: s.URL + "/gateway"}).Stream(t.Context(), r)); err != nil || !hit {
		t.Errorf("hit %v, %v", hit, err)
	}
}

func TestBearerKeyReplacesTheSignature(t *testing.T) {
	t.Parallel()
	tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer bedrock-key-1" || r.Header.Get("X-Amz-Date") != "" {
			t.Errorf("headers %v", r.Header)
		}
		_, _ = w.Write(event("messageStop", obj{"stopReason": "end_turn"}))
	})}
	m := newModel(t, bedrock.Config{Client: tp.Client(), Key: secret.New("bedrock-key-1")})
	if _, err := llm.Collect(m.Stream(t.Context(), llmtest.Request())); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	creds := bedrock.Static(credentials())
	for field, c := range map[string]bedrock.Config{
		"region":      {Region: "Frankfurt", Credentials: creds},
		"credentials": {Region: testRegion},
		"key":         {Region: testRegion, Key: secret.New("x\n")},
		"base_url":    {Region: testRegion, Credentials: creds, Base: "http://models.example"},
	} {
		_, err := bedrock.New(c)
		if _, got, _ := fault.Public(err); got != field || !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestKeyNeverShows is bug report 38 of the evals on this wire, where keys come
// late: from a source of credentials.
func TestKeyNeverShows(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]bedrock.Credentials{
		"access_key_id":     {AccessKeyID: "AKIA\n", SecretAccessKey: secret.New(testSecret)},
		"secret_access_key": {AccessKeyID: testID, SecretAccessKey: secret.New(testSecret + "\n")},
		"session_token":     {AccessKeyID: testID, SecretAccessKey: secret.New(testSecret), SessionToken: secret.New("tökén-0123456789")},
	} {
		tp := &llmtest.Transport{Handler: fake{t: t}}
		m := newModel(t, bedrock.Config{Client: tp.Client(), Credentials: bedrock.Static(c)})
		_, err := llm.Collect(m.Stream(t.Context(), llmtest.Request()))
		_, got, _ := fault.Public(err)
		if got != field || tp.Sent() != 0 || strings.Contains(fmt.Sprintf("%+v", err), "0123456789") {
			t.Errorf("%s: %v after %d calls", field, err, tp.Sent())
		}
	}
	m := newModel(t, bedrock.Config{Credentials: func(context.Context) (bedrock.Credentials, error) {
		return bedrock.Credentials{}, errors.New("no instance profile")
	}})
	if _, err := llm.Collect(m.Stream(t.Context(), llmtest.Request())); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
}
