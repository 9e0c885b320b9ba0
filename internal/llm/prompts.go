package llm

import (
	"fmt"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Prompts keeps the numbered prompts of accounts.
type Prompts struct {
	store  Store
	origin event.Origin
}

// NewPrompts returns the prompts of a store; origin may say prompt.saved.
func NewPrompts(store Store, origin event.Origin) *Prompts {
	return &Prompts{store: store, origin: origin}
}

// Seed saves the prompts that the program carries and the account has not got, as
// number 1. It does not touch the others: a change needs a person. It returns the
// names whose newest number differs from what the program carries.
func (p *Prompts) Seed(tx event.Tx, d event.Draft, shipped []Prompt) (differ []string, err error) {
	for _, s := range shipped {
		digest, err := s.Digest()
		if err != nil {
			return nil, err
		}
		have, err := p.store.GetPrompt(tx, s.Name, 0)
		switch {
		case fault.Is(err, fault.NotFound):
			if _, err := p.add(tx, d, s, 1, "system:seed"); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		case have.Digest != digest:
			differ = append(differ, s.Name)
		}
	}
	return differ, nil
}

// Save saves the next number of a prompt for a person. The same text as the
// newest number is Conflict, and so is a number that somebody else took first.
func (p *Prompts) Save(tx event.Tx, d event.Draft, prompt Prompt, by string) (PromptVersion, error) {
	if who, ok := strings.CutPrefix(by, "person:"); !ok || who == "" {
		return PromptVersion{}, fault.New(fault.Denied, "only a person changes a prompt, not %q", by)
	}
	digest, err := prompt.Digest()
	if err != nil {
		return PromptVersion{}, err
	}
	next := 1
	switch have, err := p.store.GetPrompt(tx, prompt.Name, 0); {
	case err == nil && have.Digest == digest:
		return PromptVersion{}, fault.New(fault.Conflict, "%s@%d has this text already", have.Name, have.Number)
	case err == nil:
		next = have.Number + 1
	case !fault.Is(err, fault.NotFound):
		return PromptVersion{}, err
	}
	return p.add(tx, d, prompt, next, by)
}

func (p *Prompts) add(tx event.Tx, d event.Draft, prompt Prompt, number int, by string) (PromptVersion, error) {
	if err := prompt.Check(); err != nil {
		return PromptVersion{}, err
	}
	digest, err := prompt.Digest()
	if err != nil {
		return PromptVersion{}, err
	}
	d.Payload = event.PromptSaved{Name: prompt.Name, Number: number, Digest: digest, By: by}
	e, err := tx.Emit(p.origin, d)
	if err != nil {
		return PromptVersion{}, err
	}
	v := PromptVersion{Prompt: prompt, Number: number, By: by, Digest: digest, EventID: e.ID, At: tx.Now()}
	added, err := p.store.AddPrompt(tx, v)
	if err == nil && !added {
		err = fault.New(fault.Conflict, "%s was saved by somebody else at the same time", v.Ref())
	}
	return v, err
}

// Ref returns the prompt's name for records: NAME@N.
func (v PromptVersion) Ref() string { return fmt.Sprintf("%s@%d", v.Name, v.Number) }

// Get returns a number of a prompt, 0 for the newest. It is Corrupt if the text
// does not match its digest.
func (p *Prompts) Get(tx event.Tx, name string, number int) (PromptVersion, error) {
	v, err := p.store.GetPrompt(tx, name, number)
	if err != nil {
		return PromptVersion{}, err
	}
	if digest, err := v.Prompt.Digest(); err != nil || digest != v.Digest {
		return PromptVersion{}, fault.New(fault.Corrupt, "prompt %s does not match its digest", v.Ref())
	}
	return v, nil
}

// Instruction returns the system text of a prompt and its number.
func (p *Prompts) Instruction(tx event.Tx, name string, number int) (Instruction, int, error) {
	v, err := p.Get(tx, name, number)
	if err != nil {
		return Instruction{}, 0, err
	}
	return v.Prompt.Instruction(), v.Number, nil
}

// List returns the newest number of every prompt, by name.
func (p *Prompts) List(tx event.Tx) ([]PromptVersion, error) { return p.store.ListPrompts(tx) }
