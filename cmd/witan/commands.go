package main

import (
	"io"

	"github.com/alecthomas/kong"
)

// commands is the whole command line.
type commands struct {
	globals

	Serve   serveCmd     `cmd:"" help:"Run Witan."`
	Demo    demoCmd      `cmd:"" help:"Try Witan in a fresh temporary folder: no key, no account, nothing leaves this machine."`
	Chat    chatCmd      `cmd:"" help:"Talk to an agent."`
	Inbox   inboxCmd     `cmd:"" help:"Show what needs a person."`
	Approve approveCmd   `cmd:"" help:"Allow a call that was asked about."`
	Deny    denyCmd      `cmd:"" help:"Deny a call that was asked about."`
	Settle  settleCmd    `cmd:"" help:"Settle an effect of which nobody can tell whether it happened."`
	Space   workspaceCmd `cmd:"" name:"workspace" help:"Workspaces, which hold tasks."`
	Task    taskCmd      `cmd:"" help:"Tasks that people and agents share."`
	Halt    haltCmd      `cmd:"" help:"Stop everything, one workspace or one agent. Anyone may."`
	Resume  resumeCmd    `cmd:"" help:"Lift a stop."`
	Release releaseCmd   `cmd:"" help:"After a restore, let the runs, deliveries and timers of the past go on."`
	Audit   auditCmd     `cmd:"" help:"Verify, sign and export the journal."`
	Replay  replayCmd    `cmd:"" help:"Run a recorded run again, offline, and compare every byte."`
	Token   tokenCmd     `cmd:"" help:"Personal API tokens."`
	People  peopleCmd    `cmd:"" help:"The people of the account, and recovery of access."`
	Agents  agentsCmd    `cmd:"" help:"Resident agents."`
	Backup  backupCmd    `cmd:"" help:"Write an online backup, keys included."`
	Restore restoreCmd   `cmd:"" help:"Restore a backup into an empty data folder or database; starts a new epoch."`
	Migrate migrateCmd   `cmd:"" help:"Bring the database schema up to date without serving."`
	Conf    configCmd    `cmd:"" name:"config" help:"Check and print the configuration."`
	Version versionCmd   `cmd:"" help:"Print version and build."`
	Shell   shellCmd     `cmd:"" name:"completion" help:"Print a completion script for bash, zsh or fish."`
}

const about = `People and AI agents work here together, and the log proves it.

Start with:  witan demo     (a scripted minute)
             witan serve    (for real; prints a link to open)

Every other command talks to a running Witan: the one on the data folder, or
the one that WITAN_URL and WITAN_TOKEN name.`

// options are the settings of the parser.
func options(out, errOut io.Writer, exit *int) []kong.Option {
	return []kong.Option{
		kong.Name("witan"), kong.Description(about), kong.Writers(out, errOut), kong.Exit(func(c int) { *exit = c }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Vars{"version": "witan"},
	}
}
