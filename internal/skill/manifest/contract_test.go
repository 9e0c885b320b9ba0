package manifest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	m := Manifest{Name: "x", Input: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["to"],"properties":{
		"to":{"type":"array","items":{"type":"string","format":"email"}},"n":{"type":"integer","maximum":9007199254740993}}}`),
		Output: json.RawMessage(`{"type":"string","maxLength":3}`)}
	c, err := m.Contract()
	if err != nil {
		t.Fatal(err)
	}
	for args, field := range map[string]string{
		`{"to":["a@x.test"]}`:            "",
		`{"n":1,"to":[]}`:                "",
		`{}`:                             "/",
		`{"to":["a@x.test","nobody"]}`:   "/to/1",
		`{"n":1.5,"to":[]}`:              "/n",
		`{"n":9007199254740994,"to":[]}`: "/n", // beyond what a float can tell apart
		`{"to":[],"z":1}`:                "/",
		`[]`:                             "arguments",
		`{"to":`:                         "arguments",
	} {
		err := c.CheckInput([]byte(args))
		var f *fault.Error
		if field == "" {
			if err != nil {
				t.Errorf("%s: %v", args, err)
			}
			continue
		}
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != field {
			t.Errorf("%s: %v, want field %s", args, err, field)
		}
	}
	if err := c.CheckOutput([]byte(`"private words"`)); err == nil || strings.Contains(err.Error(), "private") {
		t.Errorf("output: %v", err)
	}
	none, err := Manifest{Name: "x"}.Contract()
	if err != nil {
		t.Fatal(err)
	}
	if none.CheckInput([]byte(`{}`)) != nil || none.CheckInput([]byte(`{"a":1}`)) == nil || none.CheckOutput([]byte(`1`)) != nil {
		t.Error("a skill without schemas takes nothing and gives anything")
	}
}

func TestTargetsAndTitle(t *testing.T) {
	t.Parallel()
	m := Manifest{Name: "mail.send", Target: []string{"/to", "/where/a~1b", "/gone"}, Title: "Mail {to}, {body|lines}, {body|bytes}, {gone}"}
	args := []byte(`{"body":"one\ntwo\n","to":["ann@x.test","bob@x.test"],"where":{"a/b":7}}`)
	got, err := m.Targets(args)
	want := []Target{{"/to/0", "ann@x.test"}, {"/to/1", "bob@x.test"}, {"/where/a~1b", "7"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, want := m.RenderTitle(args), `Mail ["ann@x.test","bob@x.test"], 2 lines, 8 bytes, (not given)`; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	// What could hide or reorder text is shown as what it is.
	evil := Manifest{Name: "x", Title: "Open {to}"}
	got2 := evil.RenderTitle([]byte("{\"to\":\"safe\\u202egpj.exe\\u0007\\nnext\"}"))
	if got2 != "Open safe\uFFFDgpj.exe\uFFFD next" {
		t.Errorf("title %q", got2)
	}
	for _, bad := range []string{"", "x", "/", "/a~2", "/a~"} {
		if _, ok := At(map[string]any{"": 1, "a": 1}, bad); ok {
			t.Errorf("%q is a pointer", bad)
		}
	}
	if _, ok := At([]any{1}, "/00"); ok {
		t.Error("a padded index is an index")
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	a, b := id.ID{1}, id.ID{2}
	it := Item{Name: "x"}
	see := func(none, inA, inB bool) {
		t.Helper()
		if it.OnIn(id.Nil) != none || it.OnIn(a) != inA || it.OnIn(b) != inB {
			t.Errorf("%+v: %v %v %v", it, it.OnIn(id.Nil), it.OnIn(a), it.OnIn(b))
		}
	}
	see(true, true, true)
	it.Turn(a, false)
	see(true, false, true)
	it.Turn(id.Nil, true) // already so: the switch of a stays
	see(true, false, true)
	it.Turn(a, true)
	see(true, true, true)
	it.Turn(id.Nil, false)
	see(false, false, false)
	it.Turn(b, true)
	see(false, false, true)
	one, d1, err := EncodeItems([]Item{{Name: "b", Except: []id.ID{b, a, b}}, {Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	_, d2, _ := EncodeItems([]Item{{Name: "a"}, {Name: "b", Except: []id.ID{a, b}}})
	if d1 != d2 || !strings.HasPrefix(string(one), `[{"except":[],"hash":"","name":"a"`) {
		t.Errorf("%s: digests %s and %s", one, d1, d2)
	}
	s := Snapshot{Items: []Item{{Name: "a", Hash: "1"}, {Name: "b", Hash: "2"}}}
	got := s.Differs([]Entry{{Manifest: Manifest{Name: "a"}, Hash: "1"}, {Manifest: Manifest{Name: "b"}, Hash: "3"}, {Manifest: Manifest{Name: "c"}, Hash: "4"}})
	if len(got) != 2 || got[0].Hash != "3" || got[1].Hash != "4" {
		t.Errorf("differs: %+v", got)
	}
}
