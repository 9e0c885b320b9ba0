package policydb_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestApprovalFromAskToUse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		a := b.ask(b.write(), func(r *policy.AskRequest) { r.Evidence = []event.Reference{{Kind: event.RefEvent, ID: b.run}} })
		if a.Key != "AP-1" || a.State != policy.StateOpen || a.Rule != "rule 3" || !cmp.Equal(a.Asks, []policy.AskKind{policy.AskRule}) {
			t.Fatalf("%+v", a)
		}
		stored := b.get(a.ID)
		if stored.Digest != a.Digest || stored.Call != b.write().Digest() || stored.Words != "I want to." || len(stored.Evidence) != 1 ||
			stored.Requested.ID != a.Requested.ID || !stored.ExpiresAt.Equal(storetest.Start.Add(day)) {
			t.Errorf("stored %+v", stored)
		}
		if got := stored.Request.Digest(); got != a.Call {
			t.Errorf("the stored call has digest %s, asked was %s", got, a.Call)
		}
		b.See(t, func(tx event.Tx) error {
			byKey, err := b.svc.GetApprovalByKey(tx, "ap-1")
			if err == nil && byKey.ID != a.ID {
				t.Error("another one by key")
			}
			return err
		})
		if again := b.ask(b.write()); again.ID != a.ID {
			t.Error("the same call was asked twice")
		}
		if other := b.ask(b.write(), func(r *policy.AskRequest) { r.AskerID = db.IDs.New() }); other.ID == a.ID || other.Key != "AP-2" {
			t.Errorf("another asker got %s", other.Key)
		}
		use := db.IDs.New()
		if d := b.confirm(b.write(), a.ID, use); d.Effect != policy.Deny {
			t.Errorf("before the answer: %v", d.Effect)
		}
		got := b.allow(a)
		if got.State != policy.StateAllowed || got.AnsweredBy != b.owner || !got.EffectiveAt.Equal(storetest.Start) {
			t.Errorf("%+v", got)
		}
		if again := b.ask(b.write()); again.ID != a.ID || again.State != policy.StateAllowed {
			t.Error("a call that was asked again did not find its answer")
		}
		d := b.confirm(b.write(), a.ID, use)
		if d.Effect != policy.Allow || d.Approval != a.ID {
			t.Fatalf("%v: %v", d.Effect, d.Sentences())
		}
		if d := b.confirm(b.write(), a.ID, use); d.Effect != policy.Allow {
			t.Errorf("a second attempt of the same effect: %v", d.Sentences())
		}
		if d := b.confirm(b.write(), a.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Errorf("a replay for another effect: %v", d.Sentences())
		}
		if again := b.ask(b.write()); again.ID == a.ID {
			t.Error("a used approval answers a new call")
		}
		if n := b.count("approval.answered"); n != 1 {
			t.Errorf("%d answers", n)
		}
	})
}

// TestApprovalHoldsForTheShownCallOnly: INV-7. Whatever is changed after the
// approval, the execution is refused and the approval is not used up.
func TestApprovalHoldsForTheShownCallOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		first := b.write(args(`{"content":"hi","list":[1,2],"path":"a.md"}`))
		a := b.allow(b.ask(first))
		for name, change := range map[string]func(*policy.Request){
			"a text":            args(`{"content":"hi!","list":[1,2],"path":"a.md"}`),
			"a letter's case":   args(`{"content":"Hi","list":[1,2],"path":"a.md"}`),
			"the target":        args(`{"content":"hi","list":[1,2],"path":"b.md"}`),
			"a list's order":    args(`{"content":"hi","list":[2,1],"path":"a.md"}`),
			"one more argument": args(`{"content":"hi","list":[1,2],"mode":"x","path":"a.md"}`),
			"one less":          args(`{"content":"hi","path":"a.md"}`),
			"a number as text":  args(`{"content":"hi","list":["1",2],"path":"a.md"}`),
			"the target alone":  func(r *policy.Request) { r.Targets = policy.Known([]policy.Target{{Pointer: "/path", Value: "b.md"}}) },
			"the skill":         func(r *policy.Request) { r.Skill = "file.append" },
			"its version":       func(r *policy.Request) { r.Manifest = "m2" },
			"the actor":         func(r *policy.Request) { r.Actor = "agent:other" },
			"the requester":     func(r *policy.Request) { r.Requester = policy.Known("contact:" + b.run.String()) },
			"the workspace":     func(r *policy.Request) { r.Workspace = policy.Known(b.run) },
			"the recipients":    func(r *policy.Request) { r.Recipients = policy.Known([]policy.Recipient{{Principal: "agent:x"}}) },
			"the label":         outside,
			"an argument's label": func(r *policy.Request) {
				r.What = []policy.ArgumentLabel{{Pointer: "/content", Label: event.NewLabel(event.Known, event.AccountWide())}}
			},
		} {
			r := first
			change(&r)
			use := db.IDs.New()
			if d := b.confirm(r, a.ID, use); d.Effect == policy.Allow {
				t.Errorf("%s was changed, and the call went", name)
			}
			wantKind(t, b.check(a, r.Digest(), use), fault.Stale, name)
			if s := b.get(a.ID).State; s != policy.StateAllowed {
				t.Fatalf("%s: the approval is %s", name, s)
			}
		}
		use := db.IDs.New()
		if err := b.check(a, first.Digest(), use); err != nil {
			t.Errorf("the shown call: %v", err)
		}
		if err := b.check(a, first.Digest(), use); err != nil {
			t.Errorf("its second attempt: %v", err)
		}
		wantKind(t, b.check(a, first.Digest(), db.IDs.New()), fault.Conflict, "a replay")
	})
}

func TestApprovalAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		a := b.ask(b.write())
		say := func(account, person id.ID, change ...func(*policy.AnswerRequest)) error {
			r := policy.AnswerRequest{Approval: a.ID, Digest: a.Digest, Answer: policy.AnswerAllow, Via: policy.ViaAPI}
			for _, f := range change {
				f(&r)
			}
			_, err := b.svc.Answer(ctx, account, person, r)
			return err
		}
		for name, person := range map[string]id.ID{"nobody": id.Nil, "a viewer": b.viewer, "a stranger": db.IDs.New()} {
			wantKind(t, say(db.Account, person), fault.Denied, name)
		}
		wantKind(t, say(db.NewAccount(t), b.owner), fault.NotFound, "from another account")
		wantKind(t, say(db.Account, b.owner, func(r *policy.AnswerRequest) { r.Approval = db.IDs.New() }), fault.NotFound, "no such approval")
		wantLive(t, say(db.Account, b.owner, func(r *policy.AnswerRequest) { r.Digest = a.Call }), policy.StateOpen, "another digest")
		for name, f := range map[string]func(*policy.AnswerRequest){
			"no digest": func(r *policy.AnswerRequest) { r.Digest = "" }, "no answer": func(r *policy.AnswerRequest) { r.Answer = "" },
			"no door": func(r *policy.AnswerRequest) { r.Via = "" }, "a strange scope": func(r *policy.AnswerRequest) { r.Scope = "always" },
			"a denial with a scope":    func(r *policy.AnswerRequest) { r.Answer, r.Scope = policy.AnswerDeny, policy.ScopeGrant },
			"a grant for this once":    func(r *policy.AnswerRequest) { r.Grant = &policy.GrantSpec{} },
			"an edit without an edit":  func(r *policy.AnswerRequest) { r.Answer = policy.AnswerEdit },
			"an allowance with edited": func(r *policy.AnswerRequest) { r.Arguments = json.RawMessage("{}") },
		} {
			wantKind(t, say(db.Account, b.owner, f), fault.Invalid, name)
		}
		wantKind(t, say(db.Account, b.owner, func(r *policy.AnswerRequest) { r.Reason = strings.Repeat("x", 5000) }), fault.Limited, "a long reason")
		if s := b.get(a.ID); s.State != policy.StateOpen || s.Revision != 1 {
			t.Errorf("%+v", s)
		}
		if err := say(db.Account, b.operator); err != nil {
			t.Error(err)
		}
		wantLive(t, say(db.Account, b.owner), policy.StateAllowed, "a second answer")
		wantLive(t, say(db.Account, b.owner, func(r *policy.AnswerRequest) { r.Answer = policy.AnswerDeny }), policy.StateAllowed, "a late denial")
	})
}

func TestApprovalDeniedIsNotRaisedAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		a := b.ask(b.write())
		got, err := b.answer(a, policy.AnswerDeny, func(r *policy.AnswerRequest) { r.Reason = "wrong file" })
		if err != nil || got.State != policy.StateDenied {
			t.Fatalf("%v %+v", err, got)
		}
		_, err = b.tryAsk(b.write())
		wantKind(t, err, fault.Denied, "the same call")
		if !strings.Contains(err.Error(), "wrong file") {
			t.Errorf("the reason is lost: %v", err)
		}
		_, err = b.tryAsk(b.write(outside))
		wantKind(t, err, fault.Denied, "the same call in another context")
		if _, err := b.tryAsk(b.write(args(`{"content":"hi","path":"b.md"}`))); err != nil {
			t.Errorf("another call: %v", err)
		}
		b.run = db.IDs.New()
		if _, err := b.tryAsk(b.write()); err != nil {
			t.Errorf("another run: %v", err)
		}
		if d := b.confirm(b.write(), a.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Error("a denied call went")
		}
		wantKind(t, b.check(a, a.Call, db.IDs.New()), fault.Denied, "a denied approval")
	})
}

func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		open, allowed := b.ask(b.write()), b.allow(b.ask(b.write(args(`{"content":"2","path":"a.md"}`))))
		db.Clock.Advance(day)
		_, err := b.answer(open, policy.AnswerAllow)
		wantLive(t, err, policy.StateOpen, "an answer after the end, before the timer")
		if d := b.confirm(b.write(args(`{"content":"2","path":"a.md"}`)), allowed.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Error("an expired allowance carried a call")
		}
		wantKind(t, b.check(allowed, allowed.Call, db.IDs.New()), fault.Stale, "an expired allowance")
		fire := func(a policy.Approval, at time.Time) {
			b.Do(t, func(tx event.Tx) error {
				ref := b.cause(tx)
				return b.svc.OnTimer(tx, event.Event{ID: ref.ID, Label: ref.Label,
					Payload: event.TimerFired{Kind: policy.ExpiryTimer, Key: a.ID.String(), DueAt: clock.Micros(at)}})
			})
		}
		fire(open, open.ExpiresAt.Add(-time.Second))
		if s := b.get(open.ID).State; s != policy.StateOpen {
			t.Errorf("an older timer closed it: %s", s)
		}
		for range 2 { // a second firing changes nothing
			fire(open, open.ExpiresAt)
			fire(allowed, allowed.ExpiresAt)
		}
		if o, a := b.get(open.ID).State, b.get(allowed.ID).State; o != policy.StateExpired || a != policy.StateExpired {
			t.Errorf("%s and %s", o, a)
		}
		if n := b.count("approval.closed"); n != 2 {
			t.Errorf("%d closed", n)
		}
		if again := b.ask(b.write()); again.ID == open.ID || again.State != policy.StateOpen {
			t.Error("the call cannot be asked again")
		}
	})
}

func TestApprovalExpiredIsReplacedBeforeItsTimer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		a := b.ask(b.write())
		db.Clock.Advance(day + time.Second)
		if next := b.ask(b.write()); next.ID == a.ID || b.get(a.ID).State != policy.StateExpired {
			t.Error("an expired approval was handed out")
		}
	})
}

func TestApprovalUndo(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		console := func(r *policy.AnswerRequest) { r.Via = policy.ViaConsole }
		a := b.ask(b.write(outside))
		got := b.allow(a, console, func(r *policy.AnswerRequest) { r.Scope = policy.ScopeGrant })
		if !got.EffectiveAt.Equal(storetest.Start.Add(5*time.Second)) || got.Grant.IsZero() || got.Endorsement.IsZero() {
			t.Fatalf("%+v", got)
		}
		if d := b.confirm(b.write(outside), a.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Error("the call went before its time")
		}
		db.Clock.Advance(4 * time.Second)
		wantKind(t, func() error { _, err := b.svc.Withdraw(ctx, db.Account, b.viewer, a.ID); return err }(), fault.Denied, "a viewer's undo")
		back, err := b.svc.Withdraw(ctx, db.Account, b.owner, a.ID)
		if err != nil || back.State != policy.StateOpen || back.Digest != a.Digest {
			t.Fatalf("%v %+v", err, back)
		}
		if d := b.confirm(b.write(outside), a.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Error("a withdrawn answer carried a call")
		}
		if d := b.decide(b.write(outside)); d.Effect != policy.Ask || !d.Asked(policy.AskRule) || !d.Asked(policy.AskLabel) {
			t.Errorf("what the answer gave is still there: %v %v", d.Asks, d.Sentences())
		}
		if b.count("approval.withdrawn") != 1 || b.count("grant.ended") != 1 {
			t.Error("the undo is not in the journal")
		}
		b.allow(a, console)
		db.Clock.Advance(5 * time.Second)
		_, err = b.svc.Withdraw(ctx, db.Account, b.owner, a.ID)
		wantLive(t, err, policy.StateAllowed, "an undo too late")
		if d := b.confirm(b.write(outside), a.ID, db.IDs.New()); d.Effect != policy.Allow {
			t.Errorf("after its time: %v", d.Sentences())
		}
		_, err = b.svc.Withdraw(ctx, db.Account, b.owner, a.ID)
		wantLive(t, err, policy.StateUsed, "an undo of what went")
		for name, c := range map[string]struct {
			via        policy.Via
			reversible bool
		}{"by program": {policy.ViaAPI, false}, "what can be taken back": {policy.ViaConsole, true}} {
			b.run = db.IDs.New()
			x := b.ask(b.write(), func(r *policy.AskRequest) { r.Reversible = c.reversible })
			if got := b.allow(x, func(r *policy.AnswerRequest) { r.Via = c.via }); !got.EffectiveAt.Equal(got.AnsweredAt) {
				t.Errorf("%s waits until %v", name, got.EffectiveAt)
			}
		}
	})
}

func TestApprovalEdit(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		edit := func(s string) func(*policy.AnswerRequest) {
			return func(r *policy.AnswerRequest) { r.Arguments = json.RawMessage(s) }
		}
		a := b.ask(b.write())
		for name, c := range map[string]struct {
			args string
			kind fault.Kind
		}{
			"nothing changed": {`{"path":"a.md","content":"hi"}`, fault.Invalid}, "against the schema": {`{"content":"x"}`, fault.Invalid},
			"no canonical form": {`{"path":"a","content":0.5}`, fault.Invalid},
		} {
			_, err := b.answer(a, policy.AnswerEdit, edit(c.args))
			wantKind(t, err, c.kind, name)
		}
		b.save(func(d *policy.Document) {
			d.Rules = append(d.Rules, policy.Rule{ID: 30, Effect: policy.Deny, Who: []string{"agent:*"}, Skill: []string{"file.write"}, Target: []string{"secret/*"}})
		})
		_, err := b.answer(a, policy.AnswerEdit, edit(`{"path":"secret/a","content":"hi"}`))
		wantKind(t, err, fault.Denied, "an edit that policy denies")
		got, err := b.answer(a, policy.AnswerEdit, edit(`{"path": "a.md", "content": "bye"}`))
		if err != nil || got.State != policy.StateOpen || got.Digest == a.Digest || got.Call == a.Call || string(got.Original) != `{"content":"hi","path":"a.md"}` {
			t.Fatalf("%v %+v", err, got)
		}
		_, err = b.answer(a, policy.AnswerAllow)
		wantLive(t, err, policy.StateOpen, "an allowance of the call before the edit")
		b.allow(got)
		if d := b.confirm(b.write(), a.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Error("the call before the edit went")
		}
		edited, err := policy.MarkEdited(b.write(args(`{"content":"bye","path":"a.md"}`)), b.write().Arguments)
		if err != nil {
			t.Fatal(err)
		}
		if d := b.confirm(edited, a.ID, db.IDs.New()); d.Effect != policy.Allow {
			t.Errorf("the edited call: %v", d.Sentences())
		}
		var answers []string
		for _, e := range b.Events(t) {
			if p, ok := e.Payload.(event.ApprovalAnswered); ok {
				answers = append(answers, p.Answer+" "+string(p.Arguments))
				if p.Answer == "edit" && (p.Digest != a.Digest || p.Next != got.Digest) {
					t.Errorf("%+v", p)
				}
			}
		}
		if diff := cmp.Diff([]string{`edit {"content":"bye","path":"a.md"}`, `allow {"content":"bye","path":"a.md"}`}, answers); diff != "" {
			t.Error(diff)
		}
	})
}

// TestApprovalFirstAnswerWins: of two answers at once one wins, and the other
// sees what is live.
func TestApprovalFirstAnswerWins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		for range 5 {
			b.run = db.IDs.New()
			a := b.ask(b.write())
			errs := make([]error, 6)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					with := policy.AnswerAllow
					if i%2 == 1 {
						with = policy.AnswerDeny
					}
					_, errs[i] = b.answer(a, with)
				})
			}
			wg.Wait()
			won := -1
			for i, err := range errs {
				if err == nil && won >= 0 {
					t.Fatal("two answers won")
				}
				if err == nil {
					won = i
				}
			}
			if won < 0 {
				t.Fatal("no answer won")
			}
			state := b.get(a.ID).State
			if want := []policy.State{policy.StateAllowed, policy.StateDenied}[won%2]; state != want {
				t.Errorf("%s, but the winner said %s", state, want)
			}
			for i, err := range errs {
				if i != won {
					wantLive(t, err, state, "the loser")
				}
			}
		}
		if n := b.count("approval.answered"); n != 5 {
			t.Errorf("%d answers in the journal", n)
		}
	})
}

// TestApprovalUsedOnceByManyAtOnce: of many effects with one approval one goes.
func TestApprovalUsedOnceByManyAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		a := b.allow(b.ask(b.write()))
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { errs[i] = b.check(a, a.Call, db.IDs.New()) })
		}
		wg.Wait()
		n := 0
		for _, err := range errs {
			if err == nil {
				n++
			} else {
				wantKind(t, err, fault.Conflict, "another effect")
			}
		}
		if n != 1 {
			t.Errorf("%d effects went", n)
		}
	})
}

func TestApprovalAskedAtOnceIsOne(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		var wg sync.WaitGroup
		got := make([]policy.Approval, 6)
		errs := make([]error, 6)
		for i := range got {
			wg.Go(func() { got[i], errs[i] = b.tryAsk(b.write()) })
		}
		wg.Wait()
		for i := range got {
			if errs[i] != nil || got[i].ID != got[0].ID {
				t.Errorf("%s, first %s: %v", got[i].ID, got[0].ID, errs[i])
			}
		}
		if n := b.count("approval.requested"); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestApprovalOfTheSameCallByAnotherInvoke(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		by := func(invoke id.ID) policy.Request { return b.write(func(r *policy.Request) { r.Invoke = invoke }) }
		one, two := db.IDs.New(), db.IDs.New()
		console := func(r *policy.AnswerRequest) { r.Via = policy.ViaConsole }
		first := b.ask(by(one))
		if b.ask(by(two)).ID != first.ID {
			t.Error("one call, two open approvals")
		}
		b.allow(first, console)
		if again := b.ask(by(one)); again.ID != first.ID {
			t.Error("the invoke did not find its own answer")
		}
		second := b.ask(by(two))
		if second.ID == first.ID {
			t.Fatal("an answer was given to another invoke")
		}
		back, err := b.svc.Withdraw(context.Background(), db.Account, b.owner, first.ID)
		if err != nil || back.State != policy.StateSuperseded || b.count("approval.closed") != 1 {
			t.Fatalf("%v %+v", err, back)
		}
		b.allow(second)
		if d := b.confirm(by(one), first.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Error("a withdrawn answer carried a call")
		}
		if d := b.confirm(by(two), second.ID, db.IDs.New()); d.Effect != policy.Allow {
			t.Errorf("%v", d.Sentences())
		}
	})
}

func TestApprovalClosing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		open, allowed := b.ask(b.write()), b.allow(b.ask(b.write(args(`{"content":"2","path":"a.md"}`))))
		denied := b.ask(b.write(args(`{"content":"3","path":"a.md"}`)))
		if _, err := b.answer(denied, policy.AnswerDeny); err != nil {
			t.Fatal(err)
		}
		b.Do(t, func(tx event.Tx) error { return b.svc.CloseRun(tx, b.run, b.cause(tx)) })
		if o, a, d := b.get(open.ID).State, b.get(allowed.ID).State, b.get(denied.ID).State; o != policy.StateCancelled || a != policy.StateCancelled || d != policy.StateDenied {
			t.Errorf("%s, %s, %s", o, a, d)
		}
		if d := b.confirm(b.write(args(`{"content":"2","path":"a.md"}`)), allowed.ID, db.IDs.New()); d.Effect != policy.Deny {
			t.Error("a cancelled allowance carried a call")
		}
		b.See(t, func(tx event.Tx) error {
			list, err := b.svc.ListApprovals(tx, policy.ApprovalFilter{State: policy.StateCancelled, Run: b.run})
			if err == nil && (len(list) != 2 || list[0].Number < list[1].Number) {
				t.Errorf("%d listed", len(list))
			}
			if list, err = b.svc.ListApprovals(tx, policy.ApprovalFilter{Before: 3, Limit: 1, Asker: b.run}); err == nil && (len(list) != 1 || list[0].Number != 2) {
				t.Errorf("page %+v", list)
			}
			return err
		})
	})
}
