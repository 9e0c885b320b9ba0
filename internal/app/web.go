package app

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/witan-run/witan/internal/api"
)

// markLocal marks what comes over the socket of the data folder.
func markLocal(ctx context.Context) context.Context { return api.WithLocal(ctx) }

// web connects the API and the console to the parts.
func (a *App) web() (http.Handler, error) {
	p := a.parts
	programs := map[string]api.HTTPChannel{}
	for name, ch := range p.http {
		programs[name] = program{ch, p.intake}
	}
	var err error
	if a.face, err = a.newConsole(); err != nil {
		return nil, err
	}
	a.api, err = api.New(api.Deps{
		Account: p.account, PublicURL: a.config.PublicURL, Hosts: a.hosts(), Version: Version(),
		Journal: p.db, Clock: a.deps.Clock, IDs: a.deps.IDs, Keyring: p.keyring, Log: a.deps.Log,
		Identity: p.identity, Policy: p.policy, Skills: p.skills, Agents: p.agents, Replay: p.replay, Dispatch: p.dispatch,
		Intake: p.intake, Hub: p.hub, Speakers: speakers(), HTTP: programs, LLM: p.rows.llm,
		Work: p.work, Random: rand.Reader,
		Record: record{}, Audit: p.audit(), Tails: p.tails, Unpark: p.unpark,
		Backup: a.backup, Ready: a.isReady, Files: files{p.blobs}, Commits: p.db.Commits, Fallback: a.face,
		Accept: a.parts.acceptSkills, Tracer: a.traces.tracer(),
	})
	if err != nil {
		return nil, err
	}
	return a.api.Handler(), nil
}

// hosts are further names under which this server may be asked: the address it
// is bound to.
func (a *App) hosts() []string { return []string{a.tcp.Addr().String()} }

func (a *App) backup(ctx context.Context, dir string) (api.BackupMade, error) {
	m, err := a.parts.db.Backup(ctx, dir, Paths{a.config.Data}.extra())
	return api.BackupMade{Dir: dir, Engine: m.Engine, At: m.At, Files: m.Files}, err
}
