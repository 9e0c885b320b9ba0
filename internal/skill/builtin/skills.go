package builtin

import (
	"embed"
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// Config holds what the skills work on. All but Journal are optional: a skill
// whose port is nil is not offered.
type Config struct {
	Journal   event.Journal
	Documents Documents
	Memory    Memory
	Reminders Reminders
	Sender    Sender
	Inbox     Inbox
	Files     *Files
	Fetcher   *Fetcher
}

// Registrations returns the skills that can be offered, by name, ready for
// skill.NewRegistry.
func Registrations(c Config) ([]skill.Registration, error) {
	if c.Journal == nil {
		return nil, fault.New(fault.Internal, "builtin: a journal is required")
	}
	execs := map[string]skill.Executable{"time.now": timeNow{}}
	if c.Documents != nil {
		p := pano{c.Journal, c.Documents}
		execs["pano.read"], execs["pano.write"] = panoRead{p}, panoWrite{p}
		execs["pano.list"], execs["pano.search"] = panoList{p}, panoSearch{p}
	}
	if c.Memory != nil {
		m := memory{c.Journal, c.Memory}
		execs["memory.remember"], execs["memory.recall"] = memoryRemember{m}, memoryRecall{m}
	}
	if c.Reminders != nil {
		r := reminders{c.Journal, c.Reminders}
		execs["reminder.set"], execs["reminder.list"], execs["reminder.cancel"] = reminderSet{r}, reminderList{r}, reminderCancel{r}
	}
	if c.Sender != nil {
		execs["message.send"] = messageSend{c.Sender}
	}
	if c.Inbox != nil {
		execs["inbox.waiting"] = inboxWaiting{c.Journal, c.Inbox}
	}
	if c.Files != nil {
		execs["file.read"], execs["file.list"], execs["file.write"] = fileRead{c.Files}, fileList{c.Files}, fileWrite{c.Files}
	}
	if c.Fetcher != nil {
		execs["http.fetch"] = httpFetch{c.Fetcher}
	}
	all, err := Manifests()
	if err != nil {
		return nil, err
	}
	var out []skill.Registration
	for _, m := range all {
		if e, ok := execs[m.Name]; ok {
			out = append(out, skill.Registration{Manifest: m, Exec: e})
			delete(execs, m.Name)
		}
	}
	for name := range execs {
		return nil, fault.New(fault.Internal, "builtin: %s has no manifest", name)
	}
	return out, nil
}

// Manifests returns the manifests of all built-in skills, by name. Each stands
// in a file of its name.
func Manifests() ([]manifest.Manifest, error) {
	files, err := manifests.ReadDir("manifests") // sorted
	if err != nil {
		return nil, fault.New(fault.Internal, "builtin manifests: %w", err)
	}
	var out []manifest.Manifest
	for _, f := range files {
		text, err := manifests.ReadFile("manifests/" + f.Name())
		if err != nil {
			return nil, fault.New(fault.Internal, "builtin manifests: %w", err)
		}
		m, err := manifest.Parse(text)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, f.Name())
		}
		if m.Name+".yaml" != f.Name() {
			return nil, fault.New(fault.Internal, "%s is the manifest of %s", f.Name(), m.Name)
		}
		out = append(out, m)
	}
	return out, nil
}

// readers are the principals that will read what a call gives: the actor, whom
// it works for, and whom the answer goes to.
func readers(c skill.Call) []string {
	var out []string
	for _, p := range []string{c.Actor, c.Requester, c.Recipient} {
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// joined is the join of labels; none give the zero label, which lowers nothing.
func joined[T any](items []T, label func(T) event.Label) event.Label {
	labels := make([]event.Label, 0, len(items))
	for _, i := range items {
		labels = append(labels, label(i))
	}
	return event.Join(labels...)
}
