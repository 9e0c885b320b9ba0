// Command witan is Witan: one program in which people and AI agents work
// together. `witan serve` runs it, everything else talks to a running one.
//
// It imports app, the API client and kit only; see docs/cli.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/witan-run/witan/internal/kit/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run parses and runs one command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	var c commands
	exit := -1
	k, err := kong.New(&c, options(out, errOut, &exit)...)
	if err != nil {
		fmt.Fprintln(errOut, "witan:", err)
		return 1
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := k.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		var pe *kong.ParseError
		if errors.As(err, &pe) {
			fmt.Fprintf(errOut, "witan: %v\nRun witan --help for what there is.\n", err)
		}
		return fault.EdgeOf(fault.Invalid).Exit
	}
	s := &session{ctx: ctx, globals: &c.globals, in: in, out: out, err: errOut, model: k}
	return s.report(parsed.Run(s))
}
