package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/witan-run/witan/internal/app"
	"github.com/witan-run/witan/internal/kit/fault"
)

// auditCmd is about the journal as a proof.
type auditCmd struct {
	Verify     auditVerifyCmd     `cmd:"" help:"Check the chain offline; exit 1 names the first bad event."`
	Checkpoint auditCheckpointCmd `cmd:"" help:"Sign the end of the chain; keep the line outside this machine."`
	Export     auditExportCmd     `cmd:"" help:"Write events to a file, sealed and provable, or opened to read."`
}

type auditVerifyCmd struct {
	Checkpoint string `help:"File of signed checkpoints to hold the chain against." placeholder:"FILE" type:"path"`
	Archive    string `help:"Folder of cut segments; checked and joined to the chain." placeholder:"DIR" type:"path"`
}

func (c *auditVerifyCmd) Help() string {
	return `Reads stored bytes only: needs no key and no running Witan, and works beside one.

  witan audit verify --data DIR
  witan audit verify --checkpoint tips.jsonl`
}

// Run implements the command.
func (c *auditVerifyCmd) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	err = app.AuditVerify(s.ctx, cfg, app.VerifyOptions{Checkpoint: c.Checkpoint, Archive: c.Archive}, s.out)
	if fault.Is(err, fault.Corrupt) {
		msg, _, _ := fault.Public(err)
		fmt.Fprintln(s.err, "witan:", msg)
		return errBroken
	}
	return err
}

// errBroken makes a broken chain exit with 1, as the specification says.
var errBroken = broken{}

type broken struct{}

func (broken) Error() string { return "the chain is broken" }

type auditCheckpointCmd struct {
	To string `help:"Append the line to this file instead of printing it." placeholder:"FILE" type:"path"`
}

// Run implements the command.
func (c *auditCheckpointCmd) Run(s *session) error {
	cl, err := s.client()
	if err != nil {
		return err
	}
	body, err := cl.Stream(s.ctx, "POST", "/api/v1/audit/checkpoint", nil, "application/json")
	if err != nil {
		return err
	}
	defer body.Close()
	if c.To == "" {
		_, err = io.Copy(s.out, body)
		return err
	}
	f, err := os.OpenFile(c.To, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.New(fault.Unavailable, "open the file: %w", err).On("to")
	}
	if _, err = io.Copy(f, body); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

type auditExportCmd struct {
	To    string `arg:"" help:"File to write (gzipped JSON lines)." type:"path"`
	From  int64  `help:"First event." default:"1"`
	Until int64  `help:"Last event; 0 means the newest." default:"0"`
	Open  bool   `help:"Open the bodies, to read them. Opened text proves nothing."`
}

// Run implements the command.
func (c *auditExportCmd) Run(s *session) error {
	cl, err := s.client()
	if err != nil {
		return err
	}
	body, err := cl.Stream(s.ctx, "GET", fmt.Sprintf("/api/v1/audit/export?from=%d&until=%d&open=%t", c.From, c.Until, c.Open), nil, "application/gzip")
	if err != nil {
		return err
	}
	defer body.Close()
	f, err := os.OpenFile(c.To, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.New(fault.Conflict, "make the file: %w", err).On("to")
	}
	n, err := io.Copy(f, body)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return s.say("%d bytes written to %s", n, c.To)
}

// replayCmd runs a run again.
type replayCmd struct {
	RunID string `arg:"" name:"run" help:"Id of the run."`
}

func (c *replayCmd) Help() string {
	return `Runs the recorded run again with its recorded inputs: no network, no model. Every
byte is compared; the exit code is not 0 if one differs, and the step is named.`
}

type replayView struct {
	Verdict string `json:"verdict"`
	Checked int    `json:"checked"`
	Records int    `json:"records"`
	Steps   int    `json:"steps"`
	First   *struct {
		Step     int    `json:"step"`
		Sentence string `json:"sentence"`
	} `json:"divergent"`
}

// Run implements the command.
func (c *replayCmd) Run(s *session) error {
	cl, err := s.client()
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := cl.Do(s.ctx, "POST", "/api/v1/runs/"+url.PathEscape(c.RunID)+"/replay", nil, &raw); err != nil {
		return err
	}
	var v replayView
	if err := json.Unmarshal(raw, &v); err != nil {
		return fault.New(fault.Unavailable, "the answer cannot be read: %w", err)
	}
	if s.globals.JSON {
		if err := s.printJSON(raw); err != nil {
			return err
		}
	}
	if v.First != nil { // the exit code says it too
		return fault.New(fault.Corrupt, "divergent at step %d: %s", v.First.Step, v.First.Sentence)
	}
	if s.globals.JSON {
		return nil
	}
	return s.say("%s, %d of %d records of %d steps, network off", v.Verdict, v.Checked, v.Records, v.Steps)
}

// settleCmd settles an effect of which nobody can tell whether it happened.
type settleCmd struct {
	Effect string `arg:"" help:"Id of the effect, from witan inbox."`
	Word   string `arg:"" help:"What you know: happened, did_not, read_back or run." enum:"happened,did_not,read_back,run"`
	Note   string `help:"How you know; it stands in the journal." placeholder:"TEXT"`
}

// Run implements the command.
func (c *settleCmd) Run(s *session) error {
	return call(s, "POST", "/api/v1/effects/"+url.PathEscape(c.Effect)+"/settle", map[string]string{"word": c.Word, "note": c.Note}, func(v struct{ State string }) error {
		return s.say("The effect is %s.", v.State)
	})
}

// tokenCmd is about personal API tokens.
type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make a token; it is shown once."`
	List   tokenListCmd   `cmd:"" help:"List your tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"End a token at once."`
}

type tokenCreateCmd struct {
	Name   string        `arg:"" help:"What the token is for."`
	Viewer bool          `help:"Let it only look."`
	Life   time.Duration `help:"How long it works; 0 means until it is revoked." placeholder:"720h"`
}

// Run implements the command.
func (c *tokenCreateCmd) Run(s *session) error {
	in := map[string]any{"name": c.Name}
	if c.Viewer {
		in["role"] = "viewer"
	}
	if c.Life > 0 {
		in["lifeSeconds"] = int64(c.Life / time.Second)
	}
	return call(s, "POST", "/api/v1/tokens", in, func(v struct {
		Secret string `json:"secret"`
		Prefix string `json:"prefix"`
	}) error {
		return s.say("%s\n\nThis is the only time it is shown. Use it as:\n  export WITAN_TOKEN=…", v.Secret)
	})
}

type tokenListCmd struct{}

// Run implements the command.
func (c *tokenListCmd) Run(s *session) error {
	return call(s, "GET", "/api/v1/tokens", nil, func(v struct {
		Items []struct {
			ID, Name, Prefix, Role, LastUsedAt string
		} `json:"items"`
	}) error {
		var rows [][]string
		for _, t := range v.Items {
			rows = append(rows, []string{t.ID, t.Prefix + "…", t.Name, t.Role, t.LastUsedAt})
		}
		return s.table("No tokens.", []string{"ID", "TOKEN", "NAME", "ROLE", "LAST USED"}, rows)
	})
}

type tokenRevokeCmd struct {
	ID string `arg:"" help:"Id of the token."`
}

// Run implements the command.
func (c *tokenRevokeCmd) Run(s *session) error {
	return call(s, "DELETE", "/api/v1/tokens/"+url.PathEscape(c.ID), nil, func(map[string]any) error { return s.say("Revoked.") })
}

// agentsCmd lists agents.
type agentsCmd struct{}

// Run implements the command.
func (c *agentsCmd) Run(s *session) error {
	return call(s, "GET", "/api/v1/agents", nil, func(v struct {
		Items []struct {
			Name, Description string
			Version           int
			Skills            []string
		} `json:"items"`
	}) error {
		var rows [][]string
		for _, a := range v.Items {
			rows = append(rows, []string{a.Name, fmt.Sprint(a.Version), fmt.Sprint(len(a.Skills)), a.Description})
		}
		return s.table("No agents.", []string{"NAME", "VERSION", "SKILLS", "WHAT FOR"}, rows)
	})
}

// backupCmd writes a backup.
type backupCmd struct {
	To string `arg:"" help:"Folder to make; on the machine that Witan runs on." type:"path"`
}

func (c *backupCmd) Help() string {
	return `Work goes on meanwhile. The folder holds the database, the keys and the files:
guard it like the data folder. Without the keys nobody can read the journal.`
}

// Run implements the command.
func (c *backupCmd) Run(s *session) error {
	return call(s, "POST", "/api/v1/backup", map[string]string{"to": c.To}, func(v struct {
		Files int `json:"files"`
	}) error {
		return s.say("Backup complete: %s", c.To)
	})
}

// restoreCmd restores a backup.
type restoreCmd struct {
	From     string `arg:"" optional:"" help:"Folder of the backup." type:"path"`
	Promoted bool   `help:"The database is a promoted replica: copy nothing, only start a new epoch."`
}

func (c *restoreCmd) Help() string {
	return `Whatever was on its way when the backup was made is held for a person, sessions
end, and readers of the stream start anew: nothing of the past is done again unasked.`
}

// Run implements the command.
func (c *restoreCmd) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	r, err := app.Restore(s.ctx, cfg, app.Deps{LogTo: s.err}, app.RestoreOptions{From: c.From, Promoted: c.Promoted})
	if err != nil {
		return err
	}
	return s.say("Restored. Epoch %d begins after event %d; %d pieces of work wait for a person in the Inbox, %d sessions ended.\n"+
		"Start Witan, look at the Inbox, then let timers and runs of the past go on with: witan release",
		r.Epoch, r.FromSeq, r.Held, r.Sessions)
}

// configCmd is about the configuration.
type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Check the configuration and say what is wrong."`
	Print configPrintCmd `cmd:"" help:"Print the configuration, secrets masked."`
}

type configCheckCmd struct{}

// Run implements the command.
func (c *configCheckCmd) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if err := cfg.Check(); err != nil {
		return err
	}
	return s.say("The configuration is good.")
}

type configPrintCmd struct {
	Effective bool `help:"With defaults and flags applied." default:"true" negatable:""`
}

// Run implements the command.
func (c *configPrintCmd) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if c.Effective {
		if err := cfg.Check(); err != nil {
			return err
		}
	}
	text, err := cfg.Print()
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, text)
	return err
}
