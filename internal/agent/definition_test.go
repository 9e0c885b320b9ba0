package agent

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
)

func TestParseDefinitionFillsDefaults(t *testing.T) {
	t.Parallel()
	d, err := ParseDefinition("desk.yaml", []byte("name: desk\ndescription: Answers mail.\nskills: [time.now]\n"))
	if err != nil {
		t.Fatal(err)
	}
	n := 75
	want := Definition{Name: "desk", Description: "Answers mail.", ModelRole: "respond", Prompt: "desk", Skills: []string{"time.now"}, Autonomy: &n,
		Budgets: Budgets{Tokens: 200_000, Steps: 20, Context: 16_000, Answer: 4096}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	if !d.Holds("time.now") || d.Holds("time.nows") || !d.AnswersOn("anything") {
		t.Error("the allow-list is exact, and no channels means all")
	}
}

func TestParseDefinitionRefusesByLine(t *testing.T) {
	t.Parallel()
	const head = "name: desk\ndescription: Answers mail.\n"
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key":              {head + "\ncolour: red\n", "desk.yaml:4"},
		"an unknown key below":        {head + "budgets:\n  tokens: 5\n  dollars: 3\n", "desk.yaml:5"},
		"a key that is there twice":   {head + "skills: []\nskills: [a]\n", "desk.yaml:4"},
		"a skill that is no name":     {head + "skills:\n  - time.now\n  - '*'\n", "desk.yaml:5"},
		"a skill that is there twice": {head + "skills:\n  - time.now\n  - time.now\n", "desk.yaml:5"},
		"an autonomy above 100":       {head + "autonomy: 101\n", "desk.yaml:3"},
		"a step budget of minus one":  {head + "budgets:\n  steps: -1\n", "desk.yaml:4"},
		"a name with blanks":          {"name: front desk\ndescription: x\n", "desk.yaml:1"},
		"no description":              {"name: desk\n", "description"},
		"a memory scope of another":   {head + "memory:\n  scopes: [agent:other]\n", "desk.yaml:4"},
		"an anchor":                   {head + "skills: &a [time.now]\n", "desk.yaml:3"},
		"a number for a text":         {head + "skills: {a: 1}\n", "desk.yaml:3"},
		"two documents":               {head + "---\nname: b\n", "one YAML document"},
		"nothing":                     {"", "one YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseDefinition("desk.yaml", []byte(c.text))
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an invalid error with %q", err, c.want)
			}
		})
	}
	if _, err := ParseDefinition("big.yaml", make([]byte, maxDefinitionBytes+1)); !fault.Is(err, fault.Limited) {
		t.Errorf("a large file: %v", err)
	}
}

func TestReadDirReadsAgentsAndRefusesDoubles(t *testing.T) {
	t.Parallel()
	one := &fstest.MapFile{Data: []byte("name: desk\ndescription: one\n")}
	dir := fstest.MapFS{"a/desk.yaml": one, "a/readme.md": {Data: []byte("x")}, "a/.hidden.yaml": {Data: []byte("x: y")}}
	list, err := ReadDir(dir, "a")
	if err != nil || len(list) != 1 || list[0].Definition.Name != "desk" {
		t.Fatalf("%v %v", list, err)
	}
	all, err := WithBuiltins(list)
	if err != nil || len(all) != 2 || all[1].Definition.Name != Coordinator || !all[1].Definition.PlainCommands {
		t.Fatalf("%v %v", all, err)
	}
	dir["a/other.yml"] = one
	if _, err := ReadDir(dir, "a"); !fault.Is(err, fault.Conflict) {
		t.Errorf("two files for one agent: %v", err)
	}
	prompts, err := ShippedPrompts()
	if err != nil || len(prompts) != 2 {
		t.Errorf("%v %v", prompts, err)
	}
}
