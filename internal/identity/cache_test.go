package identity

import (
	"testing"
	"time"
)

func TestCacheForgets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	c := newCache()
	k := cacheKey{digest: [32]byte{1}}
	p := Principal{Via: ViaToken, Role: Owner}
	c.put(k, p, now.Add(CacheLife), now, c.now())
	if got, ok := c.get(k, now.Add(CacheLife-time.Microsecond)); !ok || got != p {
		t.Error("a fresh answer is gone")
	}
	if _, ok := c.get(k, now.Add(CacheLife)); ok {
		t.Error("an answer outlives its time")
	}
	if _, ok := c.get(k, now.Add(-time.Hour)); ok {
		t.Error("a clock that went back stretches an answer's life")
	}
	c.clear()
	if _, ok := c.get(k, now); ok {
		t.Error("an answer outlives a change")
	}
	// A read that began before a revocation ends after it.
	era := c.now()
	c.clear()
	c.put(k, p, now.Add(CacheLife), now, era)
	if _, ok := c.get(k, now); ok {
		t.Error("an answer from before a change came in after it")
	}
	for i := range cacheSize + 10 {
		c.put(cacheKey{digest: [32]byte{byte(i), byte(i >> 8)}}, p, now.Add(CacheLife), now, c.now())
	}
	if len(c.rows) > cacheSize {
		t.Errorf("%d rows", len(c.rows))
	}
}
