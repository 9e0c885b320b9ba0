package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// The plain brain reads six commands and nothing else. It makes the same calls
// through the same gate as a model would, and never guesses: a sentence that it
// cannot read does nothing and says so.

// PlainCommand is one line of the plain grammar, for help and for the console.
type PlainCommand struct {
	Form string
	Does string
}

// PlainCommands returns the grammar. Words in capitals are the writer's.
func PlainCommands() []PlainCommand {
	return []PlainCommand{
		{"remember TEXT", "keeps a memory"},
		{"recall WORDS", "the best 5 memories with their scores"},
		{"note FILE: TEXT", "adds a line to a shared document"},
		{"remind WHEN: TEXT", "one message at that time; WHEN is tomorrow 9, fri 14:30, 2026-12-04 14:30, in 2 hours"},
		{"what's waiting", "approvals, questions and held messages"},
		{"help", "this table"},
	}
}

// Skills that the commands call.
const (
	skillRemember = "memory.remember"
	skillRecall   = "memory.recall"
	skillPanoRead = "pano.read"
	skillPano     = "pano.write"
	skillRemind   = "reminder.set"
	skillWaiting  = "inbox.waiting"
)

// argKind is what an argument of a command means.
type argKind int

const (
	argText argKind = iota
	argQuery
	argLimit
	argPath
	argAt
	argRevision
)

// names are those under which a skill may take or give the value, the preferred
// one first.
func (k argKind) names() []string {
	return [...][]string{
		argText: {"text", "body", "content", "markdown"}, argQuery: {"query", "words", "text", "q"}, argLimit: {"limit", "k", "count"},
		argPath: {"path", "name", "file"}, argAt: {"at", "when", "due"}, argRevision: {"revision", "base", "baseRevision", "rev"},
	}[k]
}

// plainRead is what the grammar makes of a text.
type plainRead struct {
	verb string // of the command, or "" for a text that is none
	said string // an answer that needs no call
	call string // skill of the first call
	args []plainArg
	path string // note: the document
	text string // what is remembered, noted or reminded of
	due  time.Time
}

// ReadsAs says how the plain grammar reads a text, for a composer that reads a
// command back before it goes; "" for a text that it cannot read. now and zone
// are the reader's.
func ReadsAs(text string, now time.Time, zone *time.Location) string {
	r := readPlain(text, now, zone)
	switch r.verb {
	case "":
		return ""
	case "remind":
		if r.due.IsZero() {
			return ""
		}
		return "remind, " + r.due.In(zone).Format("Mon 2 Jan 2006 15:04") + ", “" + r.text + "”"
	case "note":
		return "note, " + r.path + ", “" + r.text + "”"
	case "remember", "recall":
		return r.verb + ", “" + r.text + "”"
	}
	return r.verb
}

// readPlain parses one command. Commands are case-blind, texts are kept.
func readPlain(text string, now time.Time, zone *time.Location) plainRead {
	line := strings.TrimSpace(text)
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	whole := strings.ToLower(strings.TrimRight(strings.ReplaceAll(line, "’", "'"), " ?!."))
	switch {
	case whole == "help":
		return plainRead{verb: "help", said: plainHelp()}
	case whole == "what's waiting", whole == "whats waiting", whole == "what is waiting":
		return plainRead{verb: "what's waiting", call: skillWaiting, args: []plainArg{}}
	}
	switch verb := strings.ToLower(word); verb {
	case "remember":
		if rest == "" {
			return plainRead{verb: verb, said: "Remember what? Write: remember TEXT. Nothing was done."}
		}
		return plainRead{verb: verb, text: rest, call: skillRemember, args: []plainArg{{rest, argText}}}
	case "recall":
		if rest == "" {
			return plainRead{verb: verb, said: "Recall what? Write: recall WORDS. Nothing was done."}
		}
		return plainRead{verb: verb, text: rest, call: skillRecall, args: []plainArg{{rest, argQuery}, {5, argLimit}}}
	case "note":
		path, body, ok := strings.Cut(rest, ":")
		path, body = strings.TrimSpace(path), strings.TrimSpace(body)
		if !ok || path == "" || body == "" || strings.ContainsAny(path, " \t\n") {
			return plainRead{verb: verb, said: "Write: note FILE: TEXT, for instance note customers.md: Orsted pays in March. Nothing was done."}
		}
		return plainRead{verb: verb, path: path, text: body, call: skillPanoRead, args: []plainArg{{path, argPath}}}
	case "remind":
		when, body, ok := cutWhen(rest)
		due, read := parseWhen(when, now, zone)
		switch {
		case !ok || body == "":
			return plainRead{verb: verb, said: "Write: remind WHEN: TEXT, for instance remind tomorrow 9: call Petra. Nothing was done."}
		case !read:
			return plainRead{verb: verb, said: "I cannot read “" + clipText(when, 80) + "” as a time. Write for instance: tomorrow 9, fri 14:30, 2026-12-04 14:30, in 2 hours. Nothing was done."}
		case !due.After(now):
			return plainRead{verb: verb, said: "That time, " + due.In(zone).Format("Mon 2 Jan 2006, 15:04") + ", is over. Nothing was done."}
		}
		return plainRead{verb: verb, text: body, due: due, call: skillRemind,
			args: []plainArg{{due.UTC().Format("2006-01-02T15:04:05Z"), argAt}, {body, argText}}}
	}
	return plainRead{}
}

// cutWhen splits "fri 14:30: send it" at the colon that ends the time: the first
// that a blank or the end follows.
func cutWhen(s string) (when, text string, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n') {
			return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:]), true
		}
	}
	return s, "", false
}

func plainHelp() string {
	var b strings.Builder
	b.WriteString("No model is set, so I read these commands only:\n")
	for _, c := range PlainCommands() {
		b.WriteString("- " + c.Form + ": " + c.Does + "\n")
	}
	b.WriteString(addModel)
	return b.String()
}

const addModel = "To add a model, name a provider and a route for the role “respond” under llm in witan.yaml, then run witan config check."

// unread is the answer to a text that is no command: nothing was done, and which
// commands come nearest.
func unread(text string) string {
	return "I cannot read that without a model. Nothing was done.\nNearest commands: " + strings.Join(nearest(text), "; ") + ".\n" + addModel
}

// nearest returns the forms of the commands that a text comes closest to: those
// whose first word it holds or nearly holds, else the first three.
func nearest(text string) []string {
	var out []string
	words := strings.Fields(strings.ToLower(text))
	for _, c := range PlainCommands() {
		verb, _, _ := strings.Cut(strings.ToLower(c.Form), " ")
		if slices.ContainsFunc(words, func(w string) bool { return near(strings.Trim(w, ".,:;!?"), verb) }) {
			out = append(out, c.Form)
		}
	}
	if len(out) == 0 {
		for _, c := range PlainCommands()[:3] {
			out = append(out, c.Form)
		}
		out = append(out, "help")
	}
	return out
}

// near reports whether two words are the same but for two letters, or one
// begins with the other.
func near(a, b string) bool {
	if len(a) < 3 {
		return false
	}
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
		return true
	}
	return editDistance(a, b) <= 2 && a[0] == b[0]
}

// editDistance is the number of letters to change, add or drop.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next := min(row[j]+1, row[j-1]+1, diagonal+cost)
			diagonal, row[j] = row[j], next
		}
	}
	return row[len(b)]
}

// nextPlain is Next for a run without a model.
func (in Inputs) nextPlain(p *progress) (Move, error) {
	if len(in.Fold) > 0 && p.folded == nil {
		return in.extracted(), nil
	}
	zone, err := loadZone(in.Start.Zone)
	if err != nil {
		return Move{}, err
	}
	cmd := readPlain(in.Task.Text, in.now(), zone)
	switch {
	case cmd.verb == "":
		m := in.fail(p, "unread", unread(in.Task.Text))
		m.Answer.Outcome = Answered
		return m, nil
	case cmd.call == "":
		return Move{Answer: &Answer{Text: cmd.said, Outcome: Answered}}, nil
	}
	if len(p.steps) == 0 {
		return in.plainCall(p, 1, cmd.call, cmd.args), nil
	}
	s := p.steps[len(p.steps)-1]
	if open := s.open(); len(open) > 0 {
		return Move{Wait: open}, nil
	}
	results := p.results()
	last := results[len(results)-1]
	if cmd.verb == "note" && len(p.steps) == 1 {
		return in.noteAfterRead(p, cmd, last), nil
	}
	text := plainAnswer(cmd, last, zone)
	a := &Answer{Text: text, Outcome: Answered, Skills: p.skills()}
	if last.is.State == stateConfirmed {
		a.Bindings = []event.Binding{{From: 0, To: len(text), EventID: last.event}}
	}
	a.Text += in.undone(p)
	return Move{Answer: a}, nil
}

// noteAfterRead writes the document back with the line added, on the condition
// that nobody changed it meanwhile. A document that does not exist is begun.
func (in Inputs) noteAfterRead(p *progress, cmd plainRead, read result) Move {
	var doc map[string]json.RawMessage
	switch {
	case read.is.State == stateConfirmed && read.is.Truncated:
		return in.fail(p, "output", cmd.path+" is too long for me to add to. Nothing was noted.")
	case read.is.State == stateConfirmed:
		if json.Unmarshal(read.is.Output, &doc) != nil || first(doc, argText.names()...) == "" && len(doc) == 0 {
			return in.fail(p, "output", "I could not read "+cmd.path+". Nothing was noted.")
		}
	case read.is.ErrorKind != "not_found":
		m := in.fail(p, read.is.ErrorKind, "Nothing was noted.")
		m.Answer.Outcome = Answered
		return m
	}
	text := strings.TrimRight(first(doc, argText.names()...), "\n")
	if text != "" {
		text += "\n"
	}
	return in.plainCall(p, 2, skillPano, []plainArg{{cmd.path, argPath}, {text + cmd.text + "\n", argText}, {atoi(first(doc, argRevision.names()...)), argRevision}})
}

// plainArg is a value and the names under which a skill may take it: the first
// that the skill's schema has. One that it has not got is left out, unless it is
// a text of the writer's.
type plainArg struct {
	value any
	kind  argKind
}

// fit gives a skill the arguments that its schema names.
func fit(t manifest.Entry, args []plainArg) map[string]any {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.Manifest.Input, &schema) != nil {
		schema.Properties = nil
	}
	out := map[string]any{}
	for _, a := range args {
		names := a.kind.names()
		i := slices.IndexFunc(names, func(n string) bool { _, ok := schema.Properties[n]; return ok })
		if _, text := a.value.(string); i < 0 && (text || len(schema.Properties) == 0) {
			i = 0
		}
		if i >= 0 {
			out[names[i]] = a.value
		}
	}
	return out
}

// plainCall makes the one call of a step, or says that the skill is not there.
func (in Inputs) plainCall(p *progress, n int, skill string, args []plainArg) Move {
	t, ok := in.tool(skill)
	if !ok {
		return Move{Answer: &Answer{Outcome: Answered, Text: "This needs the skill " + skill + ", which is not switched on for me. Nothing was done."}}
	}
	raw, err := encode(fit(t, args))
	if err != nil {
		return in.fail(p, "malformed", "That cannot be written down. Nothing was done.")
	}
	arguments, what, err := arguments(string(raw), in.why(p), nil)
	if err != nil {
		return in.fail(p, "malformed", "That cannot be written down: "+err.Error()+". Nothing was done.")
	}
	return Move{Calls: []event.SkillInvoke{{
		RunID: in.Run.ID, Step: n, CallID: callName(n, 1), Actor: "agent:" + in.Definition.Name, Requester: in.Task.Requester,
		Skill: skill, Manifest: t.Hash, Catalogue: in.Start.Catalogue, Arguments: arguments, What: what, Trust: in.Task.Trust,
		Channel: in.Task.Channel, Recipient: in.Task.Requester,
	}}}
}
