package identity

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// Proof is what a request brings to say who sends it. A session's secret is no
// token and a token is no session: a cookie that leaks into a header, or the
// reverse, lets nobody in.
type Proof struct {
	kind   Via
	secret secret.String
}

// SessionProof is the value of the session cookie.
func SessionProof(s secret.String) Proof { return Proof{kind: ViaSession, secret: s} }

// TokenProof is the bearer token of the Authorization header.
func TokenProof(s secret.String) Proof { return Proof{kind: ViaToken, secret: s} }

// Kind says what sort of proof it is.
func (p Proof) Kind() Via { return p.kind }

func (p Proof) digest() ([]byte, bool) {
	switch p.kind {
	case ViaSession:
		return opaqueDigest(digestSession, p.secret)
	case ViaToken:
		return tokenDigest(p.secret)
	}
	return nil, false
}

// Authenticate says who sends a request, or Unauthorized. It answers from a
// small cache: a change made by this process counts at once, one made by
// another node within CacheLife. Use is noted at most once an hour, and a
// database that cannot take the note still lets people in.
func (s *Service) Authenticate(ctx context.Context, account id.ID, proof Proof) (Principal, error) {
	d, ok := proof.digest()
	if !ok {
		return Principal{}, unknownProof()
	}
	key := cacheKey{account: account, digest: must32(d)}
	now := s.clock.Now()
	if p, ok := s.cache.get(key, now); ok {
		return p, nil
	}
	era := s.cache.now()
	var p Principal
	var ends, seen time.Time
	err := s.journal.View(ctx, account, func(tx event.Tx) (err error) {
		if proof.kind == ViaToken {
			p, ends, seen, err = s.byToken(tx, d)
		} else {
			p, ends, seen, err = s.bySession(tx, d)
		}
		return err
	})
	if err != nil {
		return Principal{}, err
	}
	s.cache.put(key, p, minTime(ends, now.Add(CacheLife)), now, era)
	if now.Sub(seen) >= touchEvery {
		s.touch(ctx, account, p, now)
	}
	return p, nil
}

func unknownProof() *fault.Error {
	return fault.New(fault.Unauthorized, "the session or token does not work").WithFix("sign in again, or make a new token")
}

func (s *Service) bySession(tx event.Tx, d []byte) (p Principal, ends, seen time.Time, err error) {
	row, who, found, err := s.store.FindSession(tx, d)
	if err != nil {
		return p, ends, seen, err
	}
	if !found || subtle.ConstantTimeCompare(row.Digest, d) != 1 || !row.alive(tx.Now()) || who.State != Active {
		return p, ends, seen, unknownProof()
	}
	return sessionPrincipal(tx.Account(), who, row.Session), minTime(row.EndsAt, row.SeenAt.Add(SessionIdle)), row.SeenAt, nil
}

func (s *Service) byToken(tx event.Tx, d []byte) (p Principal, ends, seen time.Time, err error) {
	row, who, found, err := s.store.FindToken(tx, d)
	if err != nil {
		return p, ends, seen, err
	}
	if !found || subtle.ConstantTimeCompare(row.Digest, d) != 1 || !row.usable(tx.Now()) || who.State != Active {
		return p, ends, seen, unknownProof()
	}
	return Principal{Account: tx.Account(), PersonID: who.ID, Name: who.Name, SignIn: who.SignIn,
		Role: lower(who.Role, row.Narrowed), Via: ViaToken, TokenID: row.ID}, row.ExpiresAt, row.LastUsedAt, nil
}

// touch notes that a session or token was used.
func (s *Service) touch(ctx context.Context, account id.ID, p Principal, now time.Time) {
	err := s.journal.Do(ctx, account, func(tx event.Tx) error {
		before := now.Add(-touchEvery)
		if p.Via == ViaToken {
			return s.store.TouchToken(tx, p.TokenID, now, before)
		}
		return s.store.TouchSession(tx, p.SessionID, now, before)
	})
	if err != nil {
		s.log.WarnContext(ctx, "use of a session or token was not noted", slog.Any("error", err))
	}
}

// CacheLife is how long an answer of Authenticate is reused.
const CacheLife = 5 * time.Second

// cacheSize bounds the cache; beyond it the whole cache is dropped.
const cacheSize = 4096

type cacheKey struct {
	account id.ID
	digest  [32]byte
}

type cached struct {
	principal Principal
	from, to  time.Time
}

// cache remembers principals for a moment. An era ends when something changes:
// an answer that was read in an older era is not put in, so that a revocation
// cannot be overtaken by a read that began before it.
type cache struct {
	mu   sync.Mutex
	rows map[cacheKey]cached // guarded by mu
	era  uint64              // guarded by mu
}

func newCache() *cache { return &cache{rows: map[cacheKey]cached{}} }

func (c *cache) now() uint64 { c.mu.Lock(); defer c.mu.Unlock(); return c.era }

func (c *cache) get(k cacheKey, now time.Time) (Principal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.rows[k]
	// A clock that went back does not stretch a row's life.
	if !ok || !now.Before(e.to) || now.Before(e.from) {
		return Principal{}, false
	}
	return e.principal, true
}

func (c *cache) put(k cacheKey, p Principal, to, now time.Time, era uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if era != c.era {
		return
	}
	if len(c.rows) >= cacheSize {
		clear(c.rows)
	}
	c.rows[k] = cached{principal: p, from: now, to: to}
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.era++
	clear(c.rows)
}
