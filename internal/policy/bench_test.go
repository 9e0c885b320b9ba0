package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/kit/canon"
)

// hundred is a policy of 100 rules of every sort, of which few hold.
func hundred() Document {
	d := Standard()
	for i := len(d.Rules) + 1; i <= 98; i++ {
		r := Rule{ID: i, Effect: []Effect{Allow, Ask, Deny}[i%3], Skill: []string{fmt.Sprintf("vendor%d.*", i)}}
		switch i % 7 {
		case 0:
			r.Skill, r.Target = []string{"file.*"}, []string{fmt.Sprintf("secret%d/*", i)}
		case 1:
			r.Who = []string{fmt.Sprintf("agent:number%d", i)}
		case 2:
			r.Skill, r.Arguments = []string{"file.write"}, map[string]string{"/content": fmt.Sprintf("*forbidden %d*", i)}
		case 3:
			r.Skill, r.During = []string{"file.*"}, &Window{Zone: "Europe/Oslo", From: "01:00", Until: "02:00", Days: []string{"sun"}}
		}
		d.Rules = append(d.Rules, r)
	}
	d.Guardrails = []Rule{{ID: 1, Effect: Deny, Skill: []string{"payments.*"}}, {ID: 2, Effect: Deny, Target: []string{"*/.ssh/*"}}}
	return d
}

// BenchmarkDecide: one call of 2 KiB under 100 rules. The aim is below 20 µs.
func BenchmarkDecide(b *testing.B) {
	p := table(b, hundred())
	args, err := canon.JSON(map[string]string{"path": "notes/a.md", "content": strings.Repeat("lorem ipsum ", 170)})
	if err != nil {
		b.Fatal(err)
	}
	r := call(func(r *Request) { r.Arguments = json.RawMessage(args) })
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(p, r); d.Effect != Ask {
			b.Fatal(d.Effect)
		}
	}
}
