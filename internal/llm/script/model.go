package script

import (
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// Model plays a script. It keeps no state and is safe for concurrent use.
type Model struct {
	script *Script
	sleep  func(context.Context, time.Duration) error
}

// New returns a model for a script; sleep is llm.Sleep if nil.
func New(s *Script, sleep func(context.Context, time.Duration) error) *Model {
	if sleep == nil {
		sleep = llm.Sleep
	}
	return &Model{script: s, sleep: sleep}
}

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := m.play(ctx, r, func(e llm.Event) bool { return yield(e, nil) }); err != nil {
			yield(llm.Event{}, err)
		}
	}
}

// play emits the reply; it returns nil when emit does not want more.
func (m *Model) play(ctx context.Context, r llm.Request, emit func(llm.Event) bool) error {
	if err := r.Check(); err != nil {
		return err
	}
	sc := sceneOf(r)
	for _, l := range m.script.lines {
		hit, ok := l.matches(sc)
		if !ok {
			continue
		}
		if l.delayMS > 0 {
			if err := m.sleep(ctx, time.Duration(l.delayMS)*time.Millisecond); err != nil {
				return fault.Wrap(fault.Cancelled, err, m.script.name+": wait")
			}
		}
		if err := ctx.Err(); err != nil {
			return fault.Wrap(fault.Cancelled, err, m.script.name)
		}
		if l.fail != nil {
			f := llm.NewFailure(m.script.name, l.fail.Reason, "%s", l.fail.Message)
			f.RetryAfter = time.Duration(l.fail.RetryAfterMS) * time.Millisecond
			return f
		}
		reply, err := m.reply(r, sc, l, &hit)
		if err != nil {
			return err
		}
		for _, e := range reply {
			if !emit(e) {
				return nil
			}
		}
		return nil
	}
	return llm.NewFailure(m.script.name, llm.Unanswerable, "the script has no line for this request (step %d, last text %q)", sc.step, clip(sc.user))
}

func clip(s string) string {
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

// scene is what conditions look at.
type scene struct {
	user, system string
	step         int
	result       *llm.ToolResult
	offers       []string
	output       string
}

func sceneOf(r llm.Request) scene {
	sc := scene{system: r.System.String(), user: r.LastUserText()}
	for _, m := range r.Messages {
		switch {
		case m.Role == llm.RoleAssistant:
			sc.step++
			sc.result = nil
		case strings.TrimSpace(m.Text()) != "":
			sc.step, sc.result = 0, nil
		}
		if res := m.Results(); len(res) > 0 {
			sc.result = &res[len(res)-1]
		}
	}
	for _, t := range r.Tools {
		sc.offers = append(sc.offers, t.Name)
	}
	if r.Output != nil {
		sc.output = r.Output.Name
	}
	return sc
}

func (l line) matches(sc scene) (match, bool) {
	m := match{user: sc.user}
	switch {
	case l.step != nil && *l.step != sc.step,
		l.offers != "" && !slices.Contains(sc.offers, l.offers),
		l.output != "" && l.output != sc.output,
		l.system != nil && !l.system.MatchString(sc.system),
		(l.tool != "" || l.result != nil || l.isError != nil) && sc.result == nil:
		return m, false
	}
	if res := sc.result; res != nil {
		m.result, m.hasRes = res.Content, true
		if l.tool != "" && l.tool != res.Name || l.isError != nil && *l.isError != res.IsError {
			return m, false
		}
	}
	ok := find(l.user, sc.user, &m.userGroups) && find(l.result, m.result, &m.resGroups)
	return m, ok
}

func find(re *regexp.Regexp, text string, groups *[]string) bool {
	if re == nil {
		return true
	}
	*groups = re.FindStringSubmatch(text)
	return *groups != nil
}

// reply returns the events of an answer.
func (m *Model) reply(r llm.Request, sc scene, l line, hit *match) ([]llm.Event, error) {
	unfit := func(err error) error {
		return llm.NewFailure(m.script.name, llm.Unanswerable, "a line cannot be filled: %v", err)
	}
	text, err := l.say.fill(hit)
	if err != nil {
		return nil, unfit(err)
	}
	stop := l.stop
	calls := l.calls
	if limit := r.MaxTokens * bytesPerToken; int64(len(text)) > limit {
		// A real model is cut in the same way: in the middle of a word.
		text, calls, stop = strings.ToValidUTF8(text[:limit], ""), nil, llm.StopMaxTokens
	}
	var out []llm.Event
	for _, w := range words(text) {
		out = append(out, llm.Event{Text: w})
	}
	written := int64(len(text))
	for i, c := range calls {
		v, err := fillArgs(c.args, hit)
		if err != nil {
			return nil, unfit(err)
		}
		args, err := llm.EncodeJSON(v)
		if err != nil {
			return nil, unfit(err)
		}
		id := llm.MakeID(m.script.name, strconv.Itoa(len(r.Messages)), strconv.Itoa(i), sc.user, c.tool, string(args))
		out = append(out, llm.Event{Call: &llm.ToolCall{ID: id, Name: c.tool, Args: string(args)}})
		written += int64(len(args))
	}
	if stop == "" {
		stop = llm.StopEnd
		if len(calls) > 0 {
			stop = llm.StopToolUse
		}
	}
	u := llm.Usage{Input: tokens(size(r)), Output: tokens(written), Reported: true}
	return append(out, llm.Event{End: &llm.End{Stop: stop, Usage: u, Model: m.script.name, ID: llm.MakeID(m.script.name, strconv.Itoa(len(r.Messages)), sc.user)}}), nil
}

// bytesPerToken is the usual rule of thumb; counts of a script are not real ones.
const bytesPerToken = 4

func tokens(bytes int64) int64 { return (bytes + bytesPerToken - 1) / bytesPerToken }

// size returns the bytes that a model would have to read.
func size(r llm.Request) int64 {
	raw, err := json.Marshal(r)
	if err != nil { // texts and integers always encode
		return 0
	}
	return int64(len(raw))
}

// words splits a text after each blank, so that it streams.
func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.SplitAfter(s, " ")
}
