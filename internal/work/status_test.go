package work

import (
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/kit/fault"
)

// The graph, written once more by hand: rows are from, columns to, both in the
// order of Statuses.
const graph = `
notstarted . t t t t s
ongoing    t . t t t -
blocked    t t . t t -
completed  t t - . - -
rejected   t t - - . -
cron       s - - - - .
`

func TestTheStatusGraphOverAllPairs(t *testing.T) {
	t.Parallel()
	pairs := 0
	for i, line := range strings.Split(strings.TrimSpace(graph), "\n") {
		cells := strings.Fields(line)
		from := Statuses()[i]
		if cells[0] != string(from) {
			t.Fatalf("row %d is of %s", i, cells[0])
		}
		for k, to := range Statuses() {
			pairs++
			want := map[string]Way{".": NoWay, "-": NoWay, "t": Told, "s": Scheduled}[cells[k+1]]
			if got := WayOf(from, to); got != want {
				t.Errorf("%s to %s: way %d, want %d", from, to, got, want)
			}
			err := checkMove(from, to)
			if free := want == Told || from == to; (err == nil) != free {
				t.Errorf("move %s to %s: %v", from, to, err)
			} else if err != nil && !fault.Is(err, fault.Conflict) {
				t.Errorf("move %s to %s is %s", from, to, fault.KindOf(err))
			}
		}
	}
	if pairs != 36 {
		t.Fatalf("%d pairs", pairs)
	}
	if WayOf("banana", Ongoing) != NoWay || WayOf(Ongoing, "banana") != NoWay || !fault.Is(checkMove(Ongoing, "banana"), fault.Invalid) {
		t.Error("a word that is no status has a way")
	}
}

func TestWhatIsDoneCanBeDoneAgain(t *testing.T) {
	t.Parallel()
	for _, path := range [][]Status{{Completed, Ongoing, Completed}, {Rejected, NotStarted, Ongoing, Completed}, {Ongoing, Blocked, Ongoing, Completed}} {
		for i := 1; i < len(path); i++ {
			if err := checkMove(path[i-1], path[i]); err != nil {
				t.Errorf("%v: %v", path, err)
			}
		}
	}
}

func TestEveryReasonHasItsSentenceAndCanBeTheAnswer(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, r := range Reasons() {
		if s := r.Sentence(); said[s] || s == "" {
			t.Errorf("%s says %q as another does", r, s)
		} else {
			said[s] = true
		}
	}
	if len(reasonNames) != len(Reasons()) {
		t.Fatalf("%d sentences for %d reasons", len(reasonNames), len(Reasons()))
	}
	agent := Task{Status: NotStarted, Assignee: Agent}
	with := func(change func(*Task)) Task { t := agent; change(&t); return t }
	for _, c := range []struct {
		task  Task
		facts Facts
		want  Reason
	}{
		{with(func(t *Task) { t.Status = Ongoing }), Facts{}, Running},
		{with(func(t *Task) { t.Status = Completed }), Facts{Halted: true}, Finished},
		{with(func(t *Task) { t.Status = Rejected }), Facts{}, Finished},
		{with(func(t *Task) { t.Status = Ongoing }), Facts{Archived: true}, OfArchive},
		{with(func(t *Task) { t.Status = Cron }), Facts{Halted: true}, AwaitsSchedule},
		{with(func(t *Task) { t.Status, t.Cause, t.Pending = Blocked, CauseHeld, 1 }), Facts{}, OfRestore},
		{with(func(t *Task) { t.Status, t.Cause = Blocked, CauseLost }), Facts{}, LostTooOften},
		{with(func(t *Task) { t.Status, t.Pending = Ongoing, 1 }), Facts{}, AwaitsAnswer},
		{with(func(t *Task) { t.Status, t.Pending = Blocked, 2 }), Facts{}, AwaitsAnswer},
		{with(func(t *Task) { t.Status, t.Cause = Blocked, CauseMoved }), Facts{}, IsBlocked},
		{with(func(t *Task) { t.Waits = 1 }), Facts{Halted: true}, AwaitsTasks},
		{with(func(*Task) {}), Facts{Halted: true}, OfHalt},
		{with(func(t *Task) { t.Assignee = Human }), Facts{}, AwaitsPerson},
		{with(func(t *Task) { t.AssigneeRef = "agent:triage" }), Facts{}, AwaitsAgent},
		{with(func(t *Task) { t.Cause = CauseLapsed }), Facts{}, AfterLoss},
		{with(func(t *Task) { t.AssigneeRef = "worker:w1" }), Facts{}, AwaitsWorker},
		{agent, Facts{}, AwaitsAnyWorker},
	} {
		if got := Why(c.task, c.facts); got != c.want {
			t.Errorf("%+v %+v: %s, want %s", c.task, c.facts, got, c.want)
		}
		delete(said, c.want.Sentence())
	}
	if len(said) > 0 {
		t.Errorf("never the answer: %v", said)
	}
}
