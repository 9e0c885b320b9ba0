package workdb_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/store/workdb"
	"github.com/witan-run/witan/internal/work"
)

// planned are the queries whose cost must not grow with the account, and the
// index that serves each ("" for the primary key).
var planned = map[string]struct{ index, args string }{
	"offer":              {"tasks_offer", "ais"},
	"workspace":          {"", "ai"},
	"workspace_by_token": {"workspaces_token", "ai"},
	"prefix_taken":       {"workspaces_prefix", "as"},
	"next_number":        {"", "ai"},
	"task":               {"", "ai"},
	"save_task":          {"", "sssssiinnnnnsnnnnnnnsai"},
	"task_by_key":        {"tasks_key", "asn"},
	"tasks_all":          {"", "ain"},
	"tasks_of_workspace": {"tasks_workspace", "aiin"},
	"tasks_of_status":    {"tasks_status", "asin"},
	"tasks_of_both":      {"tasks_of_status", "aisin"},
	"tasks_pending":      {"tasks_pending", "ain"},
	"column":             {"tasks_board", "aisnin"},
	"ongoing":            {"tasks_status", "ain"},
	"forks":              {"workspaces_forks", "ai"},
	"ongoing_of":         {"tasks_of_status", "ain"},
	"share_workspace_of": {"", "aai"},
	"children":           {"tasks_children", "aiin"},
	"blockers":           {"", "ai"},
	"dependents":         {"task_links_blocker", "ai"},
	"message_by_request": {"task_messages_request", "ais"},
	"settle_message":     {"", "sain"},
	"messages":           {"", "ainnn"},
	"messages_newest":    {"", "ainnn"},
	"signal":             {"", "ai"},
	"signal_by_name":     {"signals_name", "as"},
	"triggers_of":        {"triggers_signal", "ai"},
	"triggers_emitting":  {"triggers_emit", "ai"},
	"triggers_into":      {"triggers_workspace", "ai"},
	"chains":             {"triggers_emit", "ai"},
	"publish_of_task":    {"signal_publishes_task", "aii"},
	"publish_of_key":     {"signal_publishes_key", "ai"},
	"publishes":          {"signal_publishes_signal", "aiin"},
	"chain_of":           {"", "aai"},
	"spawns":             {"signal_spawns_publish", "ai"},
	"tasks_of_signal":    {"tasks_trigger", "aiin"},
}

// planArgs makes arguments of the right types: the account, ids, words, numbers.
func planArgs(account, workspace id.ID, kinds string) (out []any) {
	for _, k := range kinds {
		out = append(out, map[rune]any{'a': account[:], 'i': workspace[:], 's': "notstarted", 'n': int64(3)}[k])
	}
	return out
}

// fill puts n tasks into a workspace, a hundred in a transaction.
func (b *board) fill(t testing.TB, w work.Workspace, n int) {
	t.Helper()
	for range (n + 99) / 100 {
		b.Do(t, func(tx event.Tx) error {
			for i := range 100 {
				if _, err := b.CreateTask(tx, b.ada, work.NewTask{Workspace: w.ID, Title: fmt.Sprint(i), Body: "what is to be done", Assignee: work.Agent}); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func TestNothingThatMustBeFastScansOnSQLite(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	c, err := sql.Open("sqlite", filepath.Join(db.Options.Dir, "witan.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range planned {
		rows, err := c.Query("EXPLAIN QUERY PLAN "+workdb.Q.Text(name, store.SQLite), planArgs(db.Account, db.Account, want.args)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var plan []string
		for rows.Next() {
			var a, b, n int
			var detail string
			if err := rows.Scan(&a, &b, &n, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
		text := strings.Join(plan, "; ")
		if strings.Contains(text, "SCAN") && !strings.Contains(text, "SCALAR SUBQUERY") || strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, "SEARCH") || !strings.Contains(text, want.index) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAClaimAmongTenThousandIsALookUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Long queue")
		b.fill(t, w, 10_000)
		c, ok, err := b.claim(worker(w, 1), w)
		if err != nil || !ok || c.Task.Key() != "LON-1" {
			t.Fatalf("%s %t %v", c.Task.Key(), ok, err)
		}
		if db.Options.URL == "" {
			return // the plan is the same for any number of rows: the test above
		}
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, db.Options.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "ANALYZE tasks"); err != nil {
			t.Fatal(err)
		}
		rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) "+workdb.Q.Text("offer", store.Postgres), b.Account[:], w.ID[:], "")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		text := strings.Join(plan, "\n")
		if err != nil || !strings.Contains(text, "Index Scan using tasks_offer") || strings.Contains(text, "Sort") || strings.Contains(text, "Seq Scan") {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
