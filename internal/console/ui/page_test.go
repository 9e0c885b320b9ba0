package ui

import (
	"bytes"
	"go/format"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/a-h/templ/generator"
	"github.com/a-h/templ/parser/v2"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t *testing.T, page string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func walk(n *html.Node, f func(*html.Node)) {
	f(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, f)
	}
}

func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func hasClass(n *html.Node, class string) bool {
	v, _ := attr(n, "class")
	for _, c := range strings.Fields(v) {
		if c == class {
			return true
		}
	}
	return false
}

func text(n *html.Node) string {
	var b strings.Builder
	walk(n, func(m *html.Node) {
		if m.Type == html.TextNode {
			b.WriteString(m.Data)
		}
	})
	return b.String()
}

var head = Head{CSS: "/assets/x/app.css", JS: "/assets/x/app.js"}

// TestPagesRunUnderTheirPolicy looks at every page for what the content security policy
// forbids and what accessibility asks for.
func TestPagesRunUnderTheirPolicy(t *testing.T) {
	t.Parallel()
	for _, s := range gallery() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			page := render(t, s.page(head))
			if strings.Contains(page, "data-unknown-icon") {
				t.Error("an icon has no drawing")
			}
			ids := map[string]bool{}
			h1, mains := 0, 0
			walk(parse(t, page), func(n *html.Node) {
				if n.Type != html.ElementNode {
					return
				}
				for _, a := range n.Attr {
					if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
						t.Errorf("<%s> has an inline %s", n.Data, a.Key)
					}
				}
				if id, ok := attr(n, "id"); ok {
					if ids[id] {
						t.Errorf("id %q stands twice", id)
					}
					ids[id] = true
				}
				switch n.Data {
				case "style":
					t.Error("a style element")
				case "script":
					if src, ok := attr(n, "src"); !ok || src == "" || n.FirstChild != nil {
						t.Error("an inline script")
					}
				case "h1":
					h1++
				case "main":
					mains++
				case "svg":
					role, _ := attr(n, "role")
					label, _ := attr(n, "aria-label")
					hidden, _ := attr(n, "aria-hidden")
					if hasClass(n, "st") && (role != "img" || label == "") {
						t.Error("a status glyph without a name")
					}
					if !hasClass(n, "st") && hidden != "true" {
						t.Error("a drawing that is neither hidden nor named")
					}
				case "form":
					checkForm(t, n)
				case "button", "a", "summary":
					checkNamed(t, n)
				case "input", "select", "textarea":
					checkLabelled(t, n, page)
				}
			})
			if mains != 1 {
				t.Errorf("%d main elements", mains)
			}
			if h1 < 1 {
				t.Error("no h1")
			}
		})
	}
}

func checkForm(t *testing.T, n *html.Node) {
	t.Helper()
	action, ok := attr(n, "action")
	if !ok || !strings.HasPrefix(action, "/") || strings.HasPrefix(action, "//") {
		t.Errorf("form action %q leaves this origin", action)
	}
	if m, _ := attr(n, "method"); m != "post" && m != "get" {
		t.Errorf("form method %q", m)
	}
}

func checkNamed(t *testing.T, n *html.Node) {
	t.Helper()
	if l, _ := attr(n, "aria-label"); l != "" {
		return
	}
	name := strings.TrimSpace(text(n))
	walk(n, func(m *html.Node) {
		if l, _ := attr(m, "aria-label"); l != "" && m.Type == html.ElementNode {
			name += l
		}
	})
	_, pill := attr(n, "data-pill") // named when it is shown
	if name == "" && !pill {
		t.Errorf("<%s> without a name", n.Data)
	}
}

func checkLabelled(t *testing.T, n *html.Node, page string) {
	t.Helper()
	if typ, _ := attr(n, "type"); typ == "hidden" {
		return
	}
	if l, _ := attr(n, "aria-label"); l != "" {
		return
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "label" && strings.TrimSpace(text(p)) != "" {
			return
		}
	}
	id, _ := attr(n, "id")
	if id == "" || !strings.Contains(page, `for="`+id+`"`) {
		name, _ := attr(n, "name")
		t.Errorf("<%s name=%q> without a label", n.Data, name)
	}
}

// TestDecisionsArePlainForms finds, in the page alone, every answer that an open
// approval offers, bound to the version and the digest that were shown.
func TestDecisionsArePlainForms(t *testing.T) {
	t.Parallel()
	a := demoApproval()
	page := parse(t, render(t, Inbox(demoInbox(head, nil))))
	got := map[string]bool{}
	walk(page, func(n *html.Node) {
		if n.Data != "form" {
			return
		}
		if action, _ := attr(n, "action"); action != "/inbox/"+a.ID+"/answer" {
			return
		}
		fields := map[string]string{}
		buttons := 0
		walk(n, func(m *html.Node) {
			name, _ := attr(m, "name")
			value, _ := attr(m, "value")
			if m.Data == "input" && name != "" {
				fields[name] = value
			}
			if m.Data == "button" {
				buttons++
			}
		})
		if fields["version"] != "1" || fields["digest"] != a.Digest {
			t.Errorf("answer %q is bound to version %q, digest %q", fields["answer"], fields["version"], fields["digest"])
		}
		if buttons == 0 {
			t.Errorf("answer %q has no button", fields["answer"])
		}
		got[fields["answer"]] = true
	})
	want := map[string]bool{"allow": true, "deny": true, "edit": true, "grant": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHighRiskHasNoFilledButton: nothing pushes toward yes, and a single key only moves
// the focus.
func TestHighRiskHasNoFilledButton(t *testing.T) {
	t.Parallel()
	a := highApproval()
	page := parse(t, render(t, decision(a, InboxView{})))
	found := false
	walk(page, func(n *html.Node) {
		if n.Data != "form" || !hasClass(n, "allow") {
			return
		}
		walk(n, func(m *html.Node) {
			if m.Data != "button" {
				return
			}
			found = true
			if hasClass(m, "p") {
				t.Error("Allow is filled at high risk")
			}
			if _, ok := attr(m, "data-focus-only"); !ok {
				t.Error("one key could allow a high-risk call")
			}
		})
	})
	if !found {
		t.Error("no Allow button")
	}
}

// TestOfflineOffersNoDecision: what is shown may be old, so nothing is answered.
func TestOfflineOffersNoDecision(t *testing.T) {
	t.Parallel()
	for _, st := range []LiveState{LiveOffline, LiveReconnecting} {
		v := demoInbox(head, func(v *InboxView) { v.Shell.Live.State = st })
		if strings.Contains(render(t, Inbox(v)), "/answer") {
			t.Errorf("%s: a decision form is on the page", st)
		}
	}
}

// TestAnsweredCardLosesItsAmber holds rule 2 of the design for every state but open and
// unknown.
func TestAnsweredCardLosesItsAmber(t *testing.T) {
	t.Parallel()
	for _, st := range []ApprovalState{StateUndo, StateHalted, StateRunning, StateConfirmed, StateFailed, StateDenied, StateExpired, StateWithdrawn} {
		a := demoApproval()
		a.State = st
		page := render(t, approvalCard(a, InboxView{}))
		for _, amber := range []string{"c-need", "g-need", "k-need", "g-unknown"} {
			if strings.Contains(page, amber) {
				t.Errorf("%s: %s is still on the card", st, amber)
			}
		}
		if strings.Contains(page, "/answer") {
			t.Errorf("%s: an answer is still offered", st)
		}
	}
}

// TestBytesAreExact reads arguments, diff lines and outside text back from the page.
func TestBytesAreExact(t *testing.T) {
	t.Parallel()
	value := "\"two  spaces\\t\" <b>&amp;\n\n  next "
	line := "  indented  <script>\u202e "
	a := Approval{State: StateOpen, Args: []Arg{{Name: "a", Value: value, Outside: true}, {Name: "b", Value: value}}, Changes: &Diff{Lines: []DiffLine{{Op: DiffAdd, N: 1, Parts: []DiffPart{{Text: line}, {Text: line, Mark: true}}}}}}
	var got []string
	walk(parse(t, render(t, approvalCard(a, InboxView{}))), func(n *html.Node) {
		if hasClass(n, "v") {
			got = append(got, text(n))
		}
	})
	if diff := cmp.Diff([]string{value, value, line, line}, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	walk(parse(t, render(t, heldCard(Held{Text: value}, InboxView{}))), func(n *html.Node) {
		if hasClass(n, "v") {
			got = append(got, text(n))
		}
	})
	if diff := cmp.Diff([]string{value}, got); diff != "" {
		t.Error(diff)
	}
}

// fill sets every string reachable from v to s, and makes one element in each empty
// slice and pointer, so that all branches that print are taken.
func fill(v reflect.Value, s string, depth int) {
	if depth > 14 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(s)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s, depth+1)
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), s, depth+1)
	case reflect.Slice:
		if v.Len() == 0 && depth < 12 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i), s, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range []string{"", "code", "name", "password"} {
			v.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(s))
		}
	case reflect.Bool:
		v.SetBool(true)
	}
}

func filled[V any](s string) V {
	var v V
	fill(reflect.ValueOf(&v).Elem(), s, 0)
	return v
}

// hostilePages renders each page with every string set to s, once per open item.
func hostilePages(t *testing.T, s string) map[string]string {
	t.Helper()
	out := map[string]string{}
	in := filled[InboxView](s)
	for name, keep := range map[string]func(v *InboxView){
		"approval": func(*InboxView) {},
		"effect":   func(v *InboxView) { v.Approval = nil },
		"question": func(v *InboxView) { v.Approval, v.Effect = nil, nil },
		"held":     func(v *InboxView) { v.Approval, v.Effect, v.Question = nil, nil, nil },
		"quiet":    func(v *InboxView) { v.Approval, v.Effect, v.Question, v.Held = nil, nil, nil, nil },
	} {
		v := in
		keep(&v)
		for _, st := range []ApprovalState{StateOpen, StateUndo, StateConfirmed} {
			w := v
			if w.Approval != nil {
				a := *w.Approval
				a.State = st
				w.Approval = &a
			}
			out["inbox "+name+" "+string(st)] = render(t, Inbox(w))
		}
	}
	ch := filled[ChatView](s)
	ch.Thread.Entries = append(ch.Thread.Entries, Entry{Turn: ch.Thread.Entries[0].Turn})
	ch.Thread.Entries[1].Turn.Ask.Approval.State = StateOpen
	out["chat"] = render(t, Chat(ch))
	ch.Thread = nil
	out["chat start"] = render(t, Chat(ch))
	j := filled[JournalView](s)
	j.Event.Replay.Label, j.Event.BodyGone, j.Event.Replay.Off = ReplayDivergent, "", ""
	out["journal"] = render(t, Journal(j))
	bo := filled[BoardView](s)
	bo.List = false
	out["board"] = render(t, Board(bo))
	bo.List, bo.Columns = true, nil
	out["list"] = render(t, Board(bo))
	ta := filled[TaskView](s)
	ta.Edit.Stale[0].Name, ta.Edit.Field, ta.Thread = "title", "body", append(ta.Thread, Message{Text: s, Asserted: true}, Message{Text: s, Outside: true})
	out["task edit"] = render(t, Task(ta))
	ta.Edit, ta.Reply.Off = nil, ""
	out["task"] = render(t, Task(ta))
	out["new task"] = render(t, NewTask(filled[NewTaskView](s)))
	out["workspaces"] = render(t, Workspaces(filled[WorkspacesView](s)))
	out["setup"] = render(t, Setup(filled[SetupView](s)))
	out["signin"] = render(t, SignIn(filled[SignInView](s)))
	out["error"] = render(t, Error(filled[ErrorView](s)))
	out["search"] = render(t, Search(filled[SearchView](s)))
	return out
}

// TestHostileTextStaysText puts markup, script addresses and attribute breakers into
// every string of every view model; the document's elements must be those of a page
// whose strings are plain words.
func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	plain := hostilePages(t, "word")
	for _, evil := range []string{
		`"><script>alert(1)</script><img src=x onerror=alert(1)>`,
		`'><svg onload=alert(1)>`,
		`javascript:alert(1)`,
		`//evil.example/x`,
		`</textarea></title><style>*{display:none}</style><iframe>`,
		"/\\evil.example",
	} {
		for name, page := range hostilePages(t, evil) {
			if diff := cmp.Diff(skeleton(t, plain[name]), skeleton(t, page)); diff != "" {
				t.Errorf("%s with %q changes the document: %s", name, evil, diff)
			}
			walk(parse(t, page), func(n *html.Node) {
				for _, k := range []string{"href", "action", "formaction"} {
					if k == "href" && n.Data == "link" {
						continue // filled by the server from the bundle
					}
					v, ok := attr(n, k)
					if ok && v != "#" && v != "#main" && (!strings.HasPrefix(v, "/") || strings.HasPrefix(v, "//") || strings.HasPrefix(v, `/\`)) {
						t.Errorf("%s: <%s %s=%q> leaves the house", name, n.Data, k, v)
					}
				}
			})
		}
	}
}

// skeleton is the document's element names in order.
func skeleton(t *testing.T, page string) []string {
	var out []string
	walk(parse(t, page), func(n *html.Node) {
		if n.Type == html.ElementNode {
			out = append(out, n.Data)
		}
	})
	return out
}

// TestEmptyViewsRender: no view model is too empty to be drawn.
func TestEmptyViewsRender(t *testing.T) {
	t.Parallel()
	pages := map[string]templ.Component{
		"inbox": Inbox(InboxView{}), "approval": Inbox(InboxView{Approval: &Approval{}}), "undo": Inbox(InboxView{Approval: &Approval{State: StateUndo}}),
		"effect": Inbox(InboxView{Effect: &Effect{}}), "question": Inbox(InboxView{Question: &Question{}}), "held": Inbox(InboxView{Held: &Held{}}), "quiet": Inbox(InboxView{Quiet: &Quiet{}}),
		"chat": Chat(ChatView{}), "thread": Chat(ChatView{Thread: &Thread{Entries: []Entry{{}, {Turn: &Turn{Ask: &Ask{}}}}}}),
		"journal": Journal(JournalView{}), "event": Journal(JournalView{Event: &EventView{Replay: &Replay{}, Tree: []TreeNode{{}}}}),
		"setup": Setup(SetupView{}), "signin": SignIn(SignInView{}), "error": Error(ErrorView{}), "board": Board(BoardView{Columns: []Column{{Cards: []Card{{}}}}}), "list": Board(BoardView{List: true, Rows: []Card{{}}}), "task": Task(TaskView{Thread: []Message{{}}}), "task form": Task(TaskView{Edit: &TaskEdit{}}), "new task": NewTask(NewTaskView{}), "workspaces": Workspaces(WorkspacesView{}), "search": Search(SearchView{}),
	}
	for name, c := range pages {
		if p := render(t, c); !strings.HasPrefix(p, "<!doctype html>") {
			t.Errorf("%s: not a document: %.40q", name, p)
		}
	}
}

// dropRefs takes the evidence out of a view model and leaves every text in place.
func dropRefs(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Ref]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			dropRefs(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			dropRefs(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			dropRefs(v.Index(i))
		}
	}
}

// markFacts writes a sign into each sentence that states a fact.
func markFacts(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Fact]() {
			v.FieldByName("Text").SetString("FACT-WITHOUT-EVENT")
			return
		}
		if v.Type() == reflect.TypeFor[FootFact]() {
			v.FieldByName("Config").SetBool(false)
		}
		for i := range v.NumField() {
			markFacts(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			markFacts(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			markFacts(v.Index(i))
		}
	}
}

// TestNoFactWithoutAnEvent is the lint of DESIGN §10: with empty evidence no factual
// sentence remains; with evidence each is printed, so the test cannot pass by printing
// nothing.
func TestNoFactWithoutAnEvent(t *testing.T) {
	t.Parallel()
	in := filled[InboxView]("word")
	ch := filled[ChatView]("word")
	jo := filled[JournalView]("word")
	se := filled[SetupView]("word")
	ch.Thread.Entries = append(ch.Thread.Entries, Entry{Turn: ch.Thread.Entries[0].Turn})
	ch.Thread.Entries[1].Turn.Says[0].Ref = Ref{}
	in.Approval.State = StateConfirmed
	ta := filled[TaskView]("word")
	views := map[string]any{"inbox": &in, "chat": &ch, "journal": &jo, "setup": &se, "task": &ta}
	draw := func() map[string]string {
		q := in
		q.Approval, q.Effect, q.Question, q.Held = nil, nil, nil, nil
		e := in
		e.Approval = nil
		return map[string]string{"inbox": render(t, Inbox(in)), "effect": render(t, Inbox(e)), "quiet": render(t, Inbox(q)), "chat": render(t, Chat(ch)), "journal": render(t, Journal(jo)), "setup": render(t, Setup(se)), "task": render(t, Task(ta))}
	}
	for _, v := range views {
		markFacts(reflect.ValueOf(v).Elem())
	}
	for name, page := range draw() {
		if !strings.Contains(page, "FACT-WITHOUT-EVENT") {
			t.Errorf("%s prints no fact even with evidence", name)
		}
	}
	for _, v := range views {
		dropRefs(reflect.ValueOf(v).Elem())
	}
	for name, page := range draw() {
		if i := strings.Index(page, "FACT-WITHOUT-EVENT"); i >= 0 {
			t.Errorf("%s states a fact without an event: …%s", name, page[max(0, i-200):i+18])
		}
	}
	if strings.Contains(render(t, Journal(jo)), "byte-equal") {
		t.Error("a replay without evidence claims a result")
	}
	empty := render(t, Journal(JournalView{Chain: Chain{State: ChainWhole, Events: 9}}))
	if strings.Contains(empty, "Chain whole") {
		t.Error("an unchecked chain is called whole")
	}
}

// TestClaimIsNeverProven: an agent's sentence without an event has the dashed edge, also
// while it is still being written with one.
func TestClaimIsNeverProven(t *testing.T) {
	t.Parallel()
	if p := render(t, sentence(Sentence{Text: "done"}, false)); strings.Contains(p, "proven") || !strings.Contains(p, "asserted") {
		t.Error("a claim is drawn as proven")
	}
	if p := render(t, sentence(Sentence{Text: "done", Ref: ev("1")}, true)); strings.Contains(p, "proven") {
		t.Error("a sentence that still streams is drawn as proven")
	}
	if p := render(t, sentence(Sentence{Text: "done", Ref: ev("1")}, false)); !strings.Contains(p, "proven") {
		t.Error("a bound sentence is not drawn as proven")
	}
}

// TestBannerOrder: one banner, amber before red before grey.
func TestBannerOrder(t *testing.T) {
	t.Parallel()
	demo, halted, disk := Banner{Kind: BannerDemo}, Banner{Kind: BannerHalted}, Banner{Kind: BannerDisk}
	for _, tt := range []struct {
		in   []Banner
		want BannerKind
	}{
		{[]Banner{demo, halted, disk}, BannerDisk},
		{[]Banner{demo, halted}, BannerHalted},
		{[]Banner{demo}, BannerDemo},
	} {
		if got := ChooseBanner(tt.in...); got.Kind != tt.want {
			t.Errorf("chose %s, want %s", got.Kind, tt.want)
		}
	}
	if ChooseBanner() != nil {
		t.Error("chose a banner of none")
	}
}

// TestGeneratedTemplatesAreFresh generates each template again in process and compares.
func TestGeneratedTemplatesAreFresh(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, name := range files {
		tpl, err := parser.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := generator.Generate(tpl, &b, generator.WithVersion(templ.Version()), generator.WithFileName(name)); err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(strings.TrimSuffix(name, ".templ") + "_templ.go")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is newer than its Go: run go generate ./internal/console/ui", name)
		}
	}
}

// TestKeysAreClosed: each printed key is one that the script knows how to press.
func TestKeysAreClosed(t *testing.T) {
	t.Parallel()
	known := regexp.MustCompile(`^([A-Z]\+?|\[|\]|/|Space)$`)
	for _, s := range gallery() {
		walk(parse(t, render(t, s.page(head))), func(n *html.Node) {
			if k, ok := attr(n, "data-key"); ok && !known.MatchString(k) {
				t.Errorf("%s: key %q", s.name, k)
			}
		})
	}
}
