package console

import (
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/policy"
)

// maxDiff is how many lines of either side are compared. A longer text is not
// shown as a diff: the whole argument stands in the call instead.
const maxDiff = 400

// changes draws what the call would change against the record as it stands now.
func (r *reader) changes(a policy.Approval, card *ui.Approval) error {
	if r.Preview == nil || a.State != policy.StateOpen && a.State != policy.StateAllowed || a.Erased {
		return nil
	}
	live, ok, err := r.Preview(r.tx.Context(), a.Request.Skill, a.Request.Arguments)
	if err != nil || !ok {
		return err
	}
	if strings.Count(live.Now, "\n") > maxDiff || strings.Count(live.Next, "\n") > maxDiff {
		return nil
	}
	d := &ui.Diff{Lines: lineDiff(live.Now, live.Next)}
	why, known := a.Request.Why.Get()
	d.Outside = known && why.Integrity() == event.Outside
	if d.Note = "changes it, " + plural(len(live.Next), "byte", "bytes") + " then"; !live.Exists {
		d.Note = "new, " + plural(len(live.Next), "byte", "bytes")
	}
	card.Changes = d
	lines := strings.Count(strings.TrimSuffix(live.Next, "\n"), "\n") + 1
	for i := range card.Args {
		// Every byte is shown below: as added lines of something new.
		if card.Args[i].Name == live.Argument && !live.Exists && !card.Args[i].Outside && live.Next != "" {
			card.Args[i].Instead = plural(lines, "line", "lines") + ", all shown below"
		}
	}
	return nil
}

// lineDiff compares two texts line by line: the longest common lines stay, the
// others are removed and added.
func lineDiff(before, now string) []ui.DiffLine {
	x, y := lines(before), lines(now)
	common := table(x, y)
	var out []ui.DiffLine
	i, j := 0, 0
	add := func(op ui.DiffOp, n int, text string) {
		out = append(out, ui.DiffLine{Op: op, N: n, Parts: []ui.DiffPart{{Text: text}}})
	}
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			add(ui.DiffSame, j+1, y[j])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			add(ui.DiffDel, i+1, x[i])
			i++
		default:
			add(ui.DiffAdd, j+1, y[j])
			j++
		}
	}
	return out
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// table[i][j] is how many lines x[i:] and y[j:] have in common, in order.
func table(x, y []string) [][]int {
	t := make([][]int, len(x)+1)
	for i := range t {
		t[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				t[i][j] = t[i+1][j+1] + 1
			} else {
				t[i][j] = max(t[i+1][j], t[i][j+1])
			}
		}
	}
	return t
}
