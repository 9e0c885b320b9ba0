package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/witan-run/witan/internal/api/client"
	"github.com/witan-run/witan/internal/app"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// session is one run of the program: its flags and its three streams.
type session struct {
	ctx     context.Context //nolint:containedctx // one command line is one call
	globals *globals
	in      io.Reader
	out     io.Writer
	err     io.Writer
	model   *kong.Kong
}

// globals are the flags of every command.
type globals struct {
	Data     string `help:"Data folder." placeholder:"DIR" env:"WITAN_DATA"`
	Database string `help:"PostgreSQL connection string; without it Witan uses SQLite in the data folder." placeholder:"URL" env:"WITAN_DATABASE"`
	Config   string `help:"Configuration file (default: witan.yaml in the data folder)." placeholder:"FILE" env:"WITAN_CONFIG" type:"path"`
	URL      string `help:"Talk to the Witan at this address instead of the one on the data folder." placeholder:"URL" env:"WITAN_URL"`
	Token    string `help:"Personal API token for --url." placeholder:"TOKEN" env:"WITAN_TOKEN"`
	JSON     bool   `help:"Print JSON, for programs."`
}

// config reads the configuration and applies the flags.
func (s *session) config() (app.Config, error) {
	c, err := app.LoadConfig(s.globals.Config)
	if err != nil {
		return c, err
	}
	if s.globals.Data != "" {
		if c.Data, err = filepath.Abs(s.globals.Data); err != nil {
			return c, err
		}
		if s.globals.Config == "" { // the folder may bring its own file
			path := filepath.Join(c.Data, "witan.yaml")
			if _, err := os.Stat(path); err == nil {
				data := c.Data
				if c, err = app.LoadConfig(path); err != nil {
					return c, err
				}
				c.Data = data
			}
		}
	}
	if s.globals.Database != "" {
		c.Database = app.PlainSecret(s.globals.Database)
	}
	return c, nil
}

// client returns a client of the running Witan.
func (s *session) client() (*client.Client, error) {
	if s.globals.URL != "" {
		return client.New(s.globals.URL, secret.New(s.globals.Token))
	}
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	return client.Socket(app.Paths{Data: c.Data}.Socket())
}

// call asks the API and prints the answer: as JSON if asked, else by show.
func call[T any](s *session, method, path string, in any, show func(T) error) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Do(s.ctx, method, path, in, &raw); err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printJSON(raw)
	}
	var v T
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &v); err != nil {
			return fault.New(fault.Unavailable, "the answer cannot be read: %w", err)
		}
	}
	return show(v)
}

func (s *session) printJSON(raw json.RawMessage) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	_, err := fmt.Fprintf(s.out, "%s\n", strings.TrimSpace(string(raw)))
	return err
}

// table prints rows under headings; without rows it says so.
func (s *session) table(empty string, heads []string, rows [][]string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(s.out, empty)
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 2, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(heads, "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

func (s *session) say(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format+"\n", args...)
	return err
}

// report prints an error for people and returns the exit code of its kind.
func (s *session) report(err error) int {
	if err == nil {
		return 0
	}
	var f *fault.Error
	kind := fault.KindOf(err)
	msg, field, fix := fault.Public(err)
	if errors.As(err, &f) && kind == fault.Internal {
		msg = f.Error()
	} else if !errors.As(err, &f) && kind == fault.Internal {
		msg = err.Error()
	}
	if s.globals.JSON {
		_ = json.NewEncoder(s.err).Encode(map[string]string{"kind": kind.String(), "detail": msg, "field": field, "fix": fix})
		return fault.EdgeOf(kind).Exit
	}
	if field != "" {
		msg = field + ": " + msg
	}
	fmt.Fprintln(s.err, "witan:", msg)
	if fix != "" {
		fmt.Fprintln(s.err, "  fix:", fix)
	}
	return fault.EdgeOf(kind).Exit
}
