package skilldb_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/builtin"
	"github.com/witan-run/witan/internal/store/storetest"
)

// TestABuiltInWriteSurvivesACrash drops the worker of file.write between its two
// commits, before and after the file was written; another one carries the effect
// on, and the dropped one, let go at last, changes nothing.
func TestABuiltInWriteSurvivesACrash(t *testing.T) {
	t.Parallel()
	for _, wrote := range []bool{false, true} {
		t.Run(fmt.Sprintf("the file was written %t", wrote), func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				dir := t.TempDir()
				files, err := builtin.OpenFiles(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer files.Close()
				regs, err := builtin.Registrations(builtin.Config{Journal: db.Journal, Files: files})
				if err != nil {
					t.Fatal(err)
				}
				var g *gate
				for i, r := range regs {
					if r.Manifest.Name == "file.write" {
						g = newGate(wrote, r.Exec.Act)
						regs[i].Exec = g
					}
				}
				b := setup(t, db, func(b *bench) { b.regs = append(b.regs, regs...) })
				path := filepath.Join(dir, b.Account.String(), "a.txt")
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
					t.Fatal(err)
				}
				d := sha256.Sum256([]byte("one"))
				e := b.call(t, "file.write", `{"expect":"`+hex.EncodeToString(d[:])+`","path":"a.txt","text":"two"}`)
				b.crash(t, e.ID, g, func() {
					b.later()
					b.mustWork(t, e.ID, skill.Confirmed)
				})
				if got, err := os.ReadFile(path); err != nil || string(got) != "two" {
					t.Errorf("the file holds %q: %v", got, err)
				}
				// The call's label is known: so is the text's, when it is read back.
				read := b.call(t, "file.read", `{"path":"a.txt"}`)
				b.mustWork(t, read.ID, skill.Confirmed)
				p, ev := b.result(t, read.ID)
				var out struct {
					Text string `json:"text"`
				}
				if err := json.Unmarshal(p.Output, &out); err != nil || out.Text != "two" || ev.Label.String() != "k:a" {
					t.Errorf("read %s with label %s: %v", p.Output, ev.Label, err)
				}
			})
		})
	}
}
