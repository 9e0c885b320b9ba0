package console

import "sync"

// memo keeps what never changes, by its key; at most a number of entries, the
// oldest go first.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	most  int
	order []K     // guarded by mu
	rows  map[K]V // guarded by mu
}

func newMemo[K comparable, V any](most int) *memo[K, V] {
	return &memo[K, V]{most: most, rows: map[K]V{}}
}

func (m *memo[K, V]) get(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.rows[k]
	return v, ok
}

func (m *memo[K, V]) put(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.rows[k]; !ok {
		m.order = append(m.order, k)
	}
	m.rows[k] = v
	if len(m.order) > m.most {
		delete(m.rows, m.order[0])
		m.order = m.order[1:]
	}
}
