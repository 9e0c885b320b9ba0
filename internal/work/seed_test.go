package work

import (
	_ "embed"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/event"
)

//go:embed testdata/seed_fields.txt
var seedFields string

// TestEveryFieldOfTheSeedIsHere reads the seed's field tables: what they name has
// a field, and the events carry it under the seed's name.
func TestEveryFieldOfTheSeedIsHere(t *testing.T) {
	t.Parallel()
	things := map[string]reflect.Type{"Workspace": reflect.TypeFor[Workspace](), "Task": reflect.TypeFor[Task](), "Message": reflect.TypeFor[Message](),
		"MessageMetadata": reflect.TypeFor[event.MessageMetadata]()}
	wire := map[string]reflect.Type{"workspace": reflect.TypeFor[event.WorkspaceCreated](), "task": reflect.TypeFor[event.TaskCreated](),
		"message": reflect.TypeFor[event.MessageCreated](), "metadata": reflect.TypeFor[event.MessageMetadata]()}
	elsewhere := []string{"sessionToken", "autoAllowedTools", "archived"} // not of a new workspace
	lines := 0
	for line := range strings.Lines(seedFields) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("bad line %q", line)
		}
		lines++
		thing, field, _ := strings.Cut(f[2], ".")
		if _, ok := things[thing].FieldByName(field); !ok {
			t.Errorf("%s %s: there is no %s", f[0], f[1], f[2])
		}
		if !slices.Contains(elsewhere, f[1]) && !hasJSON(wire[f[0]], f[1]) {
			t.Errorf("%s %s: its event does not carry it", f[0], f[1])
		}
	}
	if lines != 27 {
		t.Errorf("%d fields, the seed has 27", lines)
	}
}

func hasJSON(typ reflect.Type, name string) bool {
	for i := range typ.NumField() {
		tag, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if strings.EqualFold(tag, name) {
			return true
		}
	}
	return false
}

func TestTheStatusWordsAreTheSeeds(t *testing.T) {
	t.Parallel()
	want := []Status{"notstarted", "ongoing", "completed", "rejected", "blocked", "cron"}
	have := Statuses()
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		t.Fatalf("%v", have)
	}
}
