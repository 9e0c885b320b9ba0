package agent

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// SystemStart is who defines agents when the program starts: the owner of the
// configuration wrote them.
const SystemStart = "system:start"

// Define makes sources the current definitions of their agents. A text that is
// already current changes nothing, so N nodes that read the same files agree;
// any other becomes the next version, with its event. Old versions stay: runs
// and replays name theirs. It returns the new versions. by is SystemStart or
// the principal of a person; Denied if their role may not.
func (s *Service) Define(ctx context.Context, account id.ID, sources []Source, by string) ([]Version, error) {
	var out []Version
	for _, src := range sources {
		v, changed, err := s.define(ctx, account, src, by)
		if err != nil {
			return out, err
		}
		if changed {
			out = append(out, v)
		}
	}
	return out, nil
}

// A definition that another node adds at the same moment wins; ours is then
// compared with it.
const defineTries = 5

func (s *Service) define(ctx context.Context, account id.ID, src Source, by string) (v Version, changed bool, err error) {
	digest := definitionDigest(src.Text)
	name := src.Definition.Name
	for range defineTries {
		var current Version
		err = s.Journal.View(ctx, account, func(tx event.Tx) error {
			err := s.mayDefine(tx, by)
			if err != nil {
				return err
			}
			current, err = s.Store.CurrentVersion(tx, name)
			return err
		})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return v, false, err
		}
		if current.Digest == digest {
			return current, false, nil
		}
		added := false
		err = s.Journal.Do(ctx, account, func(tx event.Tx) error {
			if err := s.mayDefine(tx, by); err != nil {
				return err
			}
			v = Version{Agent: name, Number: current.Number + 1, Digest: digest, YAML: string(src.Text), At: tx.Now()}
			e, err := tx.Emit(s.as(name), event.Draft{
				Payload: event.AgentDefined{Agent: name, Version: v.Number, Digest: digest, YAML: v.YAML, By: by},
				Summary: "Agent " + name + " has definition " + itoa(v.Number) + ".",
				Label:   event.NewLabel(event.House, event.AccountWide()),
			})
			if err != nil {
				return err
			}
			v.EventID = e.ID
			if added, err = s.Store.AddVersion(tx, v); err != nil {
				return err
			}
			if !added {
				return fault.New(fault.Conflict, "definition %d of %s was added by another node", v.Number, name)
			}
			return nil
		})
		if err == nil {
			return v, true, nil
		}
		if !fault.Is(err, fault.Conflict) {
			return v, false, err
		}
	}
	return v, false, err
}

func (s *Service) mayDefine(tx event.Tx, by string) error {
	if by == SystemStart {
		return nil
	}
	return s.People.May(tx, by, actDefine)
}

// Definition returns the newest definition of an agent and its number.
func (s *Service) Definition(tx event.Tx, agent string) (Definition, int, error) {
	v, err := s.Store.CurrentVersion(tx, agent)
	if err != nil {
		return Definition{}, 0, err
	}
	d, err := s.parse(v)
	return d, v.Number, err
}

// parse reads a stored definition. A text that was accepted once is read by
// every later version of the program.
func (v Version) parse() (Definition, error) {
	d, err := ParseDefinition(v.Agent+"@"+itoa(v.Number), []byte(v.YAML))
	if err != nil {
		return d, fault.New(fault.Corrupt, "stored definition %s@%d: %w", v.Agent, v.Number, err)
	}
	return d, nil
}

// maxParsed bounds the definitions that are kept parsed.
const maxParsed = 256

// parse is Version.parse, once per text.
func (s *Service) parse(v Version) (Definition, error) {
	s.mu.Lock()
	d, ok := s.parsed[v.Digest]
	s.mu.Unlock()
	if ok {
		return d, nil
	}
	d, err := v.parse()
	if err != nil {
		return d, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parsed) >= maxParsed {
		clear(s.parsed)
	}
	s.parsed[v.Digest] = d
	return d, nil
}

// Held returns the skills that an actor may call, by its newest definition: what
// an edit takes away is gone at once, also for runs that go. An actor that is no
// defined agent holds nothing.
func (s *Service) Held(tx event.Tx, actor string) ([]string, error) {
	name, ok := agentOf(actor)
	if !ok {
		return nil, nil
	}
	d, _, err := s.Definition(tx, name)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return d.Skills, err
}

// Autonomy returns the dial that an agent's definition starts from; false if
// there is no such agent.
func (s *Service) Autonomy(tx event.Tx, actor string) (int, bool, error) {
	name, ok := agentOf(actor)
	if !ok {
		return 0, false, nil
	}
	d, _, err := s.Definition(tx, name)
	if fault.Is(err, fault.NotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return *d.Autonomy, true, nil
}

// Scopes returns the memory scopes of an actor in the names that memory uses:
// "account", "agent:NAME", "workspace:ID".
func (s *Service) Scopes(tx event.Tx, actor string) ([]string, error) {
	name, ok := agentOf(actor)
	if !ok {
		return nil, nil
	}
	d, _, err := s.Definition(tx, name)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	var out []string
	for _, scope := range d.Memory.Scopes {
		if scope == "agent" {
			scope = "agent:" + name
		}
		out = append(out, scope)
	}
	return out, err
}

func agentOf(actor string) (string, bool) {
	const prefix = "agent:"
	if len(actor) <= len(prefix) || actor[:len(prefix)] != prefix {
		return "", false
	}
	return actor[len(prefix):], true
}
