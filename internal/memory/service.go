package memory

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/memory/recall"
)

// Service remembers and recalls. It is safe for concurrent use.
type Service struct {
	store  Store
	tokens *Tokenizer
	origin event.Origin
}

var _ recall.Recaller = (*Service)(nil)

// New returns a service. origin may say memory.stored and memory.retrieved.
func New(s Store, origin event.Origin) (*Service, error) {
	if s == nil || origin.Source() == "" {
		return nil, fault.New(fault.Internal, "memory: a store and an origin are required")
	}
	t, err := NewTokenizer()
	if err != nil {
		return nil, err
	}
	return &Service{store: s, tokens: t, origin: origin}, nil
}
