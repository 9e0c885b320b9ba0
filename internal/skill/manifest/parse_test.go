package manifest

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
)

const whole = `name: file.write
version: 1.2.0
kind: builtin
description: Writes a file of the files folder.
title: Write {path}, {content|lines}
input:
  type: object
  properties:
    path: {type: string, maxLength: 200}
    content: {type: string}
    weight: {type: number, minimum: 0.5}
  required: [path, content]
  additionalProperties: false
output:
  type: object
action_risk: low
access: write
target: [/path]
permissions: [files]
effect_class: reconcilable
read_back: exact
timeout_ms: 5000
resources:
  money_micros: 0
  output_bytes: 1000
secrets: [disk.key]
output_label: house
undoable: true
sensitive: true
`

func TestAManifestIsRead(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := Manifest{Name: "file.write", Version: "1.2.0", Kind: Builtin, Description: "Writes a file of the files folder.",
		Title: "Write {path}, {content|lines}", Output: json.RawMessage(`{"type":"object"}`),
		Input: json.RawMessage(`{"additionalProperties":false,"properties":{"content":{"type":"string"},"path":{"maxLength":200,"type":"string"},"weight":{"minimum":0.5,"type":"number"}},"required":["path","content"],"type":"object"}`),
		Risk:  RiskLow, Access: Write, Target: []string{"/path"}, Permissions: []Permission{PermitFiles}, Class: ClassReconcilable,
		ReadBack: Exact, TimeoutMS: 5000, Resources: Resources{OutputBytes: 1000}, Secrets: []string{"disk.key"},
		OutputLabel: "house", Undoable: true, Sensitive: true}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatIsNotSaidIsReadInTheCarefulWay(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte("name: x\nversion: 1\nkind: builtin\ndescription: d\naction_risk: low\naccess: write\n"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Class != ClassOnce || m.OutputLabel != "outside" || m.TimeoutMS != 30_000 || m.Resources.OutputBytes != 200_000 || m.Undoable || m.Sensitive {
		t.Errorf("%+v", m)
	}
}

// line is the whole manifest with one line replaced.
func line(old, with string) string { return strings.Replace(whole, old, with, 1) }

func TestBadManifestsNameTheLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, field, has string }{
		{"an unknown key", line("undoable: true", "undoeable: true"), "undoeable", "line 28:"},
		{"an unknown key of resources", line("money_micros: 0", "money: 0"), "money", "line 24:"},
		{"a key twice", whole + "name: other\n", "", "line 30:"},
		{"a wrong type", line("timeout_ms: 5000", "timeout_ms: soon"), "", "line 22:"},
		{"no YAML", "name: [", "", "line 1:"},
		{"two documents", whole + "---\nname: x\n", "", "one document"},
		{"an alias", line("kind: builtin", "kind: &k builtin\nx: *k"), "", "line 3:"},
		{"a bad name", line("name: file.write", "name: File Write"), "name", "line 1:"},
		{"no kind", line("kind: builtin\n", ""), "kind", "is not one of"},
		{"no kind that we know", line("kind: builtin", "kind: plugin"), "kind", "line 3:"},
		{"no risk", line("action_risk: low", "action_risk: mild"), "action_risk", "line 16:"},
		{"no access", line("access: write", "access: chmod"), "access", "line 17:"},
		{"a read that writes", line("effect_class: reconcilable\nread_back: exact", "effect_class: read"), "effect_class", "line 20:"},
		{"no read-back", line("read_back: exact\n", ""), "read_back", "needs one of"},
		{"a read-back of another class", line("effect_class: reconcilable", "effect_class: once"), "read_back", "line 21:"},
		{"a timeout without end", line("timeout_ms: 5000", "timeout_ms: 900000"), "timeout_ms", "line 22:"},
		{"spending nothing", line("access: write", "access: spend"), "resources.money_micros", "line 24:"},
		{"too much output", line("output_bytes: 1000", "output_bytes: 99999999"), "resources.output_bytes", "line 25:"},
		{"a person's trust", line("output_label: house", "output_label: person"), "output_label", "line 27:"},
		{"a permission nobody knows", line("[files]", "[root]"), "permissions", "line 19:"},
		{"a target that is no argument", line("[/path]", "[/paths]"), "target", "line 18:"},
		{"a target that is no pointer", line("[/path]", "[path]"), "target", "line 18:"},
		{"a title of no argument", line("{content|lines}", "{lines}"), "title", "line 5:"},
		{"a title with an unknown form", line("{content|lines}", "{content|words}"), "title", "line 5:"},
		{"a title with half a brace", line("{content|lines}", "{content|lines"), "title", "line 5:"},
		{"a schema that is none", line("path: {type: string, maxLength: 200}", "path: {type: text}"), "input", "line 6:"},
		{"a schema of no object", line("  type: object\n  properties:", "  type: array\n  properties:"), "input", "line 6:"},
		{"a schema that reads a file", line("path: {type: string, maxLength: 200}", "path: {$ref: \"file:///etc/passwd\"}"), "input", "line 6:"},
		{"an instruction with arguments", line("kind: builtin", "kind: instruction"), "kind", "line 3:"},
		{"content from a file", whole + "content: abc\n", "content", "line 30:"},
		{"too large", whole + "#" + strings.Repeat("x", MaxFile), "", "at most"},
	} {
		_, err := Parse([]byte(tt.text))
		var f *fault.Error
		if !errors.As(err, &f) || !fault.Is(err, fault.Invalid) && tt.name != "too large" {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if f.Field != tt.field || !strings.Contains(err.Error(), tt.has) {
			t.Errorf("%s: field %q, %v; want field %q and %q", tt.name, f.Field, err, tt.field, tt.has)
		}
	}
}

// JSON and YAML of the same manifest are the same manifest, and layout does not
// count.
func TestTheHashSeesTheMeaning(t *testing.T) {
	t.Parallel()
	a, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse([]byte(`{"sensitive": true, "undoable": true, "output_label": "house", "secrets": ["disk.key"],
		"resources": {"output_bytes": 1000}, "timeout_ms": 5000, "read_back": "exact", "effect_class": "reconcilable",
		"permissions": ["files"], "target": ["/path"], "access": "write", "action_risk": "low", "output": {"type": "object"},
		"input": {"type": "object", "additionalProperties": false, "required": ["path", "content"],
		"properties": {"weight": {"type": "number", "minimum": 0.5}, "content": {"type": "string"}, "path": {"maxLength": 200, "type": "string"}}},
		"title": "Write {path}, {content|lines}", "description": "Writes a file of the files folder.",
		"kind": "builtin", "version": "1.2.0", "name": "file.write"}`))
	if err != nil {
		t.Fatal(err)
	}
	ha, err := a.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if hb, _ := b.Hash(); ha != hb || len(ha) != 64 {
		t.Errorf("hashes %s and %s", ha, hb)
	}
	stored, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(stored, ha)
	if diff := cmp.Diff(a, back); err != nil || diff != "" {
		t.Errorf("decode: %v\n%s", err, diff)
	}
	if _, err := Decode([]byte(strings.Replace(string(stored), "low", "none", 1)), ha); !fault.Is(err, fault.Corrupt) {
		t.Errorf("an edited manifest: %v", err)
	}
	golden, err := os.ReadFile("testdata/file_write.hash")
	if err != nil || strings.TrimSpace(string(golden)) != ha {
		t.Errorf("hash %s, stored %s (%v): the stored form changed, and every catalogue with it", ha, golden, err)
	}
	emoji, err := Parse([]byte(`{"name":"x","version":"1","kind":"builtin","description":"\ud83d\ude00 \/","action_risk":"low","access":"write"}`))
	if err != nil || emoji.Description != "😀 /" {
		t.Errorf("JSON escapes: %q, %v", emoji.Description, err)
	}
}

func TestParseNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := strings.SplitAfter(whole, "\n")
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		lines[i] = rapid.StringN(0, 30, 60).Draw(t, "text")
		_, _ = Parse([]byte(strings.Join(lines, "")))
	})
}
