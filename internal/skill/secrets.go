package skill

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// openSecrets hands the declared secrets of one attempt to its executable and
// remembers what it handed out, so that it can be masked.
type openSecrets struct {
	vault    Vault
	declared []string

	mu     sync.Mutex
	values []string // guarded by mu
}

func (s *openSecrets) open(ctx context.Context, account id.ID, name string) (secret.String, error) {
	if !slices.Contains(s.declared, name) {
		return secret.String{}, fault.New(fault.Denied, "the manifest does not declare secret %q", name).On("secrets")
	}
	if s.vault == nil {
		return secret.String{}, fault.New(fault.Unavailable, "there is no vault to read secret %q from", name)
	}
	v, err := s.vault.Secret(ctx, account, name)
	if err != nil {
		return secret.String{}, err
	}
	s.mu.Lock()
	s.values = append(s.values, v.Reveal())
	s.mu.Unlock()
	return v, nil
}

// minSecret is the shortest value that is masked: shorter ones would blank
// ordinary text.
const minSecret = 6

// masker returns a function that masks everything handed out so far, as it is
// and in the encodings in which a target may echo it, and text that has the
// shape of a well-known credential.
func (s *openSecrets) masker() func(string) string {
	var pairs []string
	if s != nil {
		s.mu.Lock()
		for _, v := range s.values {
			if len(v) < minSecret {
				continue
			}
			for _, form := range []string{
				v, url.QueryEscape(v), url.PathEscape(v),
				base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)),
				hex.EncodeToString([]byte(v)), quoted(v, false), quoted(v, true), strings.TrimSpace(v),
			} {
				if len(form) >= minSecret {
					pairs = append(pairs, form, mask)
				}
			}
		}
		s.mu.Unlock()
	}
	r := strings.NewReplacer(pairs...)
	return func(t string) string { return credential.ReplaceAllString(r.Replace(t), mask) }
}

const mask = "[secret]"

// quoted is v as it stands inside a JSON string, with or without HTML escapes.
func quoted(v string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(v) != nil {
		return v
	}
	return strings.TrimSuffix(b.String(), "\n")[1 : b.Len()-2]
}

// credential matches the credentials that carry their kind in their shape. A
// plain hexadecimal digest is none: masking git hashes would make them useless.
var credential = regexp.MustCompile(strings.Join([]string{
	`\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}`,
	`\bAKIA[0-9A-Z]{16}\b`,
	`\bgh[pousr]_[A-Za-z0-9]{30,}`,
	`\bgithub_pat_[A-Za-z0-9_]{30,}`,
	`\bxox[abposr]-[A-Za-z0-9-]{10,}`,
	`\bglpat-[A-Za-z0-9_-]{20,}`,
	`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`,
	`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|$)`,
}, "|"))
