// Command tortured is Witan as `witan serve` runs it, with the four skills of
// the harness built in: what make torture kills. It is built by the tests, into
// a temporary folder, and never shipped.
//
//	tortured CONFIG WORLD
//
// CONFIG is a witan.yaml, WORLD the URL of the fake world. With HARNESS_PROFILE
// in its environment it writes a CPU profile there when it is stopped. It imports
// app and the harness's skills; its goroutines are those of app.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/witan-run/witan/internal/app"
	"github.com/witan-run/witan/internal/harness/acts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tortured:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want CONFIG WORLD, got %d arguments", len(args))
	}
	cfg, err := app.LoadConfig(args[0])
	if err != nil {
		return err
	}
	skills, err := acts.Registrations(args[1])
	if err != nil {
		return err
	}
	a, err := app.New(ctx, cfg, app.Deps{Skills: skills, LogTo: os.Stderr})
	if err != nil {
		return err
	}
	if err := a.Announce(ctx, os.Stdout); err != nil {
		a.Close()
		return err
	}
	if path := os.Getenv("HARNESS_PROFILE"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			a.Close()
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			a.Close()
			return err
		}
		defer func() { pprof.StopCPUProfile(); _ = f.Close() }()
	}
	return a.Run(ctx)
}
