package ui

import "github.com/a-h/templ"

// sample is one page of the gallery.
type sample struct {
	name string
	page func(h Head) templ.Component
}

func ev(seq string) Ref { return Ref{Seq: seq, Href: "/journal/1-" + seq} }

func fact(text, seq string) Fact { return Fact{Text: text, Ref: ev(seq)} }

var (
	scribe = Actor{Kind: ActorAgent, Name: "scribe"}
	desk   = Actor{Kind: ActorAgent, Name: "desk"}
	mira   = Actor{Kind: ActorPerson, Name: "Mira Kovač"}
	jonas  = Actor{Kind: ActorPerson, Name: "Jonas Lind"}
)

func shellOf(h Head, here Place, title string) Shell {
	h.Title = title
	return Shell{
		Head: h, Here: here,
		Places: []PlaceLink{{Place: PlaceInbox, Count: 5, Need: true}, {Place: PlaceWork}, {Place: PlaceChat, Count: 2}, {Place: PlaceJournal}},
		Crumbs: []Crumb{{Text: title}},
		Live:   Live{State: LiveOn, Position: "1-48187", Seq: "48,187"},
		Foot: []FootFact{
			{Icon: "sparkles", Fact: Fact{Text: "respond: qwen3, local"}, Config: true},
			{Icon: "link-2", Fact: fact("Chain verified 10:41", "48,150")},
		},
		Me: Me{Name: "Mira Kovač", Role: "owner"}, Halt: Halt{CanHalt: true, CanResume: true, Running: 2},
		Path: here.Href(),
	}
}

func demoShell(h Head, here Place, title string) Shell {
	s := shellOf(h, here, title)
	s.Places = []PlaceLink{{Place: PlaceInbox, Count: 1, Need: true}, {Place: PlaceChat, Count: 1}, {Place: PlaceJournal}}
	s.Live = Live{State: LiveOn, Position: "1-22", Seq: "22"}
	s.Foot = []FootFact{
		{Icon: "flask-conical", Fact: Fact{Text: "Demo, temporary folder"}, Config: true},
		{Icon: "sparkles", Fact: Fact{Text: "Scripted model, network off"}, Config: true},
		{Icon: "link-2", Fact: fact("Chain verified 2 s ago", "21")},
	}
	s.Me = Me{Name: "you", Role: "owner"}
	s.Banner = &Banner{Kind: BannerDemo, Text: "A scripted agent read your message and wants to write one file in ~/witan-demo-4k2p. Nothing leaves this machine.", Note: "end it with Ctrl-C"}
	return s
}

func add(n int, text string) DiffLine {
	return DiffLine{Op: DiffAdd, N: n, Parts: []DiffPart{{Text: text}}}
}

func demoApproval() Approval {
	return Approval{
		ID: "01kb8m3x2v9q7z4h5t6n0r1cay", Key: "AP-1", State: StateOpen, Version: 1,
		Digest: "b71e55aa90c4f1a2b71e55aa90c4f1a2b71e55aa90c4f1a2b71e55aa90c490c4", ExpiresIn: "23 h 59 m",
		Title: "Write hello.md, 4 lines", Actor: scribe, Skill: "file.write",
		For: Link{Text: "your message “Write a short hello file for the team”", Href: "/chat/t1"},
		Args: []Arg{
			{Name: "path", Value: `"hello.md"`, Origin: "your message"},
			{Name: "text", Value: `"# Hello\n…"`, Instead: "4 lines, all of them shown below", Origin: "scribe"},
			{Name: "expected", Value: `"no such file"`, Origin: "read just now"},
		},
		CallJSON: `{"path":"hello.md"}`,
		Changes:  &Diff{Note: "new file, 73 bytes", Lines: []DiffLine{add(1, "# Hello"), add(2, ""), add(3, "People and agents work here."), add(4, "Every act is asked for or by rule.")}},
		Before: []Step{
			{At: "09:14", Icon: "message-square", Name: "Your message", Text: "came in by the console", Right: "#15", Href: "/journal/1-15"},
			{At: "09:14", Icon: "sparkles", Name: "Model call", Text: "scripted, recorded", Right: "#19", Href: "/journal/1-19"},
			{At: "09:14", Status: StatusNeed, Name: "Policy", Text: "ASK by rule 3", Right: "#21", Href: "/journal/1-21"},
		},
		BeforeNote: "all 3 events of this run",
		Risk:       RiskMedium, RiskReasons: []string{"writes to disk", "in the sandbox folder only"},
		Rule:       Rule{Name: "Rule 3", Version: "policy v1", Text: "ASK file.write\n  by agents"},
		WillHappen: []string{"1 new file. You can take it back for 5 s, and delete it later."},
		Can:        Can{Allow: true, Deny: true, Edit: true, Scope: true},
		Reasons:    []string{"Not now", "Wrong target", "Wrong content", "I do not know why"},
		Grant: &GrantForm{
			Skill: "file.write", TargetName: "Path", Target: "hello.md", Targets: []string{"*.md", "*"}, Uses: 5,
			Until:    []Choice{{Value: "1d", Label: "Tonight"}, {Value: "7d", Label: "7 days", On: true}, {Value: "30d", Label: "30 days"}},
			Sentence: "scribe may write hello.md 5 times until 7 Dec.", StillAsks: "Outside bytes, other files and other agents still ask.",
			Saved: fact("Would have answered 4 of the last 5 asks, all allowed.", "20"),
		},
		Edit: []Field{
			{Name: "path", Kind: "text", Value: "hello.md", Required: true, Help: "Relative to the sandbox folder."},
			{Name: "text", Kind: "multiline", Value: "# Hello\n\nPeople and agents work here.\nEvery act is asked for or by rule.\n", Required: true},
		},
		Journal: "/journal/1-22", Pointers: true,
	}
}

func demoInbox(h Head, change func(v *InboxView)) InboxView {
	a := demoApproval()
	v := InboxView{
		Shell: demoShell(h, PlaceInbox, "Inbox"), Total: 1, Approval: &a, Explicit: true,
		Groups: []QueueGroup{{Name: "Routine", Items: []QueueItem{
			{ID: a.ID, Href: "/inbox/" + a.ID, Risk: RiskMedium, Title: a.Title, Actor: scribe, Where: "new file", Age: "now", On: true},
		}}},
	}
	if change != nil {
		change(&v)
	}
	return v
}

func highApproval() Approval {
	return Approval{
		ID: "01kb8m3x2v9q7z4h5t6n0r1cbb", Key: "AP-318", State: StateOpen, Version: 3,
		Digest: "9f3c00aa90c4f1a2b71e55aa90c4f1a2b71e55aa90c4f1a2b71e55aa90c4e1a7", ExpiresIn: "23 h 12 m",
		Title: "Change bank account of Halden Supplies", Actor: desk, Skill: "vendors.update",
		For:   Link{Key: "BO-77", Text: "Settle November supplier invoices", Href: "/journal"},
		Alarm: &Alarm{Head: fact("The new account number has one source: an email from an unverified sender.", "48,016"), Text: "That domain, halden-supplies.co, was first seen today. The known contact writes from halden.com."},
		Args: []Arg{
			{Name: "vendor_id", Value: `"ven_0Q3H7"`, Origin: "task brief"},
			{Name: "iban", Value: `"LT12 1000 0111 0100 1000"`, Label: "external, unverified", Outside: true},
			{Name: "effective_on", Value: `"2026-12-01"`, Origin: "desk"},
		},
		CallJSON: `{}`,
		Changes: &Diff{Note: "Halden Supplies, record v12 to v13", Outside: true, Lines: []DiffLine{
			{Op: DiffDel, N: 4, Parts: []DiffPart{{Text: "iban: "}, {Text: "DE89 3704 0044 0532 0130 00", Mark: true}}},
			{Op: DiffAdd, N: 4, Parts: []DiffPart{{Text: "iban: "}, {Text: "LT12 1000 0111 0100 1000", Mark: true}}},
		}},
		Taint: []TaintStep{
			{Icon: "mail", Kind: "Email", Name: "Invoice 4471", Note: "trust .12, contact unknown", Href: "/journal/1-48015"},
			{Icon: "database", Kind: "Memory", Name: "m-5521", Note: "extracted by desk"},
			{Icon: "sparkles", Kind: "Model", Name: "desk p-12", Note: "read as data"},
			{Icon: "corner-down-right", Kind: "Argument", Name: "iban", Note: "label kept"},
		},
		Says: &Claim{Text: "Halden confirmed the new account by phone this morning."},
		Before: []Step{
			{At: "10:31", Status: StatusAllowed, Name: "erp.invoices.list", Mono: true, Text: "read 14 rows", Right: "rule 2"},
			{At: "10:34", Status: StatusAllowed, Name: "mail.search", Mono: true, Text: "read 3 messages, 1 from an unknown sender", Right: "rule 2"},
			{At: "10:36", Status: StatusDenied, Name: "payments.schedule", Mono: true, Text: "refused before it ran", Right: "rule 9"},
		},
		BeforeNote: "last 3 of 11 calls by desk", BeforeHref: "/journal?thread=BO-77",
		Risk: RiskHigh, RiskReasons: []string{"moves money to a new place", "external bytes in an argument", "sender seen 0 times before"},
		Rule:       Rule{Name: "Rule 14", Version: "policy v31", Text: "ASK vendors.update\n  when taint ≥ external\n  by 2 people"},
		WillHappen: []string{"1 row changes now. The payment run on 2 Dec 14:00 sends €18,420.00 to the new account. Undo works until then."},
		Seats:      []Seat{{Who: mira, You: true}, {Who: jonas}},
		LastTime:   fact("Denied 3 times in 90 days, allowed 0", "47,002"), LastStatus: StatusDenied,
		Can:     Can{Allow: true, Deny: true, Edit: true, ScopeOff: "off by rule 14", AllowLabel: "Allow once, as 1 of 2"},
		StepUp:  "passkey",
		Reasons: []string{"Not now", "Wrong target", "Not trusted", "I do not know why"},
		Edit:    []Field{{Name: "iban", Kind: "text", Value: "LT12 1000 0111 0100 1000", Required: true, Error: "Not an account of this vendor."}},
		Journal: "/journal/1-48165",
	}
}

func queueGroups(on int) []QueueGroup {
	g := []QueueGroup{
		{Name: "Look closely", Items: []QueueItem{
			{ID: "a", Href: "/inbox/a", Risk: RiskHigh, Title: "Change bank account of Halden Supplies", Actor: desk, Where: "Back office", Why: "tainted argument", Outside: true, Age: "4m"},
			{ID: "b", Href: "/inbox/b", Status: StatusUnknown, Title: "Did the mail to Orsted Bank go out?", Icon: "mail", Actor: desk, Why: "effect unknown after restart", Age: "26m"},
		}},
		{Name: "Routine", Items: []QueueItem{
			{ID: "c", Href: "/inbox/c", Risk: RiskMedium, Title: "Patch runbook.md: db.primary is pg-2", Actor: Actor{Kind: ActorMind, Name: "steward"}, Where: "Platform", Why: "1 file, 1 line", Age: "31m"},
			{ID: "d", Href: "/inbox/d", Risk: RiskLow, Title: "Open a pull request from fix/invoice-pdf", Actor: Actor{Kind: ActorWorker, Name: "claude-code-2"}, Where: "Billing API", Age: "34m"},
		}},
		{Name: "Questions and held messages", Items: []QueueItem{
			{ID: "e", Href: "/inbox/e", Icon: "message-circle-question-mark", Title: "Keep v1 webhooks until 31 March?", Actor: Actor{Kind: ActorWorker, Name: "claude-code"}, Where: "waits in BIL-140", Age: "40m"},
			{ID: "f", Href: "/inbox/f", Icon: "mail", Title: "Unknown sender: “Invoice 4471 overdue”", Where: "accounts@halden-supplies.co", Why: "Email, trust .12", Age: "48m"},
		}},
	}
	n := 0
	for i := range g {
		for j := range g[i].Items {
			g[i].Items[j].On = n == on
			n++
		}
	}
	return g
}

func inbox(h Head, on int, change func(v *InboxView)) InboxView {
	v := InboxView{
		Shell: shellOf(h, PlaceInbox, "Inbox"), Total: 6, Groups: queueGroups(on), Explicit: true, Index: on + 1,
		Tabs: []Tab{{Label: "All", Count: 6, Href: "/inbox", On: true}, {Label: "Approvals", Count: 3, Href: "/inbox?kind=approval"}, {Label: "Questions", Count: 1, Href: "/inbox?kind=question"}, {Label: "Held", Count: 1, Href: "/inbox?kind=held"}, {Label: "Failures", Count: 1, Href: "/inbox?kind=failure"}},
	}
	change(&v)
	return v
}

func effect() *Effect {
	return &Effect{
		ID: "01kb8m3x2v9q7z4h5t6n0r1cee", Key: "EF-9071", Version: 2, State: StatusUnknown, Word: "Unknown effect",
		Title: "Did the mail to Orsted Bank go out?", Actor: desk, Skill: "message.send", Digest: "5b02c7aa90c4f1a2b71e55aa90c4f1a2b71e55aa90c4f1a2b71e55aa90c4c7c7",
		Args:  []Arg{{Name: "to", Value: `"ap@orsted.dk"`, Origin: "contact Orsted"}, {Name: "subject", Value: `"Invoice 2206"`, Origin: "desk"}},
		Steps: []FlowStep{{Status: StatusProven, Text: "intended 03:04:06"}, {Status: StatusProven, Text: "dispatching 03:04:07"}, {Status: StatusUnknown, Text: "no answer recorded", Dotted: true}},
		Knows: []Fact{fact("The first byte may have left at 03:04:07; the process ended at 03:04:08.", "48,119")},
		Note:  "The target has no read-back by key, so only a person can tell.", IfNot: "It is closed as failed. desk may ask again; that is a new call and a new approval.",
		ReadBackOff: "not offered by the target",
		Facts:       []KV{{Key: "Class", Value: "once"}, {Key: "Key", Value: "5b02…c7c7", Mono: true}, {Key: "Attempt", Value: "1"}},
		Journal:     "/journal/1-48119",
	}
}

func chatGroups(need bool) []ThreadGroup {
	return []ThreadGroup{
		{Name: "Console", Note: "you, signed in", Threads: []ThreadRow{
			{ID: "t1", Href: "/chat/t1", Actor: desk, Title: "Orsted invoice 2206", Last: "desk waits for your answer", Age: "now", On: true, Need: need},
			{ID: "t2", Href: "/chat/t2", Actor: Actor{Kind: ActorAgent, Name: "coordinator"}, Title: "What’s waiting", Last: "coordinator, plain commands", Age: "11:20"},
		}},
		{Name: "HTTP", Note: "channel erp", Threads: []ThreadRow{{ID: "t3", Href: "/chat/t3", Icon: "plug", Title: "Nightly import 4,212 rows", Last: "1 message, answered", Age: "03:00"}}},
		{Name: "CLI", Note: "mira-laptop", Threads: []ThreadRow{{ID: "t4", Href: "/chat/t4", Icon: "terminal", Title: "witan chat, 6 turns", Last: "coordinator", Age: "28 Nov", Unread: true}}},
	}
}

func askApproval() Approval {
	a := demoApproval()
	a.Key, a.Title, a.Actor, a.Skill = "AP-322", "Send a mail to a new address", desk, "message.send"
	a.Args = []Arg{
		{Name: "to", Value: `"ap@orsted.dk"`, Origin: "quoted from contact Orsted"},
		{Name: "subject", Value: `"Invoice 2206, due 18 November"`, Origin: "desk"},
		{Name: "body", Value: `"Dear Ole, invoice 2206 (€7,310.00) was due on 18 November. Could you tell us when it will be paid? Mira"`, Origin: "desk"},
	}
	a.Changes, a.Rule.Name = nil, "rule 15"
	return a
}

func chat(h Head, ask bool) ChatView {
	s := shellOf(h, PlaceChat, "Orsted invoice 2206")
	s.Crumbs = []Crumb{{Text: "Chat", Href: "/chat"}, {Text: "Orsted invoice 2206"}}
	ok := func(r string) FlowStep { return FlowStep{Status: StatusAllowed, Text: r} }
	conf := FlowStep{Status: StatusProven, Text: "confirmed"}
	a := askApproval()
	k := &Ask{Approval: a, Why: "leaves this machine, new recipient; this thread holds outside bytes since 11:02", Code: "kwmtp"}
	if !ask {
		k.Approval.State = StateConfirmed
		k.Flow = []FlowStep{{Status: StatusDone, Text: "asked 11:03"}, {Status: StatusAllowed, Text: "allowed by Mira 11:04"}, {Status: StatusProven, Text: "sent"}, {Status: StatusProven, Text: "confirmed 250 OK"}}
	}
	t := &Thread{
		ID: "t1", Title: "Orsted invoice 2206", With: "desk",
		Entries: []Entry{
			{ID: "0", Line: &SystemLine{Icon: "circle-stop", Fact: fact("Run r-8790 cancelled by Mira after 2 of 4 steps. 0 effects, 0 in doubt.", "47,900"), At: "29 Nov"}},
			{ID: "1", Turn: &Turn{Actor: mira, At: "11:02", Text: "Did Orsted pay 2206? If not, send them a short reminder."}},
			{ID: "2", Turn: &Turn{
				Actor: desk, At: "11:02", Run: "r-8841", RunHref: "/journal?thread=r-8841",
				Calls: []CallRow{
					{Icon: "database", Skill: "erp.invoices.get", Text: "2206, open, due 18 Nov", Policy: ok("rule 2"), Effect: conf},
					{Icon: "search", Skill: "mail.search", Text: "2 messages", Outside: true, Policy: ok("rule 2"), Effect: conf},
				},
				Says: []Sentence{{Text: "2206 is open: €7,310.00, 12 days late.", Ref: ev("48,301")}, {Text: "They usually pay within a week of a reminder.", Note: fact("This is the first reminder to Orsted.", "48,303")}},
				Ask:  k,
			}},
		},
		Composer: Composer{Action: "/chat/t1/messages", Key: "k1", To: "desk"},
		Run:      &Run{Key: "r-8841", Status: StatusNeed, Word: "waits for you", Facts: []KV{{Key: "Steps", Value: "3 of at most 12"}, {Key: "Model", Value: "respond, qwen3"}, {Key: "Prompt", Value: "desk p-12"}, {Key: "Tokens", Value: "3,180 in, 96 out"}}, Spent: "€0.021", Cap: "€0.20", Permille: 105},
		Label:    &ThreadLabel{Name: "outside", Outside: true, Since: fact("since 11:02, mail.search", "48,302"), Means: "Medium acts ask from here on. Answering you does not."},
		People:   []Participant{{Actor: mira, Note: "owner"}, {Actor: desk, Note: "autonomy 61"}},
		Reads:    []KV{{Key: "6 turns in full", Value: "1,904 tok"}, {Key: "25 older, summary", Value: "412 tok"}, {Key: "4 memories", Value: "310 tok"}},
		Journal:  "/journal?thread=t1", Replay: Link{Text: "Replay r-8841 offline", Href: "/journal/1-48301"},
	}
	if !ask {
		t.Entries = append(t.Entries, Entry{ID: "3", Turn: &Turn{Actor: mira, At: "11:06", Text: "Who is our contact there? Note it in Pano."}}, Entry{ID: "4", Turn: &Turn{
			Actor: desk, Writing: true, Run: "r-8842", StepNote: "step 2 of at most 12",
			Calls: []CallRow{{Icon: "file-text", Skill: "pano.write", Text: "customers.md, r14 to r15", Policy: ok("rule 5"), Effect: FlowStep{Status: StatusRunning, Text: "dispatching", Dotted: true}}},
			Says:  []Sentence{{Text: "Ole Lindqvist answers for payments at Orsted. I add him to customers.md under"}},
		}}, Entry{ID: "5", Turn: &Turn{Actor: Actor{Kind: ActorPerson, Name: "Ole Lindqvist"}, At: "11:07", Outside: true, Lang: "da", Text: "Vi ser på det.\n<b>Kind regards</b>"}})
		t.Composer.Run = "r-8842"
		t.Run.Status, t.Run.Word = StatusRunning, "running"
	} else {
		t.Entries = append(t.Entries, Entry{ID: "w", Line: &SystemLine{Icon: "pause", Fact: fact("desk waits at step 3. It costs nothing meanwhile.", "48,305")}})
		t.Composer.Draft, t.Composer.ReadsAs = "yes kwmtp", "allow AP-322 once, call 77ab…03e9. desk does not see this line."
	}
	return ChatView{Shell: s, Groups: chatGroups(ask), Explicit: true, Thread: t, Tabs: []Tab{{Label: "Threads", Count: 4, Href: "/chat", On: true}, {Label: "Unread", Count: 1, Href: "/chat?unread=1"}}}
}

func noModel() *NoModel {
	return &NoModel{
		Commands: []Command{{"remember TEXT", "keeps a memory, yours only"}, {"recall WORDS", "the best 5 memories with their scores"}, {"note FILE: TEXT", "adds a line to a Pano document"}, {"remind WHEN: TEXT", "one message at that time"}, {"what's waiting", "approvals, questions, held messages"}, {"help", "this table"}},
		Works:    []string{"Inbox, Chat, Journal", "Six commands, here and in the CLI", "Recall by words"}, Rests: []string{"Agents’ answers", "Summaries of long threads"},
		Waiting: fact("4 messages are kept in order and go to desk when a model answers. The oldest is 26 min old.", "48,320"),
		Config:  "llm:\n  roles:\n    respond: local/qwen3\n  providers:\n    local:\n      kind: openai\n      baseUrl: http://127.0.0.1:11434/v1",
	}
}

func tree() []TreeNode {
	n := func(typ, text, seq string, a Actor, s Status, ic string, kids ...TreeNode) TreeNode {
		return TreeNode{ID: "1-" + seq, Type: typ, Text: text, Seq: seq, Href: "/journal/1-" + seq, Actor: a, Status: s, Icon: ic, Children: kids}
	}
	decided := n("approval.decided", "You, after 14 s", "24", Actor{Kind: ActorPerson, Name: "you"}, "", "",
		n("effect.dispatching", "lease 1, 5 s after your answer", "26", Actor{}, StatusAllowed, ""),
		n("effect.confirmed", "73 bytes, sha256 9c0d…41fa", "27", Actor{}, StatusProven, ""))
	decided.Strong, decided.On = "Allow once.", true
	out := n("inbound.message", "“Write a short hello file for the team”", "15", Actor{Kind: ActorPerson, Name: "you"}, "", "",
		n("agent.task", "dispatch gave it to scribe", "16", Actor{}, "", "corner-down-right",
			n("llm.request", "scripted, prompt scribe p-1", "18", Actor{}, "", "sparkles"),
			n("llm.response", "1 call to file.write, recorded", "19", Actor{}, "", "sparkles",
				n("skill.invoke", "file.write, b71e…90c4", "20", scribe, "", "",
					n("policy.decision", "ASK by rule 3 of policy v1", "21", Actor{Kind: ActorSystem, Name: "policy"}, "", ""),
					n("approval.requested", "AP-1", "22", Actor{}, StatusNeed, "", decided))),
			n("agent.response", "“hello.md is there.”", "29", scribe, "", "")))
	return []TreeNode{out}
}

func replay(label ReplayLabel) *Replay {
	r := &Replay{Action: "/journal/1-24/replay", Label: label, Exact: 11, Total: 11, Took: "0.04 s", Ref: ev("31")}
	for i, n := range []string{"message", "task", "request", "reply", "call", "policy", "ask", "you", "send", "confirm", "answer"} {
		st := ReplayStep{Name: n, State: ReplayExact, Href: "/journal/1-24?step=" + n, On: n == "you"}
		if label == ReplayDivergent && i >= 4 {
			st.State = ReplayNone
			if i == 4 {
				st.State = ReplayDivergent
			}
		}
		r.Steps = append(r.Steps, st)
	}
	if label == ReplayDivergent {
		r.Exact = 4
		r.First = &Divergence{Step: "call", Byte: 212, Want: `{"path":"hello.md"}`, Got: `{"path":"hallo.md"}`, WantOrigin: "#20"}
	}
	return r
}

func journal(h Head, label ReplayLabel, demo bool) JournalView {
	s := shellOf(h, PlaceJournal, "D-1")
	if demo {
		s = demoShell(h, PlaceJournal, "D-1")
		s.Banner = nil
	}
	s.Crumbs = []Crumb{{Text: "Journal", Href: "/journal"}, {Text: "D-1"}}
	rows := []EventRow{
		{Seq: "31", At: "09:14:30", Icon: "rotate-ccw", Type: "run.replayed", Text: "exact, 11 of 11"},
		{Seq: "29", At: "09:14:22", Actor: scribe, Type: "agent.response", Text: "“hello.md is there.”", Path: true},
		{Seq: "27", At: "09:14:21", Status: StatusProven, Type: "effect.confirmed", Text: "73 bytes", Path: true},
		{Seq: "26", At: "09:14:21", Status: StatusAllowed, Type: "effect.dispatching", Text: "lease 1", Path: true},
		{Seq: "24", At: "09:14:16", Actor: Actor{Kind: ActorPerson, Name: "you"}, Type: "approval.decided", Text: "allow once", Path: true, On: true},
		{Seq: "22", At: "09:14:02", Status: StatusNeed, Type: "approval.requested", Text: "AP-1", Path: true},
		{Seq: "21", At: "09:14:02", Actor: Actor{Kind: ActorSystem, Name: "policy"}, Type: "policy.decision", Text: "ASK by rule 3", Path: true},
		{Seq: "20", At: "09:14:02", Actor: scribe, Type: "skill.invoke", Text: "file.write", Path: true},
		{Seq: "17", At: "09:14:01", Icon: "mail", Type: "inbound.message", Text: "Invoice 4471", Label: "external"},
		{Seq: "15", At: "09:14:01", Actor: Actor{Kind: ActorPerson, Name: "you"}, Type: "inbound.message", Text: "“Write a short hello file for the team”", Path: true},
	}
	for i := range rows {
		rows[i].ID = "1-" + rows[i].Seq
		rows[i].Href = "/journal/" + rows[i].ID
	}
	e := &EventView{
		ID: "1-24", Seq: "24", Type: "approval.decided", Status: StatusAllowed, Word: "Allowed once", Key: "D-1", Of: "AP-1, your message",
		Title: "Write hello.md, 4 lines", Said: fact("You allowed it at 09:14:16. It ran once and was confirmed.", "27"),
		Door:   Link{Text: "Open ~/witan-demo-4k2p/files/hello.md", Href: "/files/hello.md"},
		Header: []KV{{Key: "id", Value: "01kb8m3x2v9q7z4h5t6n0r1cay", Mono: true}, {Key: "stream", Value: "approval/01kb8m3x2v9q7z4h5t6n0r1cay", Mono: true}, {Key: "layer", Value: "console"}, {Key: "recorded", Value: "2026-11-30 09:14:16.204113", Mono: true}, {Key: "hash", Value: "77ae0c9d41fa77ae0c9d41fa77ae0c9d41fa77ae0c9d41fa77ae0c9d41fa0c0c", Mono: true}},
		Body:   "{\n  \"answer\": \"allow_once\",\n  \"approvalId\": \"01kb8m3x2v9q7z4h5t6n0r1cay\",\n  \"digest\": \"b71e55aa90c4f1a2\",\n  \"effectiveAt\": 1796029461204113\n}",
		Tree:   tree(),
		Parts:  []Part{{Icon: "shield", Kind: "Policy", Name: "v1, rule 3", Hash: "a03e55aa90c4f177"}, {Icon: "file-text", Kind: "Prompt", Name: "scribe p-1", Hash: "5c1955aa90c4f1e2"}, {Icon: "sparkles", Kind: "Reply", Name: "stored", Hash: "d0f455aa90c4f118"}, {Icon: "database", Kind: "Memory", Name: "m-5521", Hash: "91bb55aa90c4f140", Outside: true}, {Icon: "user", Kind: "Answer", Name: "you, allow", Hash: "77ae55aa90c4f10c"}},
		Replay: replay(label), Proof: "/journal/1-24/proof",
	}
	if demo {
		e.Doors = []Door{
			{Icon: "bot", Title: "Add a model", Text: "Any OpenAI-compatible address, Anthropic or Bedrock. The key stays in your environment.", Link: Link{Text: "Show the 6 lines for witan.yaml", Href: "/chat"}},
			{Icon: "rotate-ccw", Title: "Start for real", Text: "A folder that stays, your own sign-in, the same binary.", Command: "witan serve"},
		}
		e.DoorsSkip = "/demo/skip"
	}
	return JournalView{
		Shell: s, Rows: rows, Older: "/journal?before=1-15", Explicit: true, Event: e,
		Filter: Filter{Types: []Choice{{Value: "approval.decided", Label: "approval.decided"}}, Actors: []Choice{{Value: "scribe", Label: "scribe"}}, Chips: []FilterChip{{Text: "Path of D-1", Remove: "/journal/1-24", Path: true}}, Shown: 10, Total: 31},
		Chain:  Chain{State: ChainWhole, Checked: true, Events: 31, Against: "Tip matches the checkpoint file.", At: "09:14:31", Ref: ev("30")},
	}
}

func setup(h Head, ok bool) SetupView {
	h.Title = "Claim this instance"
	v := SetupView{
		Head: h, Code: "code", EndsIn: "41 min", At: "30 Nov 09:14", Name: "Mira Kovač", SignInName: "mira", MinPassword: 12,
		Passkey: PasskeyPlace{OK: ok, Host: "localhost"}, Events: 14,
		Exists:  []SetupFact{{Icon: "scroll-text", Name: "Journal", Fact: fact("chain whole", "14"), Proven: true}, {Icon: "shield", Name: "Policy v1", Fact: fact("6 rules, default ASK", "3")}, {Icon: "bot", Name: "coordinator", Fact: fact("1 agent, 7 skills", "9")}, {Icon: "sparkles", Name: "No model", Fact: fact("plain commands work", "1")}},
		Where:   []KV{{Key: "Data", Value: "/home/mira/.local/share/witan", Mono: true}, {Key: "Database", Value: "SQLite, 412 kB, 38 GB free"}, {Key: "Address", Value: "http://localhost:7420, this machine only", Mono: true}, {Key: "Leaves it", Value: "nothing. No update check, no telemetry"}},
		Keyring: "/home/mira/.config/witan/keyring", BackupCommand: "witan backup --to /media/usb/witan-30nov", Version: "0.1.0", Instance: "01kb8m3x2v9q7z4h5t6n0r1cay",
	}
	if !ok {
		v.Passkey.Why, v.Passkey.Better = "This address is an IP number, and a passkey belongs to a name.", "http://localhost:7420"
		v.Errors = map[string]string{"password": "12 characters or more; this has 5."}
	}
	return v
}

func gallery() []sample {
	c := func(f func(h Head) templ.Component, name string) sample { return sample{name: name, page: f} }
	return append(workGallery(), []sample{
		c(func(h Head) templ.Component { return Inbox(demoInbox(h, nil)) }, "demo-inbox"),
		c(func(h Head) templ.Component {
			return Inbox(demoInbox(h, func(v *InboxView) {
				v.Approval.State, v.Approval.Undo = StateUndo, &Undo{Left: 4, Total: 5}
				v.Shell.Places[0].Count, v.Total = 0, 0
				v.Groups[0].Items[0].Status, v.Groups[0].Items[0].Decided = StatusAllowed, fact("You allowed it", "24")
			}))
		}, "demo-undo"),
		c(func(h Head) templ.Component {
			return Inbox(demoInbox(h, func(v *InboxView) {
				a := v.Approval
				a.State, a.Pointers = StateConfirmed, false
				a.Answer, a.Outcome = fact("You allowed this once, 8 s ago.", "24"), fact("It ran and was confirmed.", "27")
				a.AnswerBy, a.Replay = mira, "/journal/1-24"
				v.Groups[0].Items[0].Status, v.Groups[0].Items[0].Decided = StatusProven, fact("You allowed it", "24")
				v.Total, v.Shell.Places[0].Count = 0, 0
			}))
		}, "demo-confirmed"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 0, func(v *InboxView) { a := highApproval(); v.Approval = &a }))
		}, "inbox"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 2, func(v *InboxView) { a := demoApproval(); a.Pointers = false; a.Grant.Open = true; v.Approval = &a }))
		}, "inbox-grant"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 0, func(v *InboxView) {
				a := highApproval()
				v.Approval = &a
				a.Stale = &Stale{Saw: 3, Now: 4, Why: fact("Jonas edited the call 8 s before you pressed.", "48,190"), Diff: &Diff{Lines: []DiffLine{{Op: DiffDel, Parts: []DiffPart{{Text: `"amount": 7310.00`}}}, {Op: DiffAdd, Parts: []DiffPart{{Text: `"amount": 9310.00`}}}}}}
			}))
		}, "inbox-stale"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 2, func(v *InboxView) {
				a := demoApproval()
				a.Pointers, a.State, a.Elsewhere, a.AnswerBy = false, StateConfirmed, true, jonas
				a.Answer, a.Outcome, a.Next = fact("Jonas allowed this once, 3 s ago.", "48,201"), fact("It ran and was confirmed.", "48,204"), "/inbox/d"
				v.Approval = &a
				v.Groups[1].Items[0].Status, v.Groups[1].Items[0].Decided = StatusAllowed, fact("Jonas allowed it", "48,201")
			}))
		}, "inbox-elsewhere"),
		c(func(h Head) templ.Component { return Inbox(inbox(h, 1, func(v *InboxView) { v.Effect = effect() })) }, "inbox-effect"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 4, func(v *InboxView) {
				v.Question = &Question{ID: "e", Key: "Q-12", Version: 1, Title: "Keep v1 webhooks until 31 March?", Actor: Actor{Kind: ActorWorker, Name: "claude-code"}, Text: "Three customers still call v1. I can keep both or drop v1 now.", Choices: []Choice{{Value: "keep", Label: "Keep until 31 March"}, {Value: "drop", Label: "Drop v1 now"}}, Waits: "BIL-140 stands still until you answer."}
			}))
		}, "inbox-question"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 5, func(v *InboxView) {
				v.Held = &Held{ID: "f", Key: "H-7", Version: 1, Title: "Unknown sender: “Invoice 4471 overdue”", Sender: "accounts@halden-supplies.co", Channel: "Email", At: "09:57", Trust: ".12", TrustParts: []string{"domain first seen today", "no earlier messages"}, Text: "Dear customer,\n\nour bank account has changed. <a href=\"http://x\">Click here</a>.\n", Contacts: []Choice{{Value: "p", Label: "Petra Halden"}}}
			}))
		}, "inbox-held"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 1, func(v *InboxView) {
				v.Parked = &Parked{ID: "p", Key: "PK-1", Subscriber: "dispatch.inbound", Kind: "unavailable", Error: "the contacts cannot be read", Tries: "2", Fact: fact("It failed at inbound.message.", "48,230"), CanDecide: true, Journal: "/journal/1-48230"}
			}))
		}, "inbox-parked"),
		c(func(h Head) templ.Component {
			v := InboxView{Shell: shellOf(h, PlaceInbox, "Inbox"), Quiet: &Quiet{
				Now:         fact("5 tasks run. Next schedule at 12:00.", "48,240"),
				Unasked:     []QuietLine{{Status: StatusAllowed, Fact: fact("412 calls ran by rule", "48,239"), Text: "0 refused afterwards", Right: "rules 2, 3, 18"}, {Icon: "key-round", Fact: fact("9 calls ran by grant", "48,200"), Text: "g-12 has 11 uses left", Right: "today 18:00"}, {Status: StatusDenied, Fact: fact("3 calls were refused", "48,100"), Text: "2 by rule 11, 1 by rule 9", Right: "none retried"}},
				DecidedNote: "9 today, median 41 s", Decided: []QuietLine{{Status: StatusDenied, Fact: fact("Change bank account of Halden Supplies", "48,190"), Text: "with reason, D-2291", Right: "10:45", Href: "/journal/1-48190"}},
				Grant: &GrantHint{Fact: fact("A grant would have saved you 2 of the 9.", "48,210"), Text: "github.open_pr from fix/*, 20 uses, 7 days.", Href: "/inbox"},
			}}
			v.Shell.Places[0].Count = 0
			return Inbox(v)
		}, "inbox-empty"),
		c(func(h Head) templ.Component {
			v := InboxView{Shell: shellOf(h, PlaceInbox, "Inbox"), Quiet: &Quiet{}}
			v.Shell.Places = []PlaceLink{{Place: PlaceInbox}, {Place: PlaceChat}, {Place: PlaceJournal}}
			v.Shell.Live = Live{State: LiveReconnecting, Seq: "14", At: "10:44"}
			return Inbox(v)
		}, "inbox-first"),
		c(func(h Head) templ.Component {
			return Inbox(inbox(h, 0, func(v *InboxView) {
				a := highApproval()
				v.Approval = &a
				v.Explicit = false
				v.Shell.Halt = Halt{On: true, CanResume: true, Waiting: []string{"file.write hello.md, allowed by you"}}
				v.Shell.Banner = &Banner{Kind: BannerHalted, Text: "By Mira at 10:52. 7 calls were stopped before they left, 1 is in doubt.", Ref: ev("48,220"), Door: Link{Text: "Settle it", Href: "/inbox/b"}}
			}))
		}, "inbox-halted"),
		c(func(h Head) templ.Component { return Chat(chat(h, false)) }, "chat"),
		c(func(h Head) templ.Component { return Chat(chat(h, true)) }, "chat-ask"),
		c(func(h Head) templ.Component {
			v := ChatView{Shell: shellOf(h, PlaceChat, "Chat"), Groups: chatGroups(false), NoModel: noModel(), Explicit: true, Start: &Composer{Action: "/chat", Key: "k", To: "coordinator", Agents: []Choice{{Value: "coordinator", Label: "coordinator", On: true}, {Value: "desk", Label: "desk"}}}}
			return Chat(v)
		}, "chat-plain"),
		c(func(h Head) templ.Component { return Journal(journal(h, ReplayExact, true)) }, "demo-replay"),
		c(func(h Head) templ.Component { return Journal(journal(h, ReplayNone, false)) }, "journal"),
		c(func(h Head) templ.Component { return Journal(journal(h, ReplayDivergent, false)) }, "journal-divergent"),
		c(func(h Head) templ.Component {
			return Journal(JournalView{Shell: shellOf(h, PlaceJournal, "Journal"), Filter: Filter{Chips: []FilterChip{{Text: "actor: desk", Remove: "/journal"}}, Total: 48187}})
		}, "journal-empty"),
		c(func(h Head) templ.Component { return Setup(setup(h, true)) }, "setup"),
		c(func(h Head) templ.Component { return Setup(setup(h, false)) }, "setup-ip"),
		c(func(h Head) templ.Component {
			h.Title = "Sign in"
			return SignIn(SignInView{Head: h, Address: "https://witan.halden.lan", Back: "/inbox/AP-318", BackName: "AP-318", Why: "You were signed out after 12 hours.", Passkey: PasskeyPlace{OK: true, Host: "witan.halden.lan"}, SignInName: "mira", ResetCommand: "witan people reset-link NAME"})
		}, "signin"),
		c(func(h Head) templ.Component {
			h.Title = "Sign in"
			return SignIn(SignInView{Head: h, Address: "http://10.0.0.7:7420", Passkey: PasskeyPlace{Why: "A passkey needs a name and https; this address has neither.", Better: "http://localhost:7420"}, Error: "That pair is wrong. 4 tries are left.", ResetCommand: "witan people reset-link NAME"})
		}, "signin-ip"),
		c(func(h Head) templ.Component {
			h.Title = "Set a password"
			return Reset(ResetView{Head: h, Address: "http://localhost:7420", Code: "abcd", Name: "Mira Kovač", SignInName: "mira", EndsIn: "58 min", MinPassword: 10, Errors: map[string]string{"password": "Too short."}})
		}, "reset"),
		c(func(h Head) templ.Component {
			h.Title = "Set a password"
			return Reset(ResetView{Head: h, Address: "http://localhost:7420", Gone: true})
		}, "reset-gone"),
		c(func(h Head) templ.Component {
			s := shellOf(h, PlaceInbox, "Not found")
			return Error(ErrorView{Shell: s, Status: 404, What: "AP-999 is not here.", DidNot: "nothing was changed.", Fix: "It may belong to another account, or the number is mistyped.", Trace: "7f1c20", Ref: ev("48,191"), Back: Link{Text: "Back to Inbox", Href: "/inbox"}})
		}, "error"),
		c(func(h Head) templ.Component {
			s := shellOf(h, "", "Search")
			s.Query = "halden"
			return Search(SearchView{Shell: s, Groups: []SearchGroup{{Name: "Approvals", Hits: []SearchHit{{Icon: "inbox", Link: Link{Key: "AP-318", Text: "Change bank account of Halden Supplies", Href: "/inbox/a"}, Note: "open, high risk"}}}, {Name: "Commands", Hits: []SearchHit{{Icon: "octagon-pause", Link: Link{Text: "Halt all", Href: "/inbox"}, Key: "Alt Shift H"}, {Icon: "key-round", Link: Link{Text: "Allow always"}, Note: "off by rule 14", Off: true}}}}})
		}, "search"),
	}...)
}
