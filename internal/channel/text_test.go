package channel

import (
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func TestTheDoorNamesWhatItRefuses(t *testing.T) {
	t.Parallel()
	good := func() Inbound {
		return Inbound{Account: id.ID{1}, Channel: "mail", Sender: "a@example.org", Proof: ProofNone, Text: "hello"}
	}
	c := Cap{TextBytes: 100, Attachments: 2, AttachmentBytes: 50, AttachmentsTotal: 80, NoticeBytes: 10}
	file := File{Name: "a.txt", Type: "text/plain", Size: 50, Digest: "d"}
	if m := good(); m.check(c) != nil {
		t.Fatal(m.check(c))
	}
	for name, tt := range map[string]struct {
		change func(*Inbound)
		kind   fault.Kind
		field  string
		says   string
	}{
		"text too long":        {func(m *Inbound) { m.Text = strings.Repeat("a", 101) }, fault.Limited, "text", "at most 100"},
		"text not UTF-8":       {func(m *Inbound) { m.Text = "ab\xffc" }, fault.Invalid, "text", "byte 2"},
		"text with U+0000":     {func(m *Inbound) { m.Text = "ab\x00c" }, fault.Invalid, "text", "U+0000 at byte 2"},
		"half an emoji":        {func(m *Inbound) { m.Text = "😀"[:3] }, fault.Invalid, "text", "UTF-8"},
		"nothing said":         {func(m *Inbound) { m.Text = "" }, fault.Invalid, "text", "needs"},
		"no sender":            {func(m *Inbound) { m.Sender = "" }, fault.Invalid, "sender", "needs"},
		"sender too long":      {func(m *Inbound) { m.Sender = strings.Repeat("a", 321) }, fault.Limited, "sender", "at most 320"},
		"name with U+0000":     {func(m *Inbound) { m.SenderName = "\x00" }, fault.Invalid, "senderName", "U+0000"},
		"channel name":         {func(m *Inbound) { m.Channel = "Mail!" }, fault.Invalid, "channel", "not a name"},
		"agent name":           {func(m *Inbound) { m.Agent = "../x" }, fault.Invalid, "agent", "not a name"},
		"unknown proof":        {func(m *Inbound) { m.Proof = "sure" }, fault.Invalid, "proof", "no proof"},
		"person without proof": {func(m *Inbound) { m.PersonID = id.ID{2} }, fault.Invalid, "personId", "session"},
		"person by signature":  {func(m *Inbound) { m.PersonID, m.Proof = id.ID{2}, ProofSignature }, fault.Invalid, "personId", "session"},
		"two threads":          {func(m *Inbound) { m.Thread, m.ThreadID = "x", id.ID{3} }, fault.Invalid, "threadId", "not by both"},
		"too many files":       {func(m *Inbound) { m.Attachments = []File{file, file, file} }, fault.Limited, "attachments", "at most 2"},
		"files too large":      {func(m *Inbound) { m.Attachments = []File{file, file} }, fault.Limited, "attachments", "80 bytes together"},
		"file not stored":      {func(m *Inbound) { m.Attachments = []File{{Name: "a"}} }, fault.Invalid, "attachments[0].digest", "storage"},
		"file without name":    {func(m *Inbound) { m.Attachments = []File{{Digest: "d"}} }, fault.Invalid, "attachments[0].name", "name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := good()
			tt.change(&m)
			err := m.check(c)
			msg, field, _ := fault.Public(err)
			if fault.KindOf(err) != tt.kind || field != tt.field || !strings.Contains(msg, tt.says) {
				t.Errorf("got %s on %q: %s; want %s on %q with %q", fault.KindOf(err), field, msg, tt.kind, tt.field, tt.says)
			}
		})
	}
}

func TestTheLabelFollowsTheProof(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		m    Inbound
		want string
	}{
		{Inbound{Proof: ProofSession, PersonID: id.ID{1}}, "p:a"},
		{Inbound{Proof: ProofToken}, "k:*"},
		{Inbound{Proof: ProofSignature}, "k:*"},
		{Inbound{Proof: ProofNone}, "o:*"},
	} {
		if got := tt.m.label().String(); got != tt.want {
			t.Errorf("%s: label %s, want %s", tt.m.Proof, got, tt.want)
		}
	}
}

func TestAThreadNameBelongsToItsAddress(t *testing.T) {
	t.Parallel()
	mine, theirs := threadKey("mail", "a@x", "t1", false), threadKey("mail", "b@x", "t1", false)
	if string(mine) == string(theirs) {
		t.Error("naming somebody else's thread opens it")
	}
	if string(threadKey("chat", "a", "room", true)) != string(threadKey("chat", "b", "room", true)) {
		t.Error("a shared room is two")
	}
}
