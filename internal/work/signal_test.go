package work

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func TestTheNameRuleIsTheSeeds(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "deploy_done": true, "a9_": true, "a" + strings.Repeat("b", 128): true,
		"": false, "a" + strings.Repeat("b", 129): false, "9a": false, "_a": false, "Deploy": false, "a-b": false, "a b": false, "ä": false, "a\n": false,
	} {
		if err := CheckSignalName(name); (err == nil) != ok || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestWhatIsPutInIsNeverReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{PayloadPlace, FAQPlace, "{{", "}}", "EVENT_PAYLOAD", "EVENT_", "{{EVENT_", "x", "\n", "$1", "%s", "é"})
		text := func(name string) string { return strings.Join(rapid.SliceOfN(words, 0, 8).Draw(t, name), "") }
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"before ", " after", "{", "}", "[On completion]"}), 1, 5).Draw(t, "pieces")
		payload, faq := text("payload"), text("faq")
		want, template := "", ""
		for _, s := range pieces {
			switch rapid.IntRange(0, 2).Draw(t, "place") {
			case 0:
				template, want = template+s+"|"+PayloadPlace, want+s+"|"+payload
			case 1:
				template, want = template+s+"|"+FAQPlace, want+s+"|"+faq
			default:
				template, want = template+s+"|", want+s+"|"
			}
		}
		got, ok := render(template, payload, faq, 1<<20)
		if !ok || got != want {
			t.Fatalf("%q with %q and %q:\n%q, want\n%q", template, payload, faq, got, want)
		}
		if _, ok := render(template, payload, faq, len(want)-1); ok && len(want) > 0 {
			t.Fatal("longer than the limit")
		}
		if _, ok := render(template, payload, faq, len(want)); !ok {
			t.Fatal("as long as the limit is not too long")
		}
	})
}

func TestTheCompletionInstructionIsTheSeeds(t *testing.T) {
	t.Parallel()
	task, sig := id.ID{7}, Signal{ID: id.ID{1}, Name: "deploy_reviewed", PayloadGuidelines: "Summarise key changes, risks, and sign-off status"}
	want := "Look at it.\n\n" + `[On completion, before marking this task completed: call workspace {action: "publishEvent", payload: {name: "deploy_reviewed", taskId: "` +
		task.String() + `", payload: "<your output payload>"}}]` + "\nPayload guidelines: Summarise key changes, risks, and sign-off status"
	got := instruct("Look at it.", Grouped, sig, task)
	if got != want {
		t.Fatalf("%s", got)
	}
	made := Task{ID: task, EventID: sig.ID, Body: got}
	if made.Brief(Grouped, sig) != got {
		t.Error("it is asked twice")
	}
	flat := made.Brief(Flat, sig)
	if !strings.Contains(flat, `call publishEvent(name: "deploy_reviewed", taskId: "`+task.String()+`", payload: "<what happened, in your words>", faq: [{q, a}, ...])]`) ||
		strings.Contains(flat, "workspace {action") || !strings.HasSuffix(flat, sig.PayloadGuidelines) {
		t.Error(flat)
	}
	typed := Task{ID: task, EventID: sig.ID, Body: "Look at it."}
	if typed.Brief(Grouped, sig) != want {
		t.Error("a task that a person made is not asked")
	}
	if typed.Brief(Grouped, Signal{ID: id.ID{2}, Name: "other"}) != "Look at it." || (Task{Body: "x"}).Brief(Flat, Signal{}) != "x" {
		t.Error("what publishes nothing is asked")
	}
	if got := instruct("", Grouped, Signal{Name: "a"}, task); strings.HasPrefix(got, "\n") || strings.Contains(got, "guidelines") {
		t.Errorf("%q", got)
	}
}

// TestNoChainThatIsAcceptedEverCloses adds edges in any order: what is accepted
// has no circle and no chain that is too long, and what is refused would have.
func TestNoChainThatIsAcceptedEverCloses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const nodes, most = 9, 5
		var have []Edge
		for range rapid.IntRange(1, 30).Draw(t, "edges") {
			add := Edge{id.ID{byte(rapid.IntRange(1, nodes).Draw(t, "from"))}, id.ID{byte(rapid.IntRange(1, nodes).Draw(t, "to"))}}
			with := append(append([]Edge{}, have...), add)
			circle, length := false, 0
			for n := range nodes {
				c, l := walk(with, id.ID{byte(n + 1)}, nil)
				circle, length = circle || c, max(length, l)
			}
			err := checkChain(have, add, most)
			switch {
			case circle && !fault.Is(err, fault.Conflict), !circle && length > most && !fault.Is(err, fault.Limited), !circle && length <= most && err != nil:
				t.Fatalf("%v to %v: circle %t, length %d: %v", add, have, circle, length, err)
			case err == nil:
				have = with
			}
		}
	})
}

// walk follows every way from a signal: whether one comes back, and how many
// signals the longest has.
func walk(edges []Edge, at id.ID, path []id.ID) (circle bool, length int) {
	for _, p := range path {
		if p == at {
			return true, len(path)
		}
	}
	path = append(path[:len(path):len(path)], at)
	length = len(path)
	for _, e := range edges {
		if e.From == at {
			c, l := walk(edges, e.To, path)
			circle, length = circle || c, max(length, l)
		}
	}
	return circle, length
}

func TestAChainStopsAtARepetitionOrAtItsLimit(t *testing.T) {
	t.Parallel()
	var chain []id.ID
	for n := range maxChain {
		if got := stopped(chain, id.ID{byte(n)}); got != "" {
			t.Fatalf("after %d: %s", n, got)
		}
		chain = append(chain, id.ID{byte(n)})
	}
	if got := stopped(chain, id.ID{200}); got != StopDepth {
		t.Errorf("%q", got)
	}
	if got := stopped(chain[:3], id.ID{1}); got != StopCircle {
		t.Errorf("%q", got)
	}
}

func TestLimitsOfSignalsAreNamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64<<10+1)
	for field, err := range map[string]error{
		"description":       NewSignal{Name: "a", Description: long}.check(),
		"payloadGuidelines": NewSignal{Name: "a", PayloadGuidelines: long}.check(),
		"faq":               NewSignal{Name: "a", FAQ: make([]event.QA, maxFAQ+1)}.check(),
		"faq[0].a":          NewSignal{Name: "a", FAQ: []event.QA{{Q: "q", A: long}}}.check(),
		"payload":           Publish{Name: "a", Payload: long}.check(),
		"Idempotency-Key":   Publish{Name: "a", Key: long}.check(),
		"body":              Trigger{Assignee: Agent, Title: "t", Body: long, SignalID: id.ID{1}}.check(),
	} {
		if _, on, _ := fault.Public(err); !fault.Is(err, fault.Limited) || on != field {
			t.Errorf("%s: %v on %q", field, err, on)
		}
	}
}
