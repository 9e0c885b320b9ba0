package memorydb_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/memory/recall"
	"github.com/witan-run/witan/internal/store/storetest"
)

func asFault(err error, f **fault.Error) bool { return errors.As(err, f) }

// conversation is a line of the evaluation data.
type conversation struct {
	Sample string `json:"sample"`
	Turns  []struct {
		ID      string `json:"id"`
		Date    string `json:"date"`
		Speaker string `json:"speaker"`
		Text    string `json:"text"`
		Caption string `json:"image_caption"`
	} `json:"turns"`
	Questions []struct {
		Q        string   `json:"q"`
		Evidence []string `json:"evidence"`
	} `json:"questions"`
}

// locomo reads the evaluation data, which stands beside the repository and is
// never part of it.
func locomo(t *testing.T) (out []conversation) {
	t.Helper()
	dir := os.Getenv("EVALS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "evals")
	}
	f, err := os.Open(filepath.Join(dir, "memory", "locomo.dev.jsonl"))
	if err != nil {
		t.Skip("0 of 1155 questions asked: the evaluation data is not here")
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var c conversation
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// TestRecallReachesTheAnchor asks the questions of the evaluation data of a
// memory that holds one row per turn. The anchor is plain BM25 on the same
// turns: recall@10 .632, recall@5 .560, MRR .474.
func TestRecallReachesTheAnchor(t *testing.T) {
	data := locomo(t)
	d := open(t, storetest.OpenSQLite(t))
	var asked, r5, r10, mrr float64
	for _, c := range data {
		scope := recall.Scope("workspace:" + d.IDs.New().String())
		turn := map[id.ID]string{}
		d.Do(t, func(tx event.Tx) error {
			ref, err := d.said(tx, label(event.Known))
			if err != nil {
				return err
			}
			for _, u := range c.Turns {
				at, err := time.Parse("2006-01-02T15:04", u.Date)
				if err != nil {
					return err
				}
				body := u.Speaker + ": " + u.Text
				if u.Caption != "" {
					body += " " + u.Caption
				}
				m := &memory.Episodic{Row: memory.Row{Scope: scope, Epistemic: memory.Told, Body: body, OccurredAt: at, Importance: 500_000}}
				if _, err := d.s.Remember(tx, memory.Note{Memory: m, By: "agent:a"}, ref); err != nil {
					return err
				}
				turn[m.ID] = u.ID
			}
			return nil
		})
		for _, q := range c.Questions {
			if len(q.Evidence) == 0 {
				continue
			}
			f := d.ask(t, recall.Query{Text: q.Q, Scopes: []recall.Scope{scope}, Limit: 50})
			asked++
			rank := 0
			for i, h := range f.Hits {
				if !slices.Contains(q.Evidence, turn[h.ID]) {
					continue
				}
				if rank == 0 {
					rank = i + 1
				}
				if i < 5 {
					r5 += 1 / float64(len(q.Evidence))
				}
				if i < 10 {
					r10 += 1 / float64(len(q.Evidence))
				}
			}
			if rank > 0 {
				mrr += 1 / float64(rank)
			}
		}
	}
	r5, r10, mrr = r5/asked, r10/asked, mrr/asked
	t.Logf("%.0f questions: recall@5 %.4f, recall@10 %.4f, MRR %.4f", asked, r5, r10, mrr)
	if asked != 1155 || r5 < .55 || r10 < .625 || mrr < .465 {
		t.Errorf("below the anchor")
	}
}
