package work

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func TestPrefixesComeFromNames(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	for _, c := range []struct{ name, want string }{
		{"Billing", "BIL"}, {"billing", "BII"}, {"Billing", "BIN"}, {"bil", "BIL2"}, {"Ürün geliştirme", "URU"}, {"日本", "WS"}, {"中国", "WS2"},
		{"7 days", "DAY"}, {"a", "WSA"}, {"ap", "AP2"}, {"q4 plan", "Q4P"}, {"Straße", "STR"}, {"Øst", "OST"},
	} {
		got, err := prefixOf(c.name, func(p string) (bool, error) { return taken[p], nil })
		if err != nil || got != c.want {
			t.Errorf("%q: %q %v, want %q", c.name, got, err, c.want)
		}
		taken[got] = true
	}
	if _, err := prefixOf("x", func(string) (bool, error) { return true, nil }); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	boom := errors.New("boom")
	if _, err := prefixOf("x", func(string) (bool, error) { return false, boom }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

func TestAnyNameGivesAPrefix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		taken := map[string]bool{}
		for range 12 {
			p, err := prefixOf(name, func(p string) (bool, error) { return taken[p], nil })
			if err != nil || CheckPrefix(p) != nil || taken[p] {
				t.Fatalf("%q: %q %v", name, p, err)
			}
			taken[p] = true
			key := Task{Prefix: p, Number: 142}.Key()
			if prefix, n, ok := ParseKey(key); !ok || prefix != p || n != 142 {
				t.Fatalf("%s reads back as %s %d %t", key, prefix, n, ok)
			}
		}
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for key, ok := range map[string]bool{"BIL-142": true, "Q4-1": true, "BIL-0": false, "BIL-01": false, "BIL": false, "bil-1": false, "B-1": false,
		"BIL-": false, "-1": false, "BIL--1": false, "BIL-1234567890123456": false, "AP-3": false, "BIL-1x": false} {
		if _, _, got := ParseKey(key); got != ok {
			t.Errorf("ParseKey(%q) = %t", key, got)
		}
	}
}

func TestRevisionsReadBack(t *testing.T) {
	t.Parallel()
	r := Revisions{"title": 3, "body": 12, "status": 1}
	back, err := ParseRevisions(r.String())
	if err != nil || back.String() != "body=12 status=1 title=3" {
		t.Fatalf("%q %v", back.String(), err)
	}
	if _, err := ParseRevisions("title"); !fault.Is(err, fault.Corrupt) {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

func TestTwoFieldsBothWinAndOneFieldNamesItself(t *testing.T) {
	t.Parallel()
	task := Task{Title: "a", Body: "b", Assignee: Human, Status: NotStarted, Revision: 4, Revisions: Revisions{"title": 2, "body": 4}}
	one, e := task.apply(TaskChange{Seen: 4, Title: ptr("A")})
	if e.err != nil || one.Title != "A" || e.fields() != "title" {
		t.Fatalf("%+v %v", one, e.err)
	}
	one.Revision, one.Revisions = e.next, e.revs
	both, e := one.apply(TaskChange{Seen: 4, Body: ptr("B"), AllowAllCommands: ptr(true)})
	if e.err != nil || both.Title != "A" || both.Body != "B" || e.fields() != "allowAllCommands, body" {
		t.Fatalf("%+v %v", both, e.err)
	}
	_, e = one.apply(TaskChange{Seen: 4, Title: ptr("AA"), Body: ptr("B")})
	if _, field, _ := fault.Public(e.err); !fault.Is(e.err, fault.Conflict) || field != "title" {
		t.Fatalf("%v on %s", e.err, field)
	}
	if _, e := one.apply(TaskChange{Seen: 4, Title: ptr("A")}); e.err != nil || len(e.changes) != 0 {
		t.Errorf("saying what stands there already: %v", e.err)
	}
	if again, e := one.apply(TaskChange{Title: ptr("AA")}); e.err != nil || again.Title != "AA" {
		t.Errorf("without a revision: %v", e.err)
	}
	if _, e := one.apply(TaskChange{Seen: 99, Title: ptr("x")}); !fault.Is(e.err, fault.Invalid) {
		t.Errorf("a revision of the future: %v", e.err)
	}
	if task.Revisions["title"] != 2 {
		t.Error("the task that was read has changed")
	}
}

func TestBadChangesAreRefused(t *testing.T) {
	t.Parallel()
	base := Task{Title: "a", Assignee: Agent, Status: NotStarted, Revision: 1}
	for name, c := range map[string]struct {
		change TaskChange
		field  string
	}{
		"blank title":  {TaskChange{Title: ptr(" ")}, "title"},
		"NUL":          {TaskChange{Body: ptr("a\x00")}, "body"},
		"bad UTF-8":    {TaskChange{Body: ptr("\xff")}, "body"},
		"assignee":     {TaskChange{Assignee: ptr(Assignee("cat"))}, "assignee"},
		"wrong kind":   {TaskChange{AssigneeRef: ptr("person:p1")}, "assigneeRef"},
		"no name":      {TaskChange{AssigneeRef: ptr("worker:")}, "assigneeRef"},
		"spaces":       {TaskChange{AssigneeRef: ptr("worker:a b")}, "assigneeRef"},
		"four fields":  {TaskChange{CronSchedule: ptr("0 9 * *")}, "cronSchedule"},
		"too far away": {TaskChange{SortOrder: ptr(int64(1 << 60))}, "sortOrder"},
	} {
		_, e := base.apply(c.change)
		if _, field, _ := fault.Public(e.err); e.err == nil || field != c.field {
			t.Errorf("%s: %v on %q", name, e.err, field)
		}
	}
	base.Status = Ongoing
	if _, e := base.apply(TaskChange{CronSchedule: ptr("0 9 * * 1")}); !fault.Is(e.err, fault.Conflict) {
		t.Errorf("scheduling what is ongoing: %v", e.err)
	}
	base.Status, base.Assignee, base.AssigneeRef = NotStarted, Agent, "worker:w1"
	if got, e := base.apply(TaskChange{Assignee: ptr(Human)}); e.err != nil || got.AssigneeRef != "" {
		t.Errorf("to a human: %+v %v", got, e.err)
	}
}

func TestThereIsAlwaysAPlaceBetween(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		orders := []int64{Place, 2 * Place, 3 * Place}
		for range 60 {
			at := rapid.IntRange(0, len(orders)).Draw(t, "at")
			var before, after *int64
			low := int64(-maxOrder)
			if at > 0 {
				before, low = &orders[at-1], orders[at-1]
			}
			if at < len(orders) {
				after = &orders[at]
			}
			order, ok := between(before, after)
			if !ok {
				following := orders[at:min(len(orders), at+spreadMost)]
				first, moved, room := spread(low, following)
				if !room || len(moved) > len(following) {
					t.Fatalf("no room in %v at %d", orders, at)
				}
				copy(orders[at:], moved)
				order = first
			}
			orders = slices.Insert(orders, at, order)
			for i := 1; i < len(orders); i++ {
				if orders[i-1] >= orders[i] {
					t.Fatalf("%v is out of order at %d", orders, i)
				}
			}
		}
	})
}

func TestCirclesAreFound(t *testing.T) {
	t.Parallel()
	edges := map[byte][]byte{1: {2, 3}, 2: {4}, 3: {4}, 4: {5}, 6: {6}}
	node := func(b byte) (i id.ID) { i[15] = b; return i }
	next := func(i id.ID) (out []id.ID, err error) {
		for _, b := range edges[i[15]] {
			out = append(out, node(b))
		}
		return out, nil
	}
	for _, c := range []struct {
		from, to byte
		want     bool
	}{{1, 5, true}, {5, 1, false}, {2, 3, false}, {1, 1, true}, {6, 7, false}} {
		if got, err := reaches(node(c.from), node(c.to), next); err != nil || got != c.want {
			t.Errorf("%d to %d: %t %v", c.from, c.to, got, err)
		}
	}
	n := uint32(0)
	endless := func(id.ID) ([]id.ID, error) {
		n++
		return []id.ID{{0: 1, 12: byte(n >> 16), 13: byte(n >> 8), 14: byte(n)}}, nil
	}
	if _, err := reaches(node(1), node(2), endless); !fault.Is(err, fault.Limited) {
		t.Errorf("an endless chain: %v", err)
	}
}

func TestMetadataIsOfCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m  event.MessageMetadata
		ok bool
	}{
		"nothing":    {event.MessageMetadata{}, true},
		"a question": {event.MessageMetadata{Type: "permission_request", RequestID: "abcde", ToolName: "mcp__agentrq-x__y", Status: Pending, Details: []byte(`{"a":1}`)}, true},
		"no request": {event.MessageMetadata{Status: Pending}, false},
		"prose":      {event.MessageMetadata{ToolName: "run this, please"}, false},
		"no JSON":    {event.MessageMetadata{Details: []byte(`{`)}, false},
	} {
		if err := checkMetadata(c.m); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
