package policy

import (
	"encoding/json"
	"slices"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Document is one version of an account's policy. It is never changed; an edit
// makes the next version.
type Document struct {
	// Default is the effect of a call that no rule holds for.
	Default Effect `json:"default"`
	// Guardrails are looked at before the rules. They have no specificity and
	// no ALLOW, and only an owner may change them.
	Guardrails []Rule `json:"guardrails,omitempty"`
	Rules      []Rule `json:"rules,omitempty"`
}

const (
	maxRules    = 2000
	maxDocument = 256 << 10 // bytes
)

// Table is a compiled document. It is immutable and safe for concurrent use.
type Table struct {
	version    int
	document   Document
	guardrails []*rule // by number
	rules      []*rule // by number
}

// Compile checks a document and makes it ready for Decide. Errors are
// fault.Invalid and name the field ("rules[2].skill[0]").
func Compile(version int, d Document) (*Table, error) {
	if d.Default.String() == "" {
		return nil, fault.New(fault.Invalid, "a policy says what happens to a call without a rule").On("default").WithFix("write default: ask")
	}
	if len(d.Guardrails)+len(d.Rules) > maxRules {
		return nil, fault.New(fault.Limited, "a policy has at most %d rules", maxRules).On("rules")
	}
	t := &Table{version: version, document: d}
	for _, l := range []struct {
		field, kind string
		in          []Rule
		out         *[]*rule
	}{{"guardrails", "guardrail", d.Guardrails, &t.guardrails}, {"rules", "rule", d.Rules, &t.rules}} {
		seen := map[int]bool{}
		for i, r := range l.in {
			c, err := r.compile(l.kind)
			if err != nil {
				return nil, on(err, l.field, i)
			}
			if l.kind == "guardrail" && r.Effect == Allow {
				return nil, on(fault.New(fault.Invalid, "a guardrail asks or denies").On("effect"), l.field, i)
			}
			if seen[r.ID] {
				return nil, on(fault.New(fault.Invalid, "number %d is used twice", r.ID).On("id"), l.field, i)
			}
			seen[r.ID] = true
			*l.out = append(*l.out, c)
		}
		// Decide walks by number, so that the order in the text means nothing.
		slices.SortFunc(*l.out, func(a, b *rule) int { return a.ID - b.ID })
	}
	return t, nil
}

// Version returns the version that the table was compiled from.
func (t *Table) Version() int { return t.version }

// Document returns the document. It must not be changed.
func (t *Table) Document() Document { return t.document }

// Rule returns the rule that a decision names ("rule 3", "guardrail 1").
func (t *Table) Rule(ref string) (Rule, bool) {
	for _, list := range [][]*rule{t.guardrails, t.rules} {
		for _, r := range list {
			if r.ref == ref {
				return r.Rule, true
			}
		}
	}
	return Rule{}, false
}

// JSON returns the canonical JSON of the document, as it is stored.
func (d Document) JSON() (json.RawMessage, error) {
	b, err := canon.JSON(d)
	if err != nil {
		return nil, fault.New(fault.Invalid, "write the policy: %w", err)
	}
	return b, nil
}

// Standard is the policy of a fresh account: reading is free, the account's own
// memory and documents may be written, agents ask before they write a file, and
// what reaches a third party, spends or deletes asks.
func Standard() Document {
	return Document{
		Default: Ask,
		Rules: []Rule{
			{ID: 1, Effect: Allow, Access: []Access{AccessRead}, Note: "reading changes nothing"},
			{ID: 2, Effect: Allow, Skill: []string{"memory.*", "pano.*"}, Access: []Access{AccessWrite},
				Risk: []Risk{RiskNone, RiskLow}, Note: "memory and documents keep their revisions"},
			{ID: 3, Effect: Ask, Who: []string{"agent:*"}, Skill: []string{"file.write"}},
			{ID: 4, Effect: Ask, Access: []Access{AccessSend}, Recipient: []string{"outside"}, Note: "what reaches a third party cannot be called back"},
			{ID: 5, Effect: Ask, Access: []Access{AccessSpend, AccessDelete}},
			{ID: 6, Effect: Allow, Access: []Access{AccessSend}, Recipient: []string{"requester", "account"}, Note: "answers, and word to people of this account"},
		},
	}
}
