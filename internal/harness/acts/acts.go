package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Classes are the last words of the skills' names: harness.read and so on.
func Classes() []manifest.Class {
	return []manifest.Class{manifest.ClassRead, manifest.ClassIdempotent, manifest.ClassReconcilable, manifest.ClassOnce}
}

// Name returns the skill of a class.
func Name(c manifest.Class) string { return "harness." + string(c) }

// Registrations returns the four skills, acting on the world at a URL.
func Registrations(world string) ([]skill.Registration, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: dial}}
	var out []skill.Registration
	for _, c := range Classes() {
		m, err := manifest.Parse([]byte(text(c)))
		if err != nil {
			return nil, fmt.Errorf("manifest of %s: %w", Name(c), err)
		}
		one := act{world: world, class: c, client: client}
		var exec skill.Executable = one
		if c == manifest.ClassReconcilable {
			exec = readable{one}
		}
		out = append(out, skill.Registration{Manifest: m, Exec: exec})
	}
	return out, nil
}

// text is the manifest of a class.
func text(c manifest.Class) string {
	access, readBack := "write", ""
	switch c {
	case manifest.ClassRead:
		access = "read"
	case manifest.ClassReconcilable:
		readBack = "read_back: exact\n"
	case manifest.ClassIdempotent, manifest.ClassOnce:
	}
	return `name: ` + Name(c) + `
version: 1.0.0
kind: builtin
description: Does one effect of class ` + string(c) + ` in the fake world.
title: Do "{name}"
input:
  type: object
  additionalProperties: false
  required: [name]
  properties: {name: {type: string, minLength: 1, maxLength: 4000}}
output:
  type: object
  additionalProperties: false
  required: [serial]
  properties: {serial: {type: integer}}
action_risk: low
access: ` + access + `
target: [/name]
permissions: [net]
effect_class: ` + string(c) + `
` + readBack + `timeout_ms: 10000
output_label: house
undoable: true
`
}

// act does one effect.
type act struct {
	world  string
	class  manifest.Class
	client *http.Client
}

// errDial marks a connection that was never made.
type errDial struct{ error }

func (e errDial) Unwrap() error { return e.error }

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, errDial{err}
	}
	return c, nil
}

// Act implements skill.Executable.
func (a act) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := errors.Join(c.Permit(manifest.PermitNet), c.Bind(&in)); err != nil {
		return skill.Output{}, err
	}
	out, _, err := a.ask(ctx, http.MethodPost, "/act/"+string(a.class), c.Key, in.Name)
	return out, err
}

// ask sends one request. found is false for a key that never arrived.
func (a act) ask(ctx context.Context, method, path, key, body string) (out skill.Output, found bool, err error) {
	req, err := http.NewRequestWithContext(ctx, method, a.world+path, strings.NewReader(body))
	if err != nil {
		return out, false, fault.Wrap(fault.Invalid, err, "ask the world")
	}
	// Without a body to read again, the transport never repeats a request that
	// it may have sent: what is repeated is decided by the ledger only.
	req.GetBody = nil
	req.Header.Set("Idempotency-Key", key)
	res, err := a.client.Do(req)
	if err != nil {
		var never errDial
		if errors.As(err, &never) {
			return out, false, skill.NotSent(err)
		}
		return out, false, fault.Wrap(fault.Unavailable, err, "ask the world")
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return out, false, fault.Wrap(fault.Unavailable, err, "read the world's answer")
	}
	switch {
	case res.StatusCode == http.StatusNotFound:
		return out, false, nil
	case res.StatusCode == http.StatusTooManyRequests:
		return out, false, fault.New(fault.Limited, "the world says: too many")
	case res.StatusCode != http.StatusOK:
		return out, false, fault.New(fault.Unavailable, "the world says %s", res.Status)
	}
	var e struct {
		Serial int `json:"serial"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return out, false, fault.Wrap(fault.Unavailable, err, "read the world's answer")
	}
	return skill.Output{Value: e}, true, nil
}

// readable can ask what became of a key.
type readable struct{ act }

// ReadBack implements skill.Reconciler.
func (a readable) ReadBack(ctx context.Context, c skill.Call) (skill.Output, bool, error) {
	return a.ask(ctx, http.MethodGet, "/effects/"+url.PathEscape(c.Key), c.Key, "")
}
