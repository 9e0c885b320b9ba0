package script_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/llmtest"
	"github.com/witan-run/witan/internal/llm/script"
)

func parse(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, text string, r llm.Request) (llm.Response, error) {
	t.Helper()
	return llm.Collect(script.New(parse(t, text), nil).Stream(t.Context(), r))
}

func TestScenario(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := script.New(parse(t, string(text)), nil)
	first, err := llmtest.Play(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	llmtest.Check(t, first, false)
	again, err := llmtest.Play(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same request, another reply:\n%s", diff)
	}
	for _, r := range first.Replies {
		if !r.Usage.Reported || r.Usage.Input == 0 || r.Usage.Output == 0 {
			t.Errorf("usage %+v", r.Usage)
		}
	}
}

func user(text string) llm.Request {
	return llm.Request{Model: "script", MaxTokens: 100, Messages: []llm.Message{llm.UserText(text)}}
}

func TestConditionsAndPlaces(t *testing.T) {
	t.Parallel()
	const text = `
lines:
  - when: {user: '^note (?P<what>.+)$', offers: pano.write}
    say: 'noting ${user.what} $${user}'
    call: [{tool: pano.write, args: {title: '${user.1}', deep: [{a: 'x ${user.what}', n: 3, f: 1.5, yes: true, none: null}]}}]
  - when: {user: '^note', tool: pano.write, error: true, result: 'E(\d+)'}
    say: 'it broke: ${result.1}'
  - when: {tool: pano.write, error: false, step: 1}
    say: 'rev ${result:/rev} of ${result:/ids/1}'
    call: [{tool: pano.read, args: {rev: '${result:/rev}', all: '${result:}'}}]
  - when: {output: triage}
    say: '{"class":"spam"}'
  - when: {system: 'terse'}
    say: ok
  - when: {step: 0, user: 'refuse'}
    say: no
    stop: refusal
`
	note := user("note <milk>")
	note.Tools = []llm.Tool{{Name: "pano.write", Schema: "{}"}, {Name: "pano.read", Schema: "{}"}}
	r, err := ask(t, text, note)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"deep":[{"a":"x <milk>","f":1.5,"n":3,"none":null,"yes":true}],"title":"<milk>"}`
	if r.Text() != "noting <milk> ${user}" || len(r.Calls()) != 1 || r.Calls()[0].Args != want || r.Stop != llm.StopToolUse {
		t.Errorf("%+v", r)
	}

	after := func(content string, isError bool) llm.Request {
		q := user("note <milk>") // offers nothing, so that the first line is out
		q.Messages = append(q.Messages, r.Message(), llm.Results(llm.ToolResult{CallID: r.Calls()[0].ID, Name: "pano.write", Content: content, IsError: isError}))
		return q
	}
	if got, err := ask(t, text, after("E42 full", true)); err != nil || got.Text() != "it broke: 42" {
		t.Errorf("%+v %v", got, err)
	}
	got, err := ask(t, text, after(`{"rev":7,"ids":["a","b"]}`, false))
	if err != nil || got.Text() != "rev 7 of b" || got.Calls()[0].Args != `{"all":{"ids":["a","b"],"rev":7},"rev":7}` {
		t.Errorf("%+v %v", got, err)
	}
	if got.Calls()[0].ID == r.Calls()[0].ID {
		t.Error("two calls of one conversation share an id")
	}
	for _, content := range []string{"no JSON", `{"rev":7}`} {
		if _, err := ask(t, text, after(content, false)); llm.ReasonOf(err) != llm.Unanswerable {
			t.Errorf("%s: %v", content, err)
		}
	}

	triage := user("x")
	triage.Output = &llm.Output{Name: "triage", Schema: "{}"}
	if got, err := ask(t, text, triage); err != nil || got.Text() != `{"class":"spam"}` {
		t.Errorf("%+v %v", got, err)
	}
	terse := user("x")
	terse.System = llm.Instruct("be terse")
	if got, err := ask(t, text, terse); err != nil || got.Text() != "ok" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := ask(t, text, user("refuse this")); err != nil || got.Stop != llm.StopRefusal {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := ask(t, text, user("anything else")); llm.ReasonOf(err) != llm.Unanswerable || !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestMaxTokensCutsLikeARealModel(t *testing.T) {
	t.Parallel()
	q := user("x")
	q.MaxTokens = 2
	r, err := ask(t, "lines: [{say: 'äöüß and more', call: [{tool: t}]}]", q)
	if err != nil || r.Text() != "äöüß" || r.Stop != llm.StopMaxTokens || len(r.Calls()) != 0 || r.Usage.Output != 2 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestFailuresAndDelays(t *testing.T) {
	t.Parallel()
	s := parse(t, `
lines:
  - when: {user: slow}
    say: done
    delay_ms: 1500
  - when: {user: busy}
    fail: {reason: rate_limited, message: come back, retry_after_ms: 250}
`)
	var slept time.Duration
	m := script.New(s, func(_ context.Context, d time.Duration) error { slept += d; return nil })
	if _, err := llm.Collect(m.Stream(t.Context(), user("slow"))); err != nil || slept != 1500*time.Millisecond {
		t.Errorf("%v %v", slept, err)
	}
	_, err := llm.Collect(m.Stream(t.Context(), user("busy")))
	if !fault.Is(err, fault.Limited) || !llm.Elsewhere(err) || !strings.Contains(err.Error(), "come back") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Collect(script.New(s, nil).Stream(ctx, user("slow"))); !fault.Is(err, fault.Cancelled) {
		t.Error(err)
	}
}

func TestScriptsThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "lines",
		"lines: []":                    "lines",
		"lines: [{sya: x}]":            "sya",
		"lines:\n  - when: {usr: x}":   "usr",
		"lines: [{when: {user: '('}}]": "lines[0]",
		"lines: [{when: {user: x}}]":   "say, call, stop or fail",
		"lines: [{say: '${user.1}'}]":  "no condition",
		"lines: [{when: {user: x}, say: '${user.1}'}]": "no such group",
		"lines: [{say: '${world}'}]":                   "want user or result",
		"lines: [{say: '${user'}]":                     "no end",
		"lines: [{say: '${result:a}'}]":                "pointer",
		"lines: [{say: x, stop: later}]":               "stop",
		"lines: [{fail: {reason: tired}}]":             "fail.reason",
		"lines: [{say: x, fail: {reason: slow}}]":      "not both",
		"lines: [{call: [{args: {}}]}]":                "names no tool",
		"lines: [{call: [{tool: t, args: [1]}]}]":      "want a mapping",
		"lines: [{say: x, delay_ms: -1}]":              "negative",
		"lines: [{say: x}]\nname: [1":                  "script",
	} {
		_, err := script.Parse([]byte(text))
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q in %v", text, want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("lines: [{when: {user: '(a)'}, say: '${user.1} $${x}', call: [{tool: t, args: {a: ['${result:/a}']}}]}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse([]byte(text))
		if err != nil {
			return
		}
		_, _ = llm.Collect(script.New(s, func(context.Context, time.Duration) error { return nil }).Stream(t.Context(), user("aaa")))
	})
}
